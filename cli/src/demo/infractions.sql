-- What was found on the addresses.
insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
select $1, u.id, r.infraction_type_id, r.infraction_name_id, r.created_date
from jsonb_array_elements($2::text::jsonb) with ordinality e (fields, position)
join compliance_urls u on u.company_id = $1 and u.url = e.fields ->> 'url'
cross join lateral jsonb_array_elements(e.fields -> 'infractions') with ordinality i (fields, position)
cross join lateral jsonb_populate_record(null::infractions, i.fields) r
order by e.position, i.position

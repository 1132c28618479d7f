-- What the cases are made of.
insert into incidents (
    company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id
)
select $1, c.id, r.incident_type, u.id, r.reference, r.infraction_type_id, r.infraction_name_id
from jsonb_array_elements($2::text::jsonb) with ordinality e (fields, position)
join compliance_cases c on c.company_id = $1 and c.request_id = e.fields ->> 'request_id'
cross join lateral jsonb_array_elements(e.fields -> 'incidents') with ordinality i (fields, position)
cross join lateral jsonb_populate_record(null::incidents, i.fields) r
left join compliance_urls u on u.company_id = $1 and u.url = i.fields ->> 'url'
order by e.position, i.position

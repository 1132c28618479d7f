-- Inserts infractions in the order of their keys. If two items have the same infraction, both are reported as recorded.
with input as materialized (
    select i.*, u.id as found_url_id, date_trunc('second', now()) as now
    from unnest($2::infraction_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $3, true)
    left join lateral (
        (select u.id from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), recorded as (
    insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
    select $1, i.found_url_id, i.infraction_type_id, i.infraction_name_id, coalesce(i.created_date, i.now)
    from input i
    where i.found_url_id is not null
    order by i.found_url_id, i.ordinality
    on conflict on constraint infractions_name_key do nothing
    returning url_id, infraction_type_id, infraction_name_id
)
select i.found_url_id as "url_id?",
    (
        (i.found_url_id, i.infraction_type_id, coalesce(i.infraction_name_id, 0)) in (
            select r.url_id, r.infraction_type_id, coalesce(r.infraction_name_id, 0) from recorded r
        )
    ) is true as "changed!"
from input i
order by i.ordinality

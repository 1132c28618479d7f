-- Locks the case $2, then the URLs in the order of their hashes, and removes the incidents that are found. The case is
-- changed only if an incident was removed.
--
-- Returns a row for the case, if it exists, and then a row for each item: its incident, if it was found, and whether that
-- was removed.
with held as materialized (
    select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
), found as materialized (
    select i.ordinality, n.id, n.url_id, h.url_hash
    from held
    cross join unnest($3::incident_key_input[]) with ordinality i
    left join lateral (
        (select u.id from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
    left join lateral (
        (select n.id, n.url_id from incidents n
            where n.company_id = $1 and n.case_id = $2 and n.id = i.incident_id
            limit 1)
        union all
        (select n.id, n.url_id from incidents n
            where i.incident_id is null and i.incident_type = 1 and n.company_id = $1 and n.case_id = $2
                and n.incident_type = 1 and n.url_id = u.id
            limit 1)
        union all
        (select n.id, n.url_id from incidents n
            where i.incident_id is null and i.incident_type <> 1 and n.company_id = $1 and n.case_id = $2
                and n.incident_type = i.incident_type and n.url_id is null and n.reference = i.reference
            limit 1)
    ) n on true
    left join lateral (
        select u.url_hash from compliance_urls u where u.company_id = $1 and u.id = n.url_id limit 1
    ) h on true
), locked as materialized (
    select u.id
    from (select distinct f.url_hash, f.url_id from found f where f.url_id is not null order by f.url_hash) f
    cross join lateral (
        select u.id from compliance_urls u where u.company_id = $1 and u.id = f.url_id for no key update
    ) u
), detached as (
    delete from incidents n
    using (select distinct f.id from found f where (select count(*) from locked) >= 0) f
    where n.company_id = $1 and n.case_id = $2 and n.id = f.id
    returning n.id
), touched as (
    update compliance_cases c set
        first_action_date = coalesce(c.first_action_date, d.now),
        last_updated_date = d.now
    from (select distinct date_trunc('second', now()) as now from detached) d
    where c.company_id = $1 and c.id = $2
)
select r.incident_id, r.detached as "detached!"
from (
    select 0::bigint as position, null::bigint as incident_id, false as detached from held
    union all
    select f.ordinality, f.id, (f.id in (select d.id from detached d)) is true from found f
) r
order by r.position

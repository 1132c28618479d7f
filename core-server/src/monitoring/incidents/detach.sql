-- Locks the case $2, and then the URLs in hash order. Removes the incidents that it finds. The case changes only if an incident was
-- removed.
--
-- Returns a row for the case, if it exists. Then a row for each item: its incident, if it was found, and whether it was removed.
--
-- The statement reads the incidents of the case once, and matches them with the items by sorting, as attach.sql does.
with held as materialized (
    select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
), present as materialized (
    select n.id, n.incident_type, n.url_id, n.reference
    from incidents n
    where n.company_id = $1 and n.case_id = $2 and (select count(*) from held) > 0
), input as materialized (
    select i.ordinality, i.incident_id, i.incident_type, u.id as url_id, i.reference
    from held
    cross join unnest($3::incident_key_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $4, true)
    left join lateral (
        (select u.id from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), item as materialized (
    select x.ordinality, x.found_id
    from (
        select x.ordinality, coalesce(
            max(x.present_id) over (partition by x.incident_id),
            max(x.present_id) over (partition by x.incident_type, x.url_id, x.reference)
        ) as found_id
        from (
            select i.*, null::bigint as present_id from input i
            union all
            select null, n.id, n.incident_type, n.url_id, n.reference, n.id from present n
        ) x
    ) x
    where x.ordinality is not null
), found as materialized (
    select n.id, h.url_id, h.url_hash
    from present n
    left join lateral (
        select u.id as url_id, u.url_hash from compliance_urls u where u.company_id = $1 and u.id = n.url_id limit 1
    ) h on true
    where (n.id in (select i.found_id from item i)) is true
), locked as materialized (
    select u.id
    from (select distinct f.url_hash, f.url_id from found f where f.url_id is not null order by f.url_hash) f
    cross join lateral (
        select u.id from compliance_urls u where u.company_id = $1 and u.id = f.url_id for no key update
    ) u
), detached as (
    delete from incidents n
    where n.company_id = $1 and n.case_id = $2 and (n.id in (select f.id from found f)) is true
        and (select count(*) from locked) >= 0
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
    select i.ordinality, i.found_id, (i.found_id in (select d.id from detached d)) is true from item i
) r
order by r.position

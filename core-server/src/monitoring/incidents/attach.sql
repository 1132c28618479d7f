-- Locks the case $2, and then the URLs in hash order. Attaches new incidents until the case has $4. An incident that is already attached
-- gets the given infraction. The case changes only if an incident does.
--
-- Returns a row for the case, if it exists. Then a row for each item: its incident, whether the incident changed, whether the URL was
-- found, and whether the case can have this incident. The incident is missing if another writer has just attached it. The next run finds
-- it.
--
-- The statement reads the incidents of the case once, and matches them with the items by sorting. The planner expects few of both, so a
-- join could loop over all pairs, or scan the case for each item.
with held as materialized (
    select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
), present as materialized (
    select n.id, n.incident_type, n.url_id, n.reference
    from incidents n
    where n.company_id = $1 and n.case_id = $2 and (select count(*) from held) > 0
), input as materialized (
    select i.ordinality, i.incident_type, u.id as url_id, u.url_hash, i.reference, i.infraction_type_id,
        i.infraction_name_id
    from held
    cross join unnest($3::incident_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $5, true)
    left join lateral (
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), matched as materialized (
    -- If two items have the same content, the last one determines the infraction, and the first one the order.
    select x.*, x.incident_type <> 1 or x.url_id is not null as url_found, max(x.incident_id) over content as present_id,
        min(x.ordinality) over content as first, max(x.ordinality) over content as last
    from (
        select i.*, null::bigint as incident_id from input i
        union all
        select null, n.incident_type, n.url_id, null, n.reference, null, null, n.id from present n
    ) x
    window content as (partition by x.incident_type, x.url_id, x.reference)
), item as materialized (
    select m.*, m.present_id is not null
        or dense_rank() over (partition by m.present_id is null and m.url_found order by m.first)
            + (select count(*) from present) <= $4::bigint as fits
    from matched m
    where m.ordinality is not null
), content as materialized (
    select i.* from item i where i.ordinality = i.last and i.url_found and i.fits
), locked as materialized (
    select u.id
    from (select c.url_id from content c where c.url_id is not null order by c.url_hash) c
    cross join lateral (
        select u.id from compliance_urls u where u.company_id = $1 and u.id = c.url_id for no key update
    ) u
), attached as (
    insert into incidents as i
        (company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id)
    select $1, $2, c.incident_type, c.url_id, c.reference, c.infraction_type_id, c.infraction_name_id
    from content c
    where (select count(*) from locked) >= 0
    order by c.first
    on conflict on constraint incidents_content_key do update set
        infraction_type_id = excluded.infraction_type_id, infraction_name_id = excluded.infraction_name_id
        where excluded.infraction_type_id is not null
            and (i.infraction_type_id, i.infraction_name_id)
                is distinct from (excluded.infraction_type_id, excluded.infraction_name_id)
    returning id, incident_type, url_id, reference
), touched as (
    update compliance_cases c set
        first_action_date = coalesce(c.first_action_date, a.now),
        last_updated_date = a.now
    from (select distinct date_trunc('second', now()) as now from attached) a
    where c.company_id = $1 and c.id = $2
)
select r.incident_id, r.changed as "changed!", r.url_found as "url_found!", r.fits as "fits!"
from (
    select 0::bigint as position, null::bigint as incident_id, false as changed, false as url_found, false as fits
    from held
    union all
    select x.ordinality, coalesce(x.attached_id, x.present_id), x.attached_id is not null, x.url_found, x.fits
    from (
        select x.*, max(x.id) over (partition by x.incident_type, x.url_id, x.reference) as attached_id
        from (
            select i.ordinality, i.incident_type, i.url_id, i.reference, i.url_found, i.fits, i.present_id,
                null::bigint as id
            from item i
            union all
            select null, a.incident_type, a.url_id, a.reference, null, null, null, a.id from attached a
        ) x
    ) x
    where x.ordinality is not null
) r
order by r.position

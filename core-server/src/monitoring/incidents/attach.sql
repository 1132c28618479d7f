-- Locks the case $2, then the URLs in the order of their hashes, and attaches the incidents that are not attached yet.
-- One that is attached takes the infraction that is given. The case is changed only if an incident was.
--
-- Returns a row for the case, if it exists, and then a row for each item: its incident, whether that changed, and whether
-- the URL was found. The incident is missing if another writer has just attached it: the next run finds it.
with held as materialized (
    select c.id from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
), input as materialized (
    select i.ordinality, i.incident_type, u.id as url_id, u.url_hash, i.reference, i.infraction_type_id,
        i.infraction_name_id
    from held
    cross join unnest($3::incident_input[]) with ordinality i
    left join lateral (
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), content as materialized (
    -- Of two items of the same content the last one gives the infraction, the first one the order.
    select distinct on (i.incident_type, i.url_id, i.reference) i.*,
        min(i.ordinality) over (partition by i.incident_type, i.url_id, i.reference) as first
    from input i
    where i.incident_type <> 1 or i.url_id is not null
    order by i.incident_type, i.url_id, i.reference, i.ordinality desc
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
select r.incident_id, r.changed as "changed!", r.url_found as "url_found!"
from (
    select 0::bigint as position, null::bigint as incident_id, false as changed, false as url_found from held
    union all
    select i.ordinality, coalesce(a.id, e.id), a.id is not null, i.incident_type <> 1 or i.url_id is not null
    from input i
    left join attached a on a.incident_type = i.incident_type and coalesce(a.url_id, 0) = coalesce(i.url_id, 0)
        and coalesce(a.reference, '') = coalesce(i.reference, '')
    left join lateral (
        (select n.id from incidents n
            where i.incident_type = 1 and n.company_id = $1 and n.case_id = $2 and n.incident_type = 1
                and n.url_id = i.url_id and n.reference is null
            limit 1)
        union all
        (select n.id from incidents n
            where i.incident_type <> 1 and n.company_id = $1 and n.case_id = $2 and n.incident_type = i.incident_type
                and n.url_id is null and n.reference = i.reference
            limit 1)
    ) e on true
) r
order by r.position

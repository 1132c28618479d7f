-- Locks the URLs in hash order, and the existing infractions in key order. Deletes the infractions, and increments the revision of each URL
-- that loses one. If two items have the same infraction, both are reported as withdrawn.
with input as materialized (
    select i.*, u.id as found_url_id, u.found_hash
    from unnest($2::infraction_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $3, true)
    left join lateral (
        (select u.id, u.url_hash as found_hash from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), held as materialized (
    select u.id, u.url, u.url_hash, u.revision
    from (
        select distinct i.found_hash, i.found_url_id from input i where i.found_url_id is not null order by i.found_hash, i.found_url_id
    ) i
    cross join lateral (
        select u.id, u.url, u.url_hash, u.revision from compliance_urls u
        where u.company_id = $1 and u.id = i.found_url_id
        for no key update
    ) u
), locked as materialized (
    select n.row
    from (
        select distinct i.found_url_id as url_id, i.infraction_type_id, i.infraction_name_id
        from input i
        where i.found_url_id is not null and (select count(*) from held) >= 0
        order by i.found_url_id, i.infraction_type_id, i.infraction_name_id
    ) x
    cross join lateral (
        select n.ctid as row
        from infractions n
        where n.company_id = $1 and n.url_id = x.url_id and n.infraction_type_id = x.infraction_type_id
            and n.infraction_name_id is not distinct from x.infraction_name_id
        for update
    ) n
), withdrawn as (
    -- The rows are locked, so their physical positions do not change. With a comparison that an index supports, such as
    -- `company_id = $1`, the planner could choose to scan all infractions of the company.
    delete from infractions n
    where n.company_id is not distinct from $1 and n.ctid = any (array(select l.row from locked l))
    returning n.url_id, n.infraction_type_id, n.infraction_name_id
), revised as (
    insert into compliance_urls (company_id, id, url, url_hash, revision)
    select $1, h.id, h.url, h.url_hash, h.revision + 1
    from held h
    where (h.id in (select w.url_id from withdrawn w)) is true
    order by h.url_hash
    on conflict on constraint compliance_urls_pkey do update set revision = excluded.revision
)
select i.found_url_id as "url_id?",
    (
        (i.found_url_id, i.infraction_type_id, coalesce(i.infraction_name_id, 0)) in (
            select w.url_id, w.infraction_type_id, coalesce(w.infraction_name_id, 0) from withdrawn w
        )
    ) is true as "changed!"
from input i
order by i.ordinality

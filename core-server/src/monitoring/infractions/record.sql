-- Locks the URLs in hash order. Inserts infractions in key order, and increments the revision of each URL that gets one. If two items have
-- the same infraction, both are reported as recorded.
with input as materialized (
    select i.*, u.id as found_url_id, u.found_hash, date_trunc('second', now()) as now
    from unnest($2::infraction_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $3, true)
    left join lateral (
        (select u.id, u.url_hash as found_hash from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1)
        union all
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1)
    ) u on true
), locked as materialized (
    select u.id, u.url, u.url_hash, u.revision
    from (
        select distinct i.found_hash, i.found_url_id from input i where i.found_url_id is not null order by i.found_hash, i.found_url_id
    ) i
    cross join lateral (
        select u.id, u.url, u.url_hash, u.revision from compliance_urls u
        where u.company_id = $1 and u.id = i.found_url_id
        for no key update
    ) u
), recorded as (
    insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
    select $1, i.found_url_id, i.infraction_type_id, i.infraction_name_id, coalesce(i.created_date, i.now)
    from input i
    where i.found_url_id is not null and (select count(*) from locked) >= 0
    order by i.found_url_id, i.ordinality
    on conflict on constraint infractions_name_key do nothing
    returning url_id, infraction_type_id, infraction_name_id
), revised as (
    insert into compliance_urls (company_id, id, url, url_hash, revision)
    select $1, l.id, l.url, l.url_hash, l.revision + 1
    from locked l
    where (l.id in (select r.url_id from recorded r)) is true
    order by l.url_hash
    on conflict on constraint compliance_urls_pkey do update set revision = excluded.revision
)
select i.found_url_id as "url_id?",
    (
        (i.found_url_id, i.infraction_type_id, coalesce(i.infraction_name_id, 0)) in (
            select r.url_id, r.infraction_type_id, coalesce(r.infraction_name_id, 0) from recorded r
        )
    ) is true as "changed!"
from input i
order by i.ordinality

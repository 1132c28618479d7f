-- The entries of an affiliate's records in the record of changes of the company $1, at most $5 rows. $3 are the affiliate's URLs, and $4
-- its cases. Deleted records are found by the affiliate's ID $2, which is null while some of its records remain.
with deleted as materialized (
    select c.resource, e.id, change_fields(c.resource, c.columns, c.operation, e.record) as fields
    from changes c
    cross join lateral unnest(c.ids, c.records) e (id, record)
    where c.company_id = $1 and c.operation = 3 and c.resource between 2 and 5
), url as materialized (
    select u.id from unnest($3::bigint[]) u (id)
    union
    select d.id from deleted d where d.resource = 2 and (d.fields ->> 'affiliate_id')::bigint = $2
), compliance_case as materialized (
    select k.id from unnest($4::bigint[]) k (id)
    union
    select d.id from deleted d where d.resource = 4 and (d.fields ->> 'affiliate_id')::bigint = $2
), infraction as materialized (
    select i.id from infractions i where i.company_id = $1 and i.url_id = any($3)
    union
    select d.id from deleted d where d.resource = 3 and (d.fields ->> 'url_id')::bigint in (select id from url)
), incident as materialized (
    select i.id from incidents i where i.company_id = $1 and i.case_id = any($4)
    union
    select i.id from incidents i where i.company_id = $1 and i.url_id = any($3)
    union
    select d.id from deleted d
    where d.resource = 5 and ((d.fields ->> 'case_id')::bigint in (select id from compliance_case)
        or (d.fields ->> 'url_id')::bigint in (select id from url))
), erased as materialized (
    select 1::smallint as resource, a.id from unnest(array[$2::bigint]) a (id) where a.id is not null
    union all select 2::smallint, id from url
    union all select 3::smallint, id from infraction
    union all select 4::smallint, id from compliance_case
    union all select 5::smallint, id from incident
)
select array_agg(x.resource) as resources, array_agg(x.id) as ids,
    (select p.position from change_positions p where p.company_id = $1) as last_position,
    array(
        select c.position from changes c
        where c.company_id = $1 and c.operation <> 4
            and exists (select from unnest(c.ids) e (id) where (c.resource, e.id) in (select x.resource, x.id from erased x))
        order by c.position
        limit (select $5::bigint)
    ) as positions
from erased x

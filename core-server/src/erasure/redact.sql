-- Erases entries of the company $1: those of the kinds $6 with the IDs $7, or all, with who made them, if $6 is null. They are looked for in
-- the rows at the positions $4, and in those after the position $5. Rows that have nothing left to erase stay as they are. If there are
-- others, an entry of the erasure of the record $3 of the kind $2 follows, by $9, with the digest of each row. Keys are made of $8, which
-- nobody keeps.
with erased as materialized (
    select x.resource, x.id from unnest($6::smallint[], $7::bigint[]) x (resource, id)
), chosen as materialized (
    select c.*, change_columns(c.resource) as columns_now
    from (
        select unnest($4::bigint[]) as position
        union
        select n.position from changes n where n.company_id = $1 and n.position > $5
    ) p
    cross join lateral (
        select c.* from changes c where c.company_id = $1 and c.position = p.position and c.operation <> 4 limit 1
    ) c
), rewritten as materialized (
    select c.position, c.changed_at,
        change_digest(c.resource, c.columns, c.operation, c.ids, c.records, c.changed_by, c.key) as digest,
        c.columns_now as columns,
        array(
            select case
                when $6::smallint[] is null or (c.resource, e.id) in (select x.resource, x.id from erased x)
                then erased_record(c.resource, c.columns, c.operation, e.record)
                when c.columns = c.columns_now then e.record
                else filled_record(c.resource, c.columns, c.operation, e.record) end
            from unnest(c.ids, c.records) with ordinality e (id, record, number)
            order by e.number
        ) as records,
        case when $6::smallint[] is not null then c.changed_by end as changed_by,
        encode(substr(sha256($8::bytea || int8send(c.position)), 1, 16), 'hex')::uuid as key
    from chosen c
), redacted as (
    update changes c
    set columns = r.columns, records = r.records, changed_by = r.changed_by, key = r.key,
        erased_digest = coalesce(c.erased_digest, r.digest)
    from rewritten r
    where c.company_id = $1 and c.position = r.position and c.changed_at = r.changed_at
        and (c.records <> r.records or c.changed_by is distinct from r.changed_by)
    returning c.*
), digests as materialized (
    select r.position, change_digest(r.resource, r.columns, r.operation, r.ids, r.records, r.changed_by, r.key) as digest from redacted r
)
select count(*) as rows, record_changes(array[row(
    $1, $2::smallint, 0, 4, array[$3::bigint], array[jsonb_object_agg(d.position, encode(d.digest, 'hex'))::text], $9::jsonb, null
)::change_entry])::text as recorded
from digests d
having count(*) > 0

-- Erases entries of the record of changes, as its owner: the service calls it, and can change no row of the record otherwise.
--
-- They are looked for in the rows at the positions `looked_at`, and in those after the position `looked_after`. Of the records with these
-- `kinds` and `record_ids`, it erases those whose deletion is in one of the rows, and that do not exist again: so no entry follows their last
-- deletion. Others than the owner of the schema must name one of these records as the one that is erased. If `kinds` is null, all entries are
-- erased, with who made them, but for the owner alone. Rows without an entry to erase stay as they are. If there are others, an entry of the
-- erasure of the record `erased_id` of the kind `erased_kind` follows, by `author`, with the digest of each row. Keys are made of `seed`, which
-- nobody keeps. Returns the number of rows.
--
-- Custom plans look up each ID of a list in a hash table. IDs of infractions and incidents are compared row by row, since no index begins
-- with them: `is true` keeps the list out of the index scan, which would otherwise be repeated for each ID.
create or replace function erase_changes(
    company bigint, erased_kind smallint, erased_id bigint, looked_at bigint[], looked_after bigint, kinds smallint[], record_ids bigint[],
    seed bytea, author jsonb
) returns setof bigint language plpgsql security definer set plan_cache_mode = force_custom_plan as $$
begin
    return query with chosen as materialized (
        select c.*, change_columns(c.resource) as columns_now
        from (
            select unnest(looked_at) as position
            union
            select n.position from changes n where n.company_id = company and n.position > looked_after
        ) p
        cross join lateral (
            select c.* from changes c where c.company_id = company and c.position = p.position and c.operation <> 4 and c.resource <> 0 limit 1
        ) c
        where kinds is not null or pg_has_role(session_user, current_user, 'usage')
    ), deleted as materialized (
        select c.resource, e.id from chosen c cross join lateral unnest(c.ids) e (id) where c.operation = 3
    ), existing as materialized (
        select 1::smallint as resource, a.id from affiliates a where a.company_id = company and a.id = any(record_ids)
        union all
        select 2, u.id from compliance_urls u where u.company_id = company and u.id = any(record_ids)
        union all
        select 3, f.id from infractions f where f.company_id = company and (f.id = any(record_ids)) is true
        union all
        select 4, k.id from compliance_cases k where k.company_id = company and k.id = any(record_ids)
        union all
        select 5, i.id from incidents i where i.company_id = company and (i.id = any(record_ids)) is true
    ), gone as materialized (
        select x.resource, x.id from unnest(kinds, record_ids) x (resource, id)
        where x.resource between 1 and 5
            and (x.resource, x.id) in (select d.resource, d.id from deleted d)
            and (x.resource, x.id) not in (select l.resource, l.id from existing l)
    ), erased as materialized (
        select g.resource, g.id from gone g
        where (erased_kind, erased_id) in (select n.resource, n.id from gone n) or pg_has_role(session_user, current_user, 'usage')
    ), rewritten as materialized (
        select c.position, c.changed_at,
            change_digest(c.resource, c.columns, c.operation, c.ids, c.records, c.changed_by, c.key) as digest,
            c.columns_now as columns,
            array(
                select case
                    when kinds is null or (c.resource, e.id) in (select x.resource, x.id from erased x)
                    then erased_record(c.resource, c.columns, c.operation, e.record)
                    when c.columns = c.columns_now then e.record
                    else filled_record(c.resource, c.columns, c.operation, e.record) end
                from unnest(c.ids, c.records) with ordinality e (id, record, number)
                order by e.number
            ) as records,
            case when kinds is not null then c.changed_by end as changed_by,
            encode(substr(sha256(seed || int8send(c.position)), 1, 16), 'hex')::uuid as key
        from chosen c
        where kinds is null
            or exists (select from unnest(c.ids) e (id) where (c.resource, e.id) in (select x.resource, x.id from erased x))
    ), redacted as (
        update changes c
        set columns = r.columns, records = r.records, changed_by = r.changed_by, key = r.key,
            erased_digest = coalesce(c.erased_digest, r.digest)
        from rewritten r
        where c.company_id = company and c.position = r.position and c.changed_at = r.changed_at
            and (c.records <> r.records or c.changed_by is distinct from r.changed_by)
        returning c.*
    ), digests as materialized (
        select r.position, change_digest(r.resource, r.columns, r.operation, r.ids, r.records, r.changed_by, r.key) as digest from redacted r
    )
    select count(*) + length(record_changes(array[row(
        company, erased_kind, 0, 4, array[erased_id], array[jsonb_object_agg(d.position, encode(d.digest, 'hex'))::text], author, null
    )::change_entry])::text)
    from digests d
    having count(*) > 0;
end
$$;

do $$ begin
    execute format('alter function erase_changes set search_path = %I, pg_temp', current_schema());
end $$;

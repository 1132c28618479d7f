-- A company that has no changes yet begins after all that a restored backup may have lost of it.
create or replace function write_changes(entries change_row[]) returns void language plpgsql as $$
begin
    with p as (
        insert into change_positions as p (company_id, position, changed_at, digest, hash, dropped_position)
        select e.company_id, first_position() + e.n, e.changed_at, e.digest,
            change_hash(null, e.digest, first_position() + e.n, e.changed_at), first_position()
        from (
            select e.company_id, cardinality(e.ids)::bigint as n, clock_timestamp() as changed_at, placed_digest(
                change_digest(e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, e.key), e.company_id, e.parents
            ) as digest
            from unnest(entries) e
            offset 0
        ) e
        order by e.company_id
        on conflict on constraint change_positions_pkey do update set
            position = p.position + excluded.position - first_position(),
            changed_at = change_time(p.changed_at, excluded.changed_at),
            digest = excluded.digest,
            hash = change_hash(p.hash, excluded.digest, p.position + excluded.position - first_position(),
                change_time(p.changed_at, excluded.changed_at)),
            is_set_back = change_time(p.changed_at, excluded.changed_at) < p.changed_at
        returning p.company_id, p.position, p.changed_at, p.hash, p.is_set_back
    )
    insert into changes
        (company_id, position, changed_at, resource, columns, operation, ids, records, changed_by, key, parents, hash, is_set_back)
    select e.company_id, p.position, p.changed_at, e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, e.key, e.parents,
        p.hash, p.is_set_back
    from unnest(entries) e join p on p.company_id = e.company_id;
end
$$;

do $$ begin
    execute format('alter function write_changes set search_path = %I, pg_temp', current_schema());
end $$;

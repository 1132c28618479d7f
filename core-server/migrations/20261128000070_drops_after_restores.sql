-- A company whose first change follows a restore begins at `first_position()`. It lost no changes before that position, so nothing was dropped.
-- A drop says how many of its positions a restore had passed over: they have no changes.
alter table change_drops add column passed_over bigint not null default 0;

do $do$
declare
    definition text := pg_get_functiondef('record_change_drops'::regproc);
    known constant text[] := array[
        'where p.dropped_position > 0 and d.company_id is null;',
        'changed_at, part, days, dropped_at)',
        ', %1$L, $3, $4',
        'where c.position > q.dropped_position and k.position is null'];
    changed constant text[] := array[
        'where p.dropped_position > 0 and d.company_id is null
        and not (p.dropped_hash is null and p.dropped_position % restore_distance() = 0);',
        'changed_at, part, days, dropped_at, passed_over)',
        ', %1$L, $3, $4, r.passed_over',
        'cross join lateral (
            select coalesce(sum(r.position - position_before(r.resource, r.operation, r.position, r.ids, r.records) - 1), 0) as passed_over
            from changes r
            where r.company_id = q.company_id and r.resource = 0 and r.operation = 2 and cardinality(r.ids) = 1
                and r.ids[1] = q.company_id and r.position > q.dropped_position and r.position <= c.position
        ) r
        where c.position > q.dropped_position and k.position is null'];
begin
    for part in 1..4 loop
        if strpos(definition, known[part]) = 0 then
            raise exception 'record_change_drops differs from the version that this step knows';
        end if;
        definition := replace(definition, known[part], changed[part]);
    end loop;
    execute definition;
end
$do$;

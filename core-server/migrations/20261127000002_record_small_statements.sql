-- Recording a change takes less: small statements are not cut into parts, each record is made once, and its digest is planned with the
-- statement, which it can be if it is declared as stable as `concat_ws` is.
alter function change_digest stable;

-- Lets the changes of a table be recorded, with the columns that it has now: to be called again when it has others. The trigger is the
-- first by name, since it locks positions. A large statement is recorded in parts, which bounds the memory that it takes.
create or replace function record_changes_of(recorded text, resource integer) returns void language plpgsql as $do$
declare
    changed text;
    columns integer;
    entry constant text := $sql$row(r.company_id, %s, %s, %s, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end)::change_entry$sql$;
    -- Nearly all statements are small, and cutting a small one into parts takes about as long as recording it. It has few rows, since each
    -- may be of some MiB.
    record_rows constant text := $sql$
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select %1$s as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (%2$s) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, %1$s as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (%2$s) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;$sql$;
    -- With an offset, a record is made once, and not again for each use of it.
    rows_of constant text := 'select r.company_id, r.id, r::text as record from %s r offset 0';
begin
    select string_agg(
            format($sql$case when o.%1$I is distinct from n.%1$I then ',"%1$s":' || json_build_array(o.%1$I, n.%1$I) end$sql$, attname),
            ', ' order by attnum) filter (where attname not in ('company_id', 'id')),
            count(*)
        into changed, columns
        from pg_attribute
        where attrelid = recorded::regclass and attnum > 0 and not attisdropped;
    -- A session plans these statements once, often for few rows: a nested loop would take a minute for ten thousand. Rows that are a text
    -- have dates in it.
    execute format($sql$
        create or replace function record_%s() returns trigger language plpgsql
        set enable_nestloop = off set datestyle = 'ISO' as $function$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then %s
            elsif tg_op = 'UPDATE' then %s
            else %s
            end if;
            return null;
        end
        $function$$sql$,
        recorded,
        format(record_rows, format(entry, resource, columns, 1), format(rows_of, 'new_rows')),
        format(record_rows, format(entry, resource, columns, 2), format(
            'select n.company_id, n.id, concat(%s) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0', changed)),
        format(record_rows, format(entry, resource, columns, 3), format(rows_of, 'old_rows')));
    if not exists (select from pg_trigger where tgrelid = recorded::regclass and tgname = 'a_record_inserted') then
        execute format('create trigger a_record_inserted after insert on %1$I referencing new table as new_rows
            for each statement execute function record_%1$s()', recorded);
        execute format('create trigger a_record_updated after update on %1$I referencing old table as old_rows new table as new_rows
            for each statement execute function record_%1$s()', recorded);
        execute format('create trigger a_record_deleted after delete on %1$I referencing old table as old_rows
            for each statement execute function record_%1$s()', recorded);
    end if;
end
$do$;

do $$
begin
    perform record_changes_of(recorded, resource)
        from (values
            ('affiliates', 1), ('compliance_urls', 2), ('infractions', 3), ('compliance_cases', 4), ('incidents', 5),
            ('vocabulary_entries', 6)
        ) t (recorded, resource);
end
$$;

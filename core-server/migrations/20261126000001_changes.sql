-- The record of every change. Triggers write it in the statement that makes the change, by any program.
--
-- A row holds what one statement did to up to 1,024 records of a company: with a row for each of them, batches would take half as long
-- again. Its entries have consecutive positions, of which `position` is the last.
create type change_entry as (
    company_id bigint,
    resource smallint, -- the number of the table in `record_changes_of`
    columns smallint, -- of the table, then
    operation smallint, -- 1: created, 2: updated, 3: deleted
    ids bigint[],
    -- Of a record that is new or deleted: the row of its table, as PostgreSQL writes it, which costs a quarter of JSON. It may lack
    -- columns that were added later. Of an update: `,"column":[before,after]` of the columns that changed, as members of a JSON object.
    records text[],
    changed_by jsonb
);

-- The position of each company's last change. Its row is locked until the change is committed, so a reader who has seen a position
-- never finds a smaller one later.
create table change_positions (
    company_id bigint not null,
    position bigint not null,
    changed_at timestamptz not null, -- never before that of a smaller position
    digest bytea not null default '', -- of what the last row says
    hash bytea not null default '', -- of the last row
    dropped_position bigint not null default 0, -- of the last row that is not kept
    dropped_hash bytea,
    constraint change_positions_pkey primary key (company_id)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

create table changes (
    company_id bigint not null,
    position bigint not null, -- of the last entry
    changed_at timestamptz not null,
    resource smallint not null,
    columns smallint not null,
    operation smallint not null,
    ids bigint[] not null,
    records text[] not null,
    -- Request ID and token's subject, or a list of such pairs, one for each entry. Null: not written by the service.
    changed_by jsonb,
    -- Of the row and of the hash of the row before. Who alters, removes or reorders rows by hand has to compute all later ones anew, and
    -- does not agree with what was written down of them elsewhere.
    hash bytea not null default '',
    constraint changes_pkey primary key (company_id, position, changed_at)
) partition by range (changed_at);

-- The digest of what a row of `changes` says.
create function change_digest(resource smallint, columns smallint, operation smallint, ids bigint[], records text[], changed_by jsonb)
returns bytea language sql immutable parallel safe as $$
    select sha256(convert_to(concat_ws(' ', resource, columns, operation, ids, records, changed_by), 'UTF8'))
$$;

-- The hash of a row at a position, which follows the row with the hash `previous`.
create function change_hash(previous bytea, digest bytea, "position" bigint, changed_at timestamptz)
returns bytea language sql immutable parallel safe as $$
    select sha256(coalesce(previous, '') || digest || int8send("position") || timestamptz_send(changed_at))
$$;

-- Writes entries, of which each company has one. Positions are locked after rows and before counts, in the order of companies.
create function record_changes(entries change_entry[]) returns void language plpgsql as $$
begin
    with p as (
        insert into change_positions as p (company_id, position, changed_at, digest, hash)
        select e.company_id, e.n, e.changed_at, e.digest, change_hash(null, e.digest, e.n, e.changed_at)
        from (
            select e.company_id, cardinality(e.ids)::bigint as n, clock_timestamp() as changed_at,
                change_digest(e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by) as digest
            from unnest(entries) e
            offset 0
        ) e
        order by e.company_id
        on conflict on constraint change_positions_pkey do update set
            position = p.position + excluded.position,
            changed_at = greatest(p.changed_at, excluded.changed_at),
            digest = excluded.digest,
            hash = change_hash(p.hash, excluded.digest, p.position + excluded.position, greatest(p.changed_at, excluded.changed_at))
        returning p.company_id, p.position, p.changed_at, p.hash
    )
    insert into changes (company_id, position, changed_at, resource, columns, operation, ids, records, changed_by, hash)
    select e.company_id, p.position, p.changed_at, e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, p.hash
    from unnest(entries) e join p on p.company_id = e.company_id;
end
$$;

-- Lets the changes of a table be recorded, with the columns that it has now: to be called again when it has others. The trigger is the
-- first by name, since it locks positions. A large statement is recorded in parts, which bounds the memory that it takes.
create function record_changes_of(recorded text, resource integer) returns void language plpgsql as $do$
declare
    changed text;
    columns integer;
    record_parts constant text := $sql$
            for entries in
                select array_agg(e.entry)
                from (
                    select r.part, row(r.company_id, %s, %s, %s, array_agg(r.id), array_agg(r.record), case
                        when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end)::change_entry as entry
                    from (%s) r
                    group by r.company_id, r.part
                ) e
                group by e.part
                order by e.part
            loop
                perform record_changes(entries);
            end loop;$sql$;
    -- Parts are cut by number and by size.
    parts_of constant text := $sql$select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
        from (%s) r where r.record <> '' window w as (rows unbounded preceding)$sql$;
    rows_of constant text := 'select r.company_id, r.id, r::text as record from %s r';
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
            entries change_entry[];
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
        format(record_parts, resource, columns, 1, format(parts_of, format(rows_of, 'new_rows'))),
        format(record_parts, resource, columns, 2, format(parts_of, format(
            'select n.company_id, n.id, concat(%s) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id', changed))),
        format(record_parts, resource, columns, 3, format(parts_of, format(rows_of, 'old_rows'))));
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

-- Keeps the changes of so many days, by whole months, and makes this month and the next one. A month that has changes in the default
-- partition already stays there. It waits for a lock no longer than 40 ms, and drops one month at a time.
create function keep_changes(days integer) returns void language plpgsql security definer
set search_path from current set lock_timeout = '40ms' as $$
declare
    month timestamp;
    part name;
    -- Where the chain of each company goes on after what is dropped. Its last change is found by key.
    drop_through constant text := 'update change_positions p set dropped_position = d.position, dropped_hash = d.hash
        from (
            select q.company_id, c.position, c.hash
            from change_positions q
            cross join lateral (
                select c.position, c.hash from %I c
                where c.company_id = q.company_id and c.changed_at < $1
                order by c.position desc limit 1
            ) c
        ) d
        where p.company_id = d.company_id';
begin
    if days < 1 then
        raise invalid_parameter_value using message = 'changes are kept for at least one day';
    end if;
    if not pg_try_advisory_xact_lock(hashtext('compliance keep_changes')) then
        return;
    end if;
    if to_regclass('changes_default') is null then
        create table changes_default partition of changes default;
    end if;
    for month in select date_trunc('month', now() at time zone 'UTC') + make_interval(months => n) from generate_series(0, 1) n loop
        part := to_char(month, '"changes_y"YYYY"m"MM');
        if to_regclass(part) is null and not exists (
            select 1 from changes_default
            where changed_at >= month at time zone 'UTC' and changed_at < (month + interval '1 month') at time zone 'UTC'
        ) then
            execute format('create table %I (like changes)', part);
            execute format('alter table changes attach partition %I for values from (%L) to (%L)', part,
                month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
        end if;
    end loop;
    begin
        select c.relname into part from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'changes'::regclass and c.relname ~ '^changes_y\d{4}m\d\d$'
            and (to_date(substr(c.relname, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC'
                <= now() - make_interval(days => keep_changes.days)
        order by c.relname
        limit 1;
        if found then
            execute format(drop_through, part) using 'infinity'::timestamptz;
            execute format('drop table %I', part);
        else
            execute format(drop_through, 'changes_default') using now() - make_interval(days => keep_changes.days);
            delete from changes_default where changed_at < now() - make_interval(days => keep_changes.days);
        end if;
    exception when lock_not_available then
        -- The next call finds them.
    end;
end
$$;
revoke execute on function keep_changes from public;

do $$
declare
    known text; company bigint;
begin
    -- Nobody else's objects stand for the tables.
    execute format('alter function keep_changes set search_path = %I, pg_temp', current_schema());
    perform keep_changes(90);
    perform record_changes_of(recorded, resource)
        from (values
            ('affiliates', 1), ('compliance_urls', 2), ('infractions', 3), ('compliance_cases', 4), ('incidents', 5),
            ('vocabulary_entries', 6)
        ) t (recorded, resource);
    -- Companies that have records already: position 1 stands for how these came about, which is not kept. Writers without triggers have
    -- ended. A company is found by its key after the one before.
    perform set_config('enable_seqscan', 'off', true);
    foreach known in array array['affiliates', 'compliance_urls', 'vocabulary_entries'] loop
        company := 0;
        loop
            execute format('select company_id from %I where company_id > $1 order by company_id limit 1', known)
                into company using company;
            exit when company is null;
            insert into change_positions (company_id, position, changed_at, dropped_position) values (company, 1, now(), 1)
            on conflict do nothing;
        end loop;
    end loop;
end
$$;

-- Erasure: rows of the record of changes lose personal data, and the chain stays whole.
--
-- Each row has a random key, which is a part of its digest: so the digest of what was erased matches no guess. An erased row has another
-- key, and keeps the digest that the chain was made of. The digest of what is left is in an entry of the erasure, further on in the chain.
--
-- Recording a change takes less, too: small statements are not cut into parts, each record is made once, its digest is planned with the
-- statement, and records are compressed by a quicker method.

-- Writers whose trigger has begun would mix both forms of an entry.
lock table affiliates, compliance_urls, infractions, compliance_cases, incidents, vocabulary_entries in share row exclusive mode;

alter type change_entry add attribute key uuid;
-- Rows of before have no key, and their digest is the one that it was.
alter table changes
    add column key uuid,
    add column erased_digest bytea; -- that of the row before its first erasure

drop function change_digest(smallint, smallint, smallint, bigint[], text[], jsonb);
create function change_digest(
    resource smallint, columns smallint, operation smallint, ids bigint[], records text[], changed_by jsonb, key uuid
) returns bytea language sql stable parallel safe as $$
    select sha256(convert_to(concat_ws(' ', resource, columns, operation, ids, records, changed_by, key), 'UTF8'))
$$;

create or replace function record_changes(entries change_entry[]) returns void language plpgsql as $$
begin
    with p as (
        insert into change_positions as p (company_id, position, changed_at, digest, hash)
        select e.company_id, e.n, e.changed_at, e.digest, change_hash(null, e.digest, e.n, e.changed_at)
        from (
            select e.company_id, cardinality(e.ids)::bigint as n, clock_timestamp() as changed_at,
                change_digest(e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, e.key) as digest
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
    insert into changes (company_id, position, changed_at, resource, columns, operation, ids, records, changed_by, key, hash)
    select e.company_id, p.position, p.changed_at, e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, e.key, p.hash
    from unnest(entries) e join p on p.company_id = e.company_id;
end
$$;

-- How many columns the table with this number has; see `record_changes_of`.
create function change_columns(resource integer) returns smallint language sql stable as $$
    select count(*)::smallint from pg_attribute
    where attnum > 0 and not attisdropped and attrelid = (array[
        'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries'
    ])[resource]::regclass
$$;

-- A record of a new or deleted row, with nulls for the columns that were added later.
create function filled_record(resource smallint, columns smallint, operation smallint, record text) returns text
language sql stable as $$
    select case when operation = 2 then record
        else left(record, -1) || repeat(',', change_columns(resource) - columns) || ')' end
$$;

-- The columns of a record of a change, as an object: with their value, or with the ones before and after an update.
create function change_fields(resource smallint, columns smallint, operation smallint, record text) returns jsonb
language sql stable as $$
    select case when operation = 2 then ('{' || substr(record, 2) || '}')::jsonb
        else case resource
            when 1 then to_jsonb(filled::affiliates)
            when 2 then to_jsonb(filled::compliance_urls)
            when 3 then to_jsonb(filled::infractions)
            when 4 then to_jsonb(filled::compliance_cases)
            when 5 then to_jsonb(filled::incidents)
            when 6 then to_jsonb(filled::vocabulary_entries)
        end
    end
    from filled_record(resource, columns, operation, record) filled
$$;

-- The record of a change without personal data: IDs, dates and statuses. A column that is not named here is personal.
create function erased_record(resource smallint, columns smallint, operation smallint, record text) returns text
language sql stable set datestyle = 'ISO' as $$
    select case when operation = 2 then coalesce(string_agg(',' || to_json(key) || ':' || value, '' order by key), '')
        else case resource
            when 1 then jsonb_populate_record(null::affiliates, jsonb_object_agg(key, value))::text
            when 2 then jsonb_populate_record(null::compliance_urls, jsonb_object_agg(key, value))::text
            when 3 then jsonb_populate_record(null::infractions, jsonb_object_agg(key, value))::text
            when 4 then jsonb_populate_record(null::compliance_cases, jsonb_object_agg(key, value))::text
            when 5 then jsonb_populate_record(null::incidents, jsonb_object_agg(key, value))::text
            when 6 then jsonb_populate_record(null::vocabulary_entries, jsonb_object_agg(key, value))::text
        end
    end
    from jsonb_each(change_fields(resource, columns, operation, record))
    where key in (
        'company_id', 'id', 'affiliate_id', 'url_id', 'case_id', 'parent_id', 'vocabulary', 'incident_type', 'revision',
        'infraction_type_id', 'infraction_name_id', 'status', 'incident_status_id', 'transcription_status_id', 'disabled',
        'case_status_id', 'sub_status_id', 'notice_status_id', 'risk_level_id', 'start_date', 'discovery_date', 'last_review_date',
        'last_crawl_date', 'last_seen', 'created_date', 'reviewed_date', 'resolved_date', 'first_action_date', 'flagged_date',
        'follow_up_date', 'closed_date', 'last_updated_date')
$$;

-- Lets the changes of a table be recorded, with the columns that it has now: to be called again when it has others. The trigger is the
-- first by name, since it locks positions. A large statement is recorded in parts, which bounds the memory that it takes.
create or replace function record_changes_of(recorded text, resource integer) returns void language plpgsql as $do$
declare
    changed text;
    columns integer;
    entry constant text := $sql$row(r.company_id, %s, %s, %s, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry$sql$;
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
declare
    part regclass;
begin
    -- The default takes as long to compress records as all else that records them.
    if 'lz4' = any((select enumvals from pg_settings where name = 'default_toast_compression')::text[]) then
        for part in select 'changes'::regclass union all select inhrelid from pg_inherits where inhparent = 'changes'::regclass loop
            execute format('alter table %s alter column records set compression lz4', part);
        end loop;
        execute replace(pg_get_functiondef('keep_changes'::regproc), '(like changes)', '(like changes including compression)');
    end if;
    perform record_changes_of(recorded, resource)
        from (values
            ('affiliates', 1), ('compliance_urls', 2), ('infractions', 3), ('compliance_cases', 4), ('incidents', 5),
            ('vocabulary_entries', 6)
        ) t (recorded, resource);
end
$$;

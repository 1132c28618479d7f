-- The record of changes names the columns that it records, so that a column of somebody else's changes nothing. Its functions run as the
-- owner and find their tables in this schema, whatever the session's `search_path` is. Its hashes cover the company, and its times
-- recover from a clock that was wrong.

-- The columns of each table that are recorded: those that the table had. A row is recorded as the text of such a type. A new column is
-- added to the table and to the type, at the end.
create type recorded_affiliates as (
    company_id bigint, id bigint, client_affiliate_id text, affiliate_name text, email_one text, email_two text, phone_one text,
    phone_two text, facebook text, instagram text, youtube text, twitter text, tiktok text, pintrest text, country smallint,
    first_name text, last_name text, notes text, address text, city text, state text, zip text, ranking text, replicated_website text,
    sponsor text, upline text, status text, start_date date, language_used text, territory text, entrepreneur_id text,
    entrepreneur_spouse_id text, international_distributor text, is_territory_director text, jv_status text, league text,
    territory_master text, merchant_type text, company_name text, sponsor_id text, sponsor_email text, pay_rank text,
    recognition_rank text, revision bigint
);
create type recorded_compliance_urls as (
    company_id bigint, id bigint, url text, url_hash bytea, domain text, incident_status_id integer, disabled boolean,
    false_positive boolean, country smallint, discovery_date timestamptz, last_review_date timestamptz, last_crawl_date timestamptz,
    last_seen timestamptz, affiliate_id bigint, sub_affiliate_id text, owner_email text, social_one text, social_two text,
    social_three text, phone_one text, phone_two text, landing_page text, case_id bigint, note text, video_path text,
    transcription_text text, transcription_status_id integer
);
create type recorded_infractions as (
    company_id bigint, id bigint, url_id bigint, infraction_type_id integer, infraction_name_id integer, created_date timestamptz
);
create type recorded_compliance_cases as (
    company_id bigint, id bigint, affiliate_id bigint, case_worker text, tags text[], case_status_id integer, sub_status_id integer,
    submitter text, notice_status_id integer, risk_level_id integer, case_country smallint, sub_affiliate_id text,
    created_date timestamptz, reviewed_date timestamptz, resolved_date timestamptz, first_action_date timestamptz,
    flagged_date timestamptz, follow_up_date timestamptz, closed_date timestamptz, last_updated_date timestamptz, request_id text,
    revision bigint, opened_with bytea
);
create type recorded_incidents as (
    company_id bigint, id bigint, case_id bigint, incident_type smallint, url_id bigint, reference text, infraction_type_id integer,
    infraction_name_id integer
);
create type recorded_vocabulary_entries as (
    company_id bigint, vocabulary smallint, id integer, name text, parent_id integer
);

alter table changes
    -- Of infractions and incidents: the URL or case that each belongs to, or the one that all belong to. Null: to be read from `records`.
    add column parents bigint[],
    -- Whether the time is before that of the row before: the clock was wrong until then. Null: the hash does not cover the company.
    add column is_set_back boolean;
alter table change_positions add column is_set_back boolean not null default false; -- of the last row

-- A row of `changes`; see `change_entry`, which lacks the last column.
create type change_row as (
    company_id bigint,
    resource smallint,
    columns smallint,
    operation smallint,
    ids bigint[],
    records text[],
    changed_by jsonb,
    key uuid,
    parents bigint[]
);

-- The digest of a row with what an erasure leaves as it is. The hash is made of it, unless `is_set_back` is null.
create function placed_digest(digest bytea, company_id bigint, parents bigint[]) returns bytea language sql stable parallel safe
    return sha256(digest || int8send(company_id) || convert_to(coalesce(parents::text, ''), 'UTF8'));

-- The time of a row. Within five minutes of the row before, it is never before that one's. If that one's lies further ahead, the clock was
-- wrong: then the row has the time of the clock, and `is_set_back` is true. So times ascend from each such row up to the next one.
create function change_time(previous timestamptz, clock timestamptz) returns timestamptz language sql stable parallel safe
    return case when previous > clock + interval '5 minutes' then clock else greatest(previous, clock) end;

-- Writes rows, of which each company has one. Positions are locked after rows and before counts, in the order of companies.
create function write_changes(entries change_row[]) returns void language plpgsql as $$
begin
    with p as (
        insert into change_positions as p (company_id, position, changed_at, digest, hash)
        select e.company_id, e.n, e.changed_at, e.digest, change_hash(null, e.digest, e.n, e.changed_at)
        from (
            select e.company_id, cardinality(e.ids)::bigint as n, clock_timestamp() as changed_at, placed_digest(
                change_digest(e.resource, e.columns, e.operation, e.ids, e.records, e.changed_by, e.key), e.company_id, e.parents
            ) as digest
            from unnest(entries) e
            offset 0
        ) e
        order by e.company_id
        on conflict on constraint change_positions_pkey do update set
            position = p.position + excluded.position,
            changed_at = change_time(p.changed_at, excluded.changed_at),
            digest = excluded.digest,
            hash = change_hash(p.hash, excluded.digest, p.position + excluded.position,
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

-- Erasures call it, also those of an older core, which looks for `company_shards` in it on Citus. There, `write_changes` names the shards.
create or replace function record_changes(entries change_entry[]) returns void language plpgsql as $$
begin
    perform write_changes(array(select row(e.*, null)::change_row from unnest(entries) e));
end
$$;

-- How many columns of the table with this number are recorded.
create or replace function change_columns(resource integer) returns smallint language sql stable as $$
    select count(*)::smallint from pg_attribute
    where attnum > 0 and not attisdropped and attrelid = (array[
        'recorded_affiliates', 'recorded_compliance_urls', 'recorded_infractions', 'recorded_compliance_cases', 'recorded_incidents',
        'recorded_vocabulary_entries'
    ])[resource]::regclass
$$;

create or replace function change_fields(resource smallint, columns smallint, operation smallint, record text) returns jsonb
language sql stable as $$
    select case when operation = 2 then ('{' || substr(record, 2) || '}')::jsonb
        else case resource
            when 1 then to_jsonb(filled::recorded_affiliates)
            when 2 then to_jsonb(filled::recorded_compliance_urls)
            when 3 then to_jsonb(filled::recorded_infractions)
            when 4 then to_jsonb(filled::recorded_compliance_cases)
            when 5 then to_jsonb(filled::recorded_incidents)
            when 6 then to_jsonb(filled::recorded_vocabulary_entries)
        end
    end
    from filled_record(resource, columns, operation, record) filled
$$;

-- The record of a change without personal data: IDs, dates and statuses. A column that is not named here is personal.
create or replace function erased_record(resource smallint, columns smallint, operation smallint, record text) returns text
language sql stable set datestyle = 'ISO' as $$
    select case when operation = 2 then coalesce(string_agg(',' || to_json(key) || ':' || value, '' order by key), '')
        else case resource
            when 1 then jsonb_populate_record(null::recorded_affiliates, jsonb_object_agg(key, value))::text
            when 2 then jsonb_populate_record(null::recorded_compliance_urls, jsonb_object_agg(key, value))::text
            when 3 then jsonb_populate_record(null::recorded_infractions, jsonb_object_agg(key, value))::text
            when 4 then jsonb_populate_record(null::recorded_compliance_cases, jsonb_object_agg(key, value))::text
            when 5 then jsonb_populate_record(null::recorded_incidents, jsonb_object_agg(key, value))::text
            when 6 then jsonb_populate_record(null::recorded_vocabulary_entries, jsonb_object_agg(key, value))::text
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

-- Lets the changes of a table be recorded, with the columns that its type has now: to be called again when it has others. The trigger is
-- the first by name, since it locks positions. A large statement is recorded in parts, which bounds the memory that it takes.
create or replace function record_changes_of(recorded text, resource integer) returns void language plpgsql as $do$
declare
    changed text; fields text; columns integer;
    parent text := case recorded when 'infractions' then 'url_id' when 'incidents' then 'case_id' end;
    parents text := 'null';
    entry text := $sql$row(r.company_id, %s, %s, %s, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), %s)::change_row$sql$;
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
                    perform write_changes(entries);
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
                        perform write_changes(entries);
                    end loop;
                end if;$sql$;
    -- With an offset, a record is made once, and not again for each use of it.
    rows_of text := 'select r.company_id, r.id, row(%s)::text as record%s from %s r offset 0';
    updated text := 'select n.company_id, n.id, concat(%s) as record%s
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0';
    parent_of text := ''; parent_of_updated text := '';
begin
    select string_agg(
            format($sql$case when o.%1$I is distinct from n.%1$I then ',"%1$s":' || json_build_array(o.%1$I, n.%1$I) end$sql$, attname),
            ', ' order by attnum) filter (where attname not in ('company_id', 'id')),
            string_agg(format('r.%I', attname), ', ' order by attnum),
            count(*)
        into changed, fields, columns
        from pg_attribute
        where attrelid = format('recorded_%s', recorded)::regclass and attnum > 0 and not attisdropped;
    if parent is not null then
        parent_of := format(', r.%I as parent', parent);
        -- One that has moved belongs to two.
        parent_of_updated := format(', case when o.%1$I = n.%1$I then n.%1$I end as parent', parent);
        parents := 'case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end';
    end if;
    -- A session plans these statements once, often for few rows: a nested loop would take a minute for ten thousand. Rows that are a text
    -- have dates in it.
    execute format($sql$
        create or replace function record_%s() returns trigger language plpgsql security definer
        set search_path = %I, pg_temp set enable_nestloop = off set datestyle = 'ISO' as $function$
        declare
            entries change_row[]; rows bigint; bytes bigint;
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
        recorded, current_schema(),
        format(record_rows, format(entry, resource, columns, 1, parents), format(rows_of, fields, parent_of, 'new_rows')),
        format(record_rows, format(entry, resource, columns, 2, parents), format(updated, changed, parent_of_updated)),
        format(record_rows, format(entry, resource, columns, 3, parents), format(rows_of, fields, parent_of, 'old_rows')));
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

do $$ begin
    perform record_changes_of(recorded, resource)
        from (values
            ('affiliates', 1), ('compliance_urls', 2), ('infractions', 3), ('compliance_cases', 4), ('incidents', 5),
            ('vocabulary_entries', 6)
        ) t (recorded, resource);
end $$;

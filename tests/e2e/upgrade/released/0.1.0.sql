--
-- PostgreSQL database dump
--

\restrict 0iKaePtfWABdWCEl8mW0spOhniDTbPtdwxwsKG5dlkAZos5AdcwA32gCOrOoBzn

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: affiliate_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.affiliate_input AS (
	key bigint,
	mask bigint,
	client_affiliate_id text COLLATE pg_catalog."C",
	affiliate_name text COLLATE pg_catalog."C",
	email_one text,
	email_two text,
	phone_one text,
	phone_two text,
	facebook text,
	instagram text,
	youtube text,
	twitter text,
	tiktok text,
	pintrest text,
	country smallint,
	first_name text,
	last_name text,
	notes text,
	address text,
	city text,
	state text,
	zip text,
	ranking text,
	replicated_website text,
	sponsor text,
	upline text,
	status text,
	start_date date,
	language_used text,
	territory text,
	entrepreneur_id text,
	entrepreneur_spouse_id text,
	international_distributor text,
	is_territory_director text,
	jv_status text,
	league text,
	territory_master text,
	merchant_type text,
	company_name text,
	sponsor_id text,
	sponsor_email text,
	pay_rank text,
	recognition_rank text,
	revisions bigint[]
);


--
-- Name: incident_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.incident_input AS (
	incident_type smallint,
	url_id bigint,
	url_hash bytea,
	reference text COLLATE pg_catalog."C",
	infraction_type_id integer,
	infraction_name_id integer
);


--
-- Name: case_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.case_input AS (
	request_id text COLLATE pg_catalog."C",
	cleared text[],
	affiliate_id bigint,
	client_affiliate_id text COLLATE pg_catalog."C",
	case_worker text,
	tags text[],
	case_status_id integer,
	sub_status_id integer,
	submitter text,
	notice_status_id integer,
	risk_level_id integer,
	case_country smallint,
	sub_affiliate_id text,
	created_date timestamp with time zone,
	reviewed_date timestamp with time zone,
	resolved_date timestamp with time zone,
	first_action_date timestamp with time zone,
	flagged_date timestamp with time zone,
	follow_up_date timestamp with time zone,
	closed_date timestamp with time zone,
	last_updated_date timestamp with time zone,
	incidents public.incident_input[],
	opened_with bytea
);


--
-- Name: change_entry; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.change_entry AS (
	company_id bigint,
	resource smallint,
	columns smallint,
	operation smallint,
	ids bigint[],
	records text[],
	changed_by jsonb,
	key uuid
);


--
-- Name: compliance_case_count_change; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.compliance_case_count_change AS (
	company_id bigint,
	id_bucket bigint,
	case_status_id integer,
	created_day integer,
	n bigint
);


--
-- Name: compliance_url_count_change; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.compliance_url_count_change AS (
	company_id bigint,
	id_bucket bigint,
	incident_status_id integer,
	disabled boolean,
	discovery_day integer,
	last_review_day integer,
	last_seen_day integer,
	n bigint
);


--
-- Name: count_dimension; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.count_dimension AS ENUM (
    'all',
    'id',
    'id_coarse',
    'id_coarsest',
    'discovery_date',
    'discovery_date_coarse',
    'last_review_date',
    'last_review_date_coarse',
    'last_seen',
    'last_seen_coarse',
    'created_date',
    'created_date_coarse'
);


--
-- Name: incident_key_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.incident_key_input AS (
	incident_id bigint,
	incident_type smallint,
	url_id bigint,
	url_hash bytea,
	reference text COLLATE pg_catalog."C"
);


--
-- Name: infraction_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.infraction_input AS (
	url_id bigint,
	url_hash bytea,
	infraction_type_id integer,
	infraction_name_id integer,
	created_date timestamp with time zone
);


--
-- Name: url_observation_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.url_observation_input AS (
	"position" bigint,
	has_values boolean,
	cleared text[],
	url text,
	url_hash bytea,
	domain text,
	incident_status_id integer,
	disabled boolean,
	false_positive boolean,
	country smallint,
	discovery_date timestamp with time zone,
	last_review_date timestamp with time zone,
	last_crawl_date timestamp with time zone,
	last_seen timestamp with time zone,
	affiliate_id bigint,
	client_affiliate_id text COLLATE pg_catalog."C",
	sub_affiliate_id text,
	owner_email text,
	social_one text,
	social_two text,
	social_three text,
	phone_one text,
	phone_two text,
	landing_page text,
	note text,
	video_path text,
	transcription_text text,
	transcription_status_id integer,
	infractions public.infraction_input[]
);


--
-- Name: vocabulary_entry_input; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.vocabulary_entry_input AS (
	vocabulary smallint,
	name text COLLATE pg_catalog."C",
	parent_id integer,
	parent_name text COLLATE pg_catalog."C"
);


--
-- Name: change_case_of_urls(bigint, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_case_of_urls(company bigint, url_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    insert into compliance_urls (company_id, id, url, url_hash, case_id)
    select u.company_id, u.id, u.url, u.url_hash, i.case_id
    from unnest(url_ids) r (url_id)
    cross join lateral (
        select u.company_id, u.id, u.url, u.url_hash, u.case_id from compliance_urls u
        where u.company_id = company and u.id = r.url_id
        limit 1
    ) u
    left join lateral (
        select i.case_id from incidents i
        where i.company_id = company and i.url_id = r.url_id
        order by i.id desc
        limit 1
    ) i on true
    where u.case_id is distinct from i.case_id
    on conflict on constraint compliance_urls_pkey do update set case_id = excluded.case_id;
end
$$;


--
-- Name: change_columns(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_columns(resource integer) RETURNS smallint
    LANGUAGE sql STABLE
    AS $$
    select count(*)::smallint from pg_attribute
    where attnum > 0 and not attisdropped and attrelid = (array[
        'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries'
    ])[resource]::regclass
$$;


--
-- Name: change_compliance_case_counts(public.compliance_case_count_change[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_compliance_case_counts(changes public.compliance_case_count_change[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_advisory_xact_lock(company_id << 2 | 2)
        from (select distinct company_id from unnest(changes) order by company_id) companies;
    insert into compliance_case_counts as c (company_id, dimension, bucket, case_status_id, n, first_day, last_day)
    select r.company_id, p.dimension, p.bucket, r.case_status_id, sum(r.n), min(r.created_day), max(r.created_day)
    from unnest(changes) r
    cross join lateral compliance_case_buckets(r.id_bucket, r.created_day) p
    group by 1, 2, 3, 4
    -- A case that stays in its bucket changes nothing, unless its day is outside of the old bounds.
    having sum(r.n) <> 0
        or min(r.created_day) filter (where r.n > 0) < min(r.created_day) filter (where r.n < 0)
        or max(r.created_day) filter (where r.n > 0) > max(r.created_day) filter (where r.n < 0)
    on conflict on constraint compliance_case_counts_pkey do update set
        n = c.n + excluded.n,
        first_day = least(c.first_day, excluded.first_day),
        last_day = greatest(c.last_day, excluded.last_day);
end
$$;


--
-- Name: change_compliance_url_counts(public.compliance_url_count_change[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_compliance_url_counts(changes public.compliance_url_count_change[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_advisory_xact_lock(company_id << 2 | 1)
        from (select distinct company_id from unnest(changes) order by company_id) companies;
    insert into compliance_url_counts as c (company_id, dimension, bucket, incident_status_id, disabled,
        n, n_without_last_review_date, n_without_last_seen, first_day, last_day)
    select r.company_id, p.dimension, p.bucket, r.incident_status_id, r.disabled, sum(r.n),
        coalesce(sum(r.n) filter (where p.by_id and r.last_review_day is null), 0),
        coalesce(sum(r.n) filter (where p.by_id and r.last_seen_day is null), 0),
        min(r.discovery_day), max(r.discovery_day)
    from unnest(changes) r
    cross join lateral compliance_url_buckets(r.id_bucket, r.discovery_day, r.last_review_day, r.last_seen_day) p
    group by 1, 2, 3, 4, 5
    -- A record that stays in its bucket changes nothing, unless its day is outside of the old bounds.
    having sum(r.n) <> 0
        or sum(r.n) filter (where p.by_id and r.last_review_day is null) <> 0
        or sum(r.n) filter (where p.by_id and r.last_seen_day is null) <> 0
        or min(r.discovery_day) filter (where r.n > 0) < min(r.discovery_day) filter (where r.n < 0)
        or max(r.discovery_day) filter (where r.n > 0) > max(r.discovery_day) filter (where r.n < 0)
    on conflict on constraint compliance_url_counts_pkey do update set
        n = c.n + excluded.n,
        n_without_last_review_date = c.n_without_last_review_date + excluded.n_without_last_review_date,
        n_without_last_seen = c.n_without_last_seen + excluded.n_without_last_seen,
        first_day = least(c.first_day, excluded.first_day),
        last_day = greatest(c.last_day, excluded.last_day);
end
$$;


--
-- Name: change_digest(smallint, smallint, smallint, bigint[], text[], jsonb, uuid); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_digest(resource smallint, columns smallint, operation smallint, ids bigint[], records text[], changed_by jsonb, key uuid) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    select sha256(convert_to(concat_ws(' ', resource, columns, operation, ids, records, changed_by, key), 'UTF8'))
$$;


--
-- Name: change_fields(smallint, smallint, smallint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_fields(resource smallint, columns smallint, operation smallint, record text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
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


--
-- Name: change_hash(bytea, bytea, bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_hash(previous bytea, digest bytea, "position" bigint, changed_at timestamp with time zone) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select sha256(coalesce(previous, '') || digest || int8send("position") || timestamptz_send(changed_at))
$$;


--
-- Name: compliance_case_buckets(bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.compliance_case_buckets(id_bucket bigint, created_day integer) RETURNS TABLE(dimension public.count_dimension, bucket bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select b.dimension, b.bucket
    from (values
        ('all'::count_dimension, 0::bigint),
        ('id', id_bucket),
        ('id_coarse', id_bucket >> 5),
        ('id_coarsest', id_bucket >> 10),
        ('created_date', created_day::bigint),
        ('created_date_coarse', created_day::bigint >> 5)
    ) b (dimension, bucket)
$$;


--
-- Name: compliance_case_buckets(bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.compliance_case_buckets(id bigint, created_date timestamp with time zone) RETURNS TABLE(dimension public.count_dimension, bucket bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select b.dimension, b.bucket from compliance_case_buckets(id >> 10, utc_day(created_date)) b
$$;


--
-- Name: compliance_url_buckets(bigint, integer, integer, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.compliance_url_buckets(id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer) RETURNS TABLE(dimension public.count_dimension, bucket bigint, by_id boolean)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select b.dimension, b.bucket, b.by_id
    from (values
        ('all'::count_dimension, 0::bigint, false),
        ('id', id_bucket, true),
        ('id_coarse', id_bucket >> 5, true),
        ('id_coarsest', id_bucket >> 10, true),
        ('discovery_date', discovery_day::bigint, false),
        ('discovery_date_coarse', discovery_day::bigint >> 5, false),
        ('last_review_date', last_review_day::bigint, false),
        ('last_review_date_coarse', last_review_day::bigint >> 5, false),
        ('last_seen', last_seen_day::bigint, false),
        ('last_seen_coarse', last_seen_day::bigint >> 5, false)
    ) b (dimension, bucket, by_id)
    where b.bucket is not null
$$;


--
-- Name: count_compliance_cases(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_compliance_cases() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    changes compliance_case_count_change[];
begin
    if tg_op = 'INSERT' then
        changes := array(
            select row(company_id, id >> 10, case_status_id, utc_day(created_date), count(*))::compliance_case_count_change
            from new_rows
            group by company_id, id >> 10, case_status_id, utc_day(created_date));
    elsif tg_op = 'UPDATE' then
        changes := array(
            select row(r.company_id, r.id >> 10, r.case_status_id, utc_day(r.created_date), sum(r.n))::compliance_case_count_change
            from (
                select -1 as n, company_id, id, case_status_id, created_date from old_rows
                union all
                select 1, company_id, id, case_status_id, created_date from new_rows
            ) r
            group by r.company_id, r.id >> 10, r.case_status_id, utc_day(r.created_date)
            having sum(r.n) <> 0);
    else
        changes := array(
            select row(company_id, id >> 10, case_status_id, utc_day(created_date), -count(*))::compliance_case_count_change
            from old_rows
            group by company_id, id >> 10, case_status_id, utc_day(created_date));
    end if;
    if cardinality(changes) > 0 then
        perform change_compliance_case_counts(changes);
    end if;
    return null;
end
$$;


--
-- Name: count_compliance_urls(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_compliance_urls() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    changes compliance_url_count_change[];
begin
    if tg_op = 'INSERT' then
        changes := array(
            select row(company_id, id >> 10, incident_status_id, disabled, utc_day(discovery_date),
                utc_day(last_review_date), utc_day(last_seen), count(*))::compliance_url_count_change
            from new_rows
            group by company_id, id >> 10, incident_status_id, disabled, utc_day(discovery_date),
                utc_day(last_review_date), utc_day(last_seen));
    elsif tg_op = 'UPDATE' then
        changes := array(
            select row(r.company_id, r.id >> 10, r.incident_status_id, r.disabled, utc_day(r.discovery_date),
                utc_day(r.last_review_date), utc_day(r.last_seen), sum(r.n))::compliance_url_count_change
            from (
                select -1 as n, company_id, id, incident_status_id, disabled, discovery_date, last_review_date, last_seen
                from old_rows
                union all
                select 1, company_id, id, incident_status_id, disabled, discovery_date, last_review_date, last_seen
                from new_rows
            ) r
            group by r.company_id, r.id >> 10, r.incident_status_id, r.disabled, utc_day(r.discovery_date),
                utc_day(r.last_review_date), utc_day(r.last_seen)
            having sum(r.n) <> 0);
    else
        changes := array(
            select row(company_id, id >> 10, incident_status_id, disabled, utc_day(discovery_date),
                utc_day(last_review_date), utc_day(last_seen), -count(*))::compliance_url_count_change
            from old_rows
            group by company_id, id >> 10, incident_status_id, disabled, utc_day(discovery_date),
                utc_day(last_review_date), utc_day(last_seen));
    end if;
    if cardinality(changes) > 0 then
        perform change_compliance_url_counts(changes);
    end if;
    return null;
end
$$;


--
-- Name: count_revision(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.count_revision() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    new.revision := old.revision + 1;
    return new;
end
$$;


--
-- Name: erased_record(smallint, smallint, smallint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.erased_record(resource smallint, columns smallint, operation smallint, record text) RETURNS text
    LANGUAGE sql STABLE
    SET "DateStyle" TO 'ISO'
    AS $$
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


--
-- Name: filled_record(smallint, smallint, smallint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.filled_record(resource smallint, columns smallint, operation smallint, record text) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    select case when operation = 2 then record
        else left(record, -1) || repeat(',', change_columns(resource) - columns) || ')' end
$$;


--
-- Name: keep_changes(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.keep_changes(days integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET lock_timeout TO '40ms'
    AS $_$
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
            execute format('create table %I (like changes including compression)', part);
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
$_$;


--
-- Name: new_value(text[], text, anyelement, anyelement); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.new_value(cleared text[], name text, given anyelement, other anyelement) RETURNS anyelement
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ select case when given is not null or name = any(cleared) then given else other end $$;


--
-- Name: record_affiliates(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_affiliates() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.client_affiliate_id is distinct from n.client_affiliate_id then ',"client_affiliate_id":' || json_build_array(o.client_affiliate_id, n.client_affiliate_id) end, case when o.affiliate_name is distinct from n.affiliate_name then ',"affiliate_name":' || json_build_array(o.affiliate_name, n.affiliate_name) end, case when o.email_one is distinct from n.email_one then ',"email_one":' || json_build_array(o.email_one, n.email_one) end, case when o.email_two is distinct from n.email_two then ',"email_two":' || json_build_array(o.email_two, n.email_two) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.facebook is distinct from n.facebook then ',"facebook":' || json_build_array(o.facebook, n.facebook) end, case when o.instagram is distinct from n.instagram then ',"instagram":' || json_build_array(o.instagram, n.instagram) end, case when o.youtube is distinct from n.youtube then ',"youtube":' || json_build_array(o.youtube, n.youtube) end, case when o.twitter is distinct from n.twitter then ',"twitter":' || json_build_array(o.twitter, n.twitter) end, case when o.tiktok is distinct from n.tiktok then ',"tiktok":' || json_build_array(o.tiktok, n.tiktok) end, case when o.pintrest is distinct from n.pintrest then ',"pintrest":' || json_build_array(o.pintrest, n.pintrest) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.first_name is distinct from n.first_name then ',"first_name":' || json_build_array(o.first_name, n.first_name) end, case when o.last_name is distinct from n.last_name then ',"last_name":' || json_build_array(o.last_name, n.last_name) end, case when o.notes is distinct from n.notes then ',"notes":' || json_build_array(o.notes, n.notes) end, case when o.address is distinct from n.address then ',"address":' || json_build_array(o.address, n.address) end, case when o.city is distinct from n.city then ',"city":' || json_build_array(o.city, n.city) end, case when o.state is distinct from n.state then ',"state":' || json_build_array(o.state, n.state) end, case when o.zip is distinct from n.zip then ',"zip":' || json_build_array(o.zip, n.zip) end, case when o.ranking is distinct from n.ranking then ',"ranking":' || json_build_array(o.ranking, n.ranking) end, case when o.replicated_website is distinct from n.replicated_website then ',"replicated_website":' || json_build_array(o.replicated_website, n.replicated_website) end, case when o.sponsor is distinct from n.sponsor then ',"sponsor":' || json_build_array(o.sponsor, n.sponsor) end, case when o.upline is distinct from n.upline then ',"upline":' || json_build_array(o.upline, n.upline) end, case when o.status is distinct from n.status then ',"status":' || json_build_array(o.status, n.status) end, case when o.start_date is distinct from n.start_date then ',"start_date":' || json_build_array(o.start_date, n.start_date) end, case when o.language_used is distinct from n.language_used then ',"language_used":' || json_build_array(o.language_used, n.language_used) end, case when o.territory is distinct from n.territory then ',"territory":' || json_build_array(o.territory, n.territory) end, case when o.entrepreneur_id is distinct from n.entrepreneur_id then ',"entrepreneur_id":' || json_build_array(o.entrepreneur_id, n.entrepreneur_id) end, case when o.entrepreneur_spouse_id is distinct from n.entrepreneur_spouse_id then ',"entrepreneur_spouse_id":' || json_build_array(o.entrepreneur_spouse_id, n.entrepreneur_spouse_id) end, case when o.international_distributor is distinct from n.international_distributor then ',"international_distributor":' || json_build_array(o.international_distributor, n.international_distributor) end, case when o.is_territory_director is distinct from n.is_territory_director then ',"is_territory_director":' || json_build_array(o.is_territory_director, n.is_territory_director) end, case when o.jv_status is distinct from n.jv_status then ',"jv_status":' || json_build_array(o.jv_status, n.jv_status) end, case when o.league is distinct from n.league then ',"league":' || json_build_array(o.league, n.league) end, case when o.territory_master is distinct from n.territory_master then ',"territory_master":' || json_build_array(o.territory_master, n.territory_master) end, case when o.merchant_type is distinct from n.merchant_type then ',"merchant_type":' || json_build_array(o.merchant_type, n.merchant_type) end, case when o.company_name is distinct from n.company_name then ',"company_name":' || json_build_array(o.company_name, n.company_name) end, case when o.sponsor_id is distinct from n.sponsor_id then ',"sponsor_id":' || json_build_array(o.sponsor_id, n.sponsor_id) end, case when o.sponsor_email is distinct from n.sponsor_email then ',"sponsor_email":' || json_build_array(o.sponsor_email, n.sponsor_email) end, case when o.pay_rank is distinct from n.pay_rank then ',"pay_rank":' || json_build_array(o.pay_rank, n.pay_rank) end, case when o.recognition_rank is distinct from n.recognition_rank then ',"recognition_rank":' || json_build_array(o.recognition_rank, n.recognition_rank) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.client_affiliate_id is distinct from n.client_affiliate_id then ',"client_affiliate_id":' || json_build_array(o.client_affiliate_id, n.client_affiliate_id) end, case when o.affiliate_name is distinct from n.affiliate_name then ',"affiliate_name":' || json_build_array(o.affiliate_name, n.affiliate_name) end, case when o.email_one is distinct from n.email_one then ',"email_one":' || json_build_array(o.email_one, n.email_one) end, case when o.email_two is distinct from n.email_two then ',"email_two":' || json_build_array(o.email_two, n.email_two) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.facebook is distinct from n.facebook then ',"facebook":' || json_build_array(o.facebook, n.facebook) end, case when o.instagram is distinct from n.instagram then ',"instagram":' || json_build_array(o.instagram, n.instagram) end, case when o.youtube is distinct from n.youtube then ',"youtube":' || json_build_array(o.youtube, n.youtube) end, case when o.twitter is distinct from n.twitter then ',"twitter":' || json_build_array(o.twitter, n.twitter) end, case when o.tiktok is distinct from n.tiktok then ',"tiktok":' || json_build_array(o.tiktok, n.tiktok) end, case when o.pintrest is distinct from n.pintrest then ',"pintrest":' || json_build_array(o.pintrest, n.pintrest) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.first_name is distinct from n.first_name then ',"first_name":' || json_build_array(o.first_name, n.first_name) end, case when o.last_name is distinct from n.last_name then ',"last_name":' || json_build_array(o.last_name, n.last_name) end, case when o.notes is distinct from n.notes then ',"notes":' || json_build_array(o.notes, n.notes) end, case when o.address is distinct from n.address then ',"address":' || json_build_array(o.address, n.address) end, case when o.city is distinct from n.city then ',"city":' || json_build_array(o.city, n.city) end, case when o.state is distinct from n.state then ',"state":' || json_build_array(o.state, n.state) end, case when o.zip is distinct from n.zip then ',"zip":' || json_build_array(o.zip, n.zip) end, case when o.ranking is distinct from n.ranking then ',"ranking":' || json_build_array(o.ranking, n.ranking) end, case when o.replicated_website is distinct from n.replicated_website then ',"replicated_website":' || json_build_array(o.replicated_website, n.replicated_website) end, case when o.sponsor is distinct from n.sponsor then ',"sponsor":' || json_build_array(o.sponsor, n.sponsor) end, case when o.upline is distinct from n.upline then ',"upline":' || json_build_array(o.upline, n.upline) end, case when o.status is distinct from n.status then ',"status":' || json_build_array(o.status, n.status) end, case when o.start_date is distinct from n.start_date then ',"start_date":' || json_build_array(o.start_date, n.start_date) end, case when o.language_used is distinct from n.language_used then ',"language_used":' || json_build_array(o.language_used, n.language_used) end, case when o.territory is distinct from n.territory then ',"territory":' || json_build_array(o.territory, n.territory) end, case when o.entrepreneur_id is distinct from n.entrepreneur_id then ',"entrepreneur_id":' || json_build_array(o.entrepreneur_id, n.entrepreneur_id) end, case when o.entrepreneur_spouse_id is distinct from n.entrepreneur_spouse_id then ',"entrepreneur_spouse_id":' || json_build_array(o.entrepreneur_spouse_id, n.entrepreneur_spouse_id) end, case when o.international_distributor is distinct from n.international_distributor then ',"international_distributor":' || json_build_array(o.international_distributor, n.international_distributor) end, case when o.is_territory_director is distinct from n.is_territory_director then ',"is_territory_director":' || json_build_array(o.is_territory_director, n.is_territory_director) end, case when o.jv_status is distinct from n.jv_status then ',"jv_status":' || json_build_array(o.jv_status, n.jv_status) end, case when o.league is distinct from n.league then ',"league":' || json_build_array(o.league, n.league) end, case when o.territory_master is distinct from n.territory_master then ',"territory_master":' || json_build_array(o.territory_master, n.territory_master) end, case when o.merchant_type is distinct from n.merchant_type then ',"merchant_type":' || json_build_array(o.merchant_type, n.merchant_type) end, case when o.company_name is distinct from n.company_name then ',"company_name":' || json_build_array(o.company_name, n.company_name) end, case when o.sponsor_id is distinct from n.sponsor_id then ',"sponsor_id":' || json_build_array(o.sponsor_id, n.sponsor_id) end, case when o.sponsor_email is distinct from n.sponsor_email then ',"sponsor_email":' || json_build_array(o.sponsor_email, n.sponsor_email) end, case when o.pay_rank is distinct from n.pay_rank then ',"pay_rank":' || json_build_array(o.pay_rank, n.pay_rank) end, case when o.recognition_rank is distinct from n.recognition_rank then ',"recognition_rank":' || json_build_array(o.recognition_rank, n.recognition_rank) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_changes(public.change_entry[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_changes(entries public.change_entry[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
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


--
-- Name: record_changes_of(text, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_changes_of(recorded text, resource integer) RETURNS void
    LANGUAGE plpgsql
    AS $_$
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
$_$;


--
-- Name: record_compliance_cases(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_compliance_cases() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.case_worker is distinct from n.case_worker then ',"case_worker":' || json_build_array(o.case_worker, n.case_worker) end, case when o.tags is distinct from n.tags then ',"tags":' || json_build_array(o.tags, n.tags) end, case when o.case_status_id is distinct from n.case_status_id then ',"case_status_id":' || json_build_array(o.case_status_id, n.case_status_id) end, case when o.sub_status_id is distinct from n.sub_status_id then ',"sub_status_id":' || json_build_array(o.sub_status_id, n.sub_status_id) end, case when o.submitter is distinct from n.submitter then ',"submitter":' || json_build_array(o.submitter, n.submitter) end, case when o.notice_status_id is distinct from n.notice_status_id then ',"notice_status_id":' || json_build_array(o.notice_status_id, n.notice_status_id) end, case when o.risk_level_id is distinct from n.risk_level_id then ',"risk_level_id":' || json_build_array(o.risk_level_id, n.risk_level_id) end, case when o.case_country is distinct from n.case_country then ',"case_country":' || json_build_array(o.case_country, n.case_country) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end, case when o.reviewed_date is distinct from n.reviewed_date then ',"reviewed_date":' || json_build_array(o.reviewed_date, n.reviewed_date) end, case when o.resolved_date is distinct from n.resolved_date then ',"resolved_date":' || json_build_array(o.resolved_date, n.resolved_date) end, case when o.first_action_date is distinct from n.first_action_date then ',"first_action_date":' || json_build_array(o.first_action_date, n.first_action_date) end, case when o.flagged_date is distinct from n.flagged_date then ',"flagged_date":' || json_build_array(o.flagged_date, n.flagged_date) end, case when o.follow_up_date is distinct from n.follow_up_date then ',"follow_up_date":' || json_build_array(o.follow_up_date, n.follow_up_date) end, case when o.closed_date is distinct from n.closed_date then ',"closed_date":' || json_build_array(o.closed_date, n.closed_date) end, case when o.last_updated_date is distinct from n.last_updated_date then ',"last_updated_date":' || json_build_array(o.last_updated_date, n.last_updated_date) end, case when o.request_id is distinct from n.request_id then ',"request_id":' || json_build_array(o.request_id, n.request_id) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end, case when o.opened_with is distinct from n.opened_with then ',"opened_with":' || json_build_array(o.opened_with, n.opened_with) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.case_worker is distinct from n.case_worker then ',"case_worker":' || json_build_array(o.case_worker, n.case_worker) end, case when o.tags is distinct from n.tags then ',"tags":' || json_build_array(o.tags, n.tags) end, case when o.case_status_id is distinct from n.case_status_id then ',"case_status_id":' || json_build_array(o.case_status_id, n.case_status_id) end, case when o.sub_status_id is distinct from n.sub_status_id then ',"sub_status_id":' || json_build_array(o.sub_status_id, n.sub_status_id) end, case when o.submitter is distinct from n.submitter then ',"submitter":' || json_build_array(o.submitter, n.submitter) end, case when o.notice_status_id is distinct from n.notice_status_id then ',"notice_status_id":' || json_build_array(o.notice_status_id, n.notice_status_id) end, case when o.risk_level_id is distinct from n.risk_level_id then ',"risk_level_id":' || json_build_array(o.risk_level_id, n.risk_level_id) end, case when o.case_country is distinct from n.case_country then ',"case_country":' || json_build_array(o.case_country, n.case_country) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end, case when o.reviewed_date is distinct from n.reviewed_date then ',"reviewed_date":' || json_build_array(o.reviewed_date, n.reviewed_date) end, case when o.resolved_date is distinct from n.resolved_date then ',"resolved_date":' || json_build_array(o.resolved_date, n.resolved_date) end, case when o.first_action_date is distinct from n.first_action_date then ',"first_action_date":' || json_build_array(o.first_action_date, n.first_action_date) end, case when o.flagged_date is distinct from n.flagged_date then ',"flagged_date":' || json_build_array(o.flagged_date, n.flagged_date) end, case when o.follow_up_date is distinct from n.follow_up_date then ',"follow_up_date":' || json_build_array(o.follow_up_date, n.follow_up_date) end, case when o.closed_date is distinct from n.closed_date then ',"closed_date":' || json_build_array(o.closed_date, n.closed_date) end, case when o.last_updated_date is distinct from n.last_updated_date then ',"last_updated_date":' || json_build_array(o.last_updated_date, n.last_updated_date) end, case when o.request_id is distinct from n.request_id then ',"request_id":' || json_build_array(o.request_id, n.request_id) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end, case when o.opened_with is distinct from n.opened_with then ',"opened_with":' || json_build_array(o.opened_with, n.opened_with) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_compliance_urls(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_compliance_urls() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.url is distinct from n.url then ',"url":' || json_build_array(o.url, n.url) end, case when o.url_hash is distinct from n.url_hash then ',"url_hash":' || json_build_array(o.url_hash, n.url_hash) end, case when o.domain is distinct from n.domain then ',"domain":' || json_build_array(o.domain, n.domain) end, case when o.incident_status_id is distinct from n.incident_status_id then ',"incident_status_id":' || json_build_array(o.incident_status_id, n.incident_status_id) end, case when o.disabled is distinct from n.disabled then ',"disabled":' || json_build_array(o.disabled, n.disabled) end, case when o.false_positive is distinct from n.false_positive then ',"false_positive":' || json_build_array(o.false_positive, n.false_positive) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.discovery_date is distinct from n.discovery_date then ',"discovery_date":' || json_build_array(o.discovery_date, n.discovery_date) end, case when o.last_review_date is distinct from n.last_review_date then ',"last_review_date":' || json_build_array(o.last_review_date, n.last_review_date) end, case when o.last_crawl_date is distinct from n.last_crawl_date then ',"last_crawl_date":' || json_build_array(o.last_crawl_date, n.last_crawl_date) end, case when o.last_seen is distinct from n.last_seen then ',"last_seen":' || json_build_array(o.last_seen, n.last_seen) end, case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.owner_email is distinct from n.owner_email then ',"owner_email":' || json_build_array(o.owner_email, n.owner_email) end, case when o.social_one is distinct from n.social_one then ',"social_one":' || json_build_array(o.social_one, n.social_one) end, case when o.social_two is distinct from n.social_two then ',"social_two":' || json_build_array(o.social_two, n.social_two) end, case when o.social_three is distinct from n.social_three then ',"social_three":' || json_build_array(o.social_three, n.social_three) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.landing_page is distinct from n.landing_page then ',"landing_page":' || json_build_array(o.landing_page, n.landing_page) end, case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.note is distinct from n.note then ',"note":' || json_build_array(o.note, n.note) end, case when o.video_path is distinct from n.video_path then ',"video_path":' || json_build_array(o.video_path, n.video_path) end, case when o.transcription_text is distinct from n.transcription_text then ',"transcription_text":' || json_build_array(o.transcription_text, n.transcription_text) end, case when o.transcription_status_id is distinct from n.transcription_status_id then ',"transcription_status_id":' || json_build_array(o.transcription_status_id, n.transcription_status_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.url is distinct from n.url then ',"url":' || json_build_array(o.url, n.url) end, case when o.url_hash is distinct from n.url_hash then ',"url_hash":' || json_build_array(o.url_hash, n.url_hash) end, case when o.domain is distinct from n.domain then ',"domain":' || json_build_array(o.domain, n.domain) end, case when o.incident_status_id is distinct from n.incident_status_id then ',"incident_status_id":' || json_build_array(o.incident_status_id, n.incident_status_id) end, case when o.disabled is distinct from n.disabled then ',"disabled":' || json_build_array(o.disabled, n.disabled) end, case when o.false_positive is distinct from n.false_positive then ',"false_positive":' || json_build_array(o.false_positive, n.false_positive) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.discovery_date is distinct from n.discovery_date then ',"discovery_date":' || json_build_array(o.discovery_date, n.discovery_date) end, case when o.last_review_date is distinct from n.last_review_date then ',"last_review_date":' || json_build_array(o.last_review_date, n.last_review_date) end, case when o.last_crawl_date is distinct from n.last_crawl_date then ',"last_crawl_date":' || json_build_array(o.last_crawl_date, n.last_crawl_date) end, case when o.last_seen is distinct from n.last_seen then ',"last_seen":' || json_build_array(o.last_seen, n.last_seen) end, case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.owner_email is distinct from n.owner_email then ',"owner_email":' || json_build_array(o.owner_email, n.owner_email) end, case when o.social_one is distinct from n.social_one then ',"social_one":' || json_build_array(o.social_one, n.social_one) end, case when o.social_two is distinct from n.social_two then ',"social_two":' || json_build_array(o.social_two, n.social_two) end, case when o.social_three is distinct from n.social_three then ',"social_three":' || json_build_array(o.social_three, n.social_three) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.landing_page is distinct from n.landing_page then ',"landing_page":' || json_build_array(o.landing_page, n.landing_page) end, case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.note is distinct from n.note then ',"note":' || json_build_array(o.note, n.note) end, case when o.video_path is distinct from n.video_path then ',"video_path":' || json_build_array(o.video_path, n.video_path) end, case when o.transcription_text is distinct from n.transcription_text then ',"transcription_text":' || json_build_array(o.transcription_text, n.transcription_text) end, case when o.transcription_status_id is distinct from n.transcription_status_id then ',"transcription_status_id":' || json_build_array(o.transcription_status_id, n.transcription_status_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_incidents(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_incidents() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.incident_type is distinct from n.incident_type then ',"incident_type":' || json_build_array(o.incident_type, n.incident_type) end, case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.reference is distinct from n.reference then ',"reference":' || json_build_array(o.reference, n.reference) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.incident_type is distinct from n.incident_type then ',"incident_type":' || json_build_array(o.incident_type, n.incident_type) end, case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.reference is distinct from n.reference then ',"reference":' || json_build_array(o.reference, n.reference) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_infractions(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_infractions() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_vocabulary_entries(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_vocabulary_entries() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_entry[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.vocabulary is distinct from n.vocabulary then ',"vocabulary":' || json_build_array(o.vocabulary, n.vocabulary) end, case when o.name is distinct from n.name then ',"name":' || json_build_array(o.name, n.name) end, case when o.parent_id is distinct from n.parent_id then ',"parent_id":' || json_build_array(o.parent_id, n.parent_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.vocabulary is distinct from n.vocabulary then ',"vocabulary":' || json_build_array(o.vocabulary, n.vocabulary) end, case when o.name is distinct from n.name then ',"name":' || json_build_array(o.name, n.name) end, case when o.parent_id is distinct from n.parent_id then ',"parent_id":' || json_build_array(o.parent_id, n.parent_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform record_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid())::change_entry as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, r::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform record_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: set_case_of_urls(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.set_case_of_urls() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
declare
    changed record;
begin
    for changed in
        select company_id, array_agg(distinct url_id) as url_ids
        from changed_rows where url_id is not null
        group by company_id order by company_id
    loop
        perform change_case_of_urls(changed.company_id, changed.url_ids);
    end loop;
    return null;
end
$$;


--
-- Name: utc_day(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.utc_day(instant timestamp with time zone) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((instant AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date);


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: _sqlx_migrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public._sqlx_migrations (
    version bigint NOT NULL,
    description text NOT NULL,
    installed_on timestamp with time zone DEFAULT now() NOT NULL,
    success boolean NOT NULL,
    checksum bytea NOT NULL,
    execution_time bigint NOT NULL
);


--
-- Name: affiliates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.affiliates (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    client_affiliate_id text NOT NULL COLLATE pg_catalog."C",
    affiliate_name text NOT NULL COLLATE pg_catalog."C",
    email_one text,
    email_two text,
    phone_one text,
    phone_two text,
    facebook text,
    instagram text,
    youtube text,
    twitter text,
    tiktok text,
    pintrest text,
    country smallint,
    first_name text,
    last_name text,
    notes text,
    address text,
    city text,
    state text,
    zip text,
    ranking text,
    replicated_website text,
    sponsor text,
    upline text,
    status text,
    start_date date,
    language_used text,
    territory text,
    entrepreneur_id text,
    entrepreneur_spouse_id text,
    international_distributor text,
    is_territory_director text,
    jv_status text,
    league text,
    territory_master text,
    merchant_type text,
    company_name text,
    sponsor_id text,
    sponsor_email text,
    pay_rank text,
    recognition_rank text,
    revision bigint DEFAULT 1 NOT NULL,
    CONSTRAINT affiliates_company_id_check CHECK ((company_id > 0))
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000');


--
-- Name: affiliates_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.affiliates_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: affiliates_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.affiliates_id_seq OWNED BY public.affiliates.id;


--
-- Name: change_positions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.change_positions (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    digest bytea DEFAULT '\x'::bytea NOT NULL,
    hash bytea DEFAULT '\x'::bytea NOT NULL,
    dropped_position bigint DEFAULT 0 NOT NULL,
    dropped_hash bytea
)
WITH (fillfactor='60', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');


--
-- Name: changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    resource smallint NOT NULL,
    columns smallint NOT NULL,
    operation smallint NOT NULL,
    ids bigint[] NOT NULL,
    records text[] NOT NULL,
    changed_by jsonb,
    hash bytea DEFAULT '\x'::bytea NOT NULL,
    key uuid,
    erased_digest bytea
)
PARTITION BY RANGE (changed_at);
ALTER TABLE ONLY public.changes ALTER COLUMN records SET COMPRESSION lz4;


--
-- Name: changes_default; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes_default (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    resource smallint NOT NULL,
    columns smallint NOT NULL,
    operation smallint NOT NULL,
    ids bigint[] NOT NULL,
    records text[] NOT NULL,
    changed_by jsonb,
    hash bytea DEFAULT '\x'::bytea NOT NULL,
    key uuid,
    erased_digest bytea
);
ALTER TABLE ONLY public.changes_default ALTER COLUMN records SET COMPRESSION lz4;


--
-- Name: changes_y2026m11; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes_y2026m11 (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    resource smallint NOT NULL,
    columns smallint NOT NULL,
    operation smallint NOT NULL,
    ids bigint[] NOT NULL,
    records text[] NOT NULL,
    changed_by jsonb,
    hash bytea DEFAULT NULL NOT NULL,
    key uuid,
    erased_digest bytea
);
ALTER TABLE ONLY public.changes_y2026m11 ALTER COLUMN records SET COMPRESSION lz4;


--
-- Name: changes_y2026m12; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.changes_y2026m12 (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    resource smallint NOT NULL,
    columns smallint NOT NULL,
    operation smallint NOT NULL,
    ids bigint[] NOT NULL,
    records text[] NOT NULL,
    changed_by jsonb,
    hash bytea DEFAULT NULL NOT NULL,
    key uuid,
    erased_digest bytea
);
ALTER TABLE ONLY public.changes_y2026m12 ALTER COLUMN records SET COMPRESSION lz4;


--
-- Name: compliance_case_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compliance_case_counts (
    company_id bigint NOT NULL,
    dimension public.count_dimension NOT NULL,
    bucket bigint NOT NULL,
    case_status_id integer NOT NULL,
    n bigint NOT NULL,
    first_day integer NOT NULL,
    last_day integer NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000', autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: compliance_cases; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compliance_cases (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    affiliate_id bigint NOT NULL,
    case_worker text,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    case_status_id integer DEFAULT 1 NOT NULL,
    sub_status_id integer,
    submitter text,
    notice_status_id integer,
    risk_level_id integer,
    case_country smallint,
    sub_affiliate_id text,
    created_date timestamp with time zone DEFAULT date_trunc('second'::text, now()) NOT NULL,
    reviewed_date timestamp with time zone,
    resolved_date timestamp with time zone,
    first_action_date timestamp with time zone,
    flagged_date timestamp with time zone,
    follow_up_date timestamp with time zone,
    closed_date timestamp with time zone,
    last_updated_date timestamp with time zone,
    request_id text COLLATE pg_catalog."C",
    revision bigint DEFAULT 1 NOT NULL,
    opened_with bytea,
    CONSTRAINT compliance_cases_company_id_check CHECK ((company_id > 0))
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000');


--
-- Name: compliance_cases_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.compliance_cases_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: compliance_cases_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.compliance_cases_id_seq OWNED BY public.compliance_cases.id;


--
-- Name: compliance_url_counts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compliance_url_counts (
    company_id bigint NOT NULL,
    dimension public.count_dimension NOT NULL,
    bucket bigint NOT NULL,
    incident_status_id integer NOT NULL,
    disabled boolean NOT NULL,
    n bigint NOT NULL,
    n_without_last_review_date bigint NOT NULL,
    n_without_last_seen bigint NOT NULL,
    first_day integer NOT NULL,
    last_day integer NOT NULL
)
WITH (fillfactor='60', autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000', autovacuum_vacuum_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');


--
-- Name: compliance_urls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.compliance_urls (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    url text NOT NULL,
    url_hash bytea NOT NULL,
    domain text,
    incident_status_id integer DEFAULT 1 NOT NULL,
    disabled boolean DEFAULT false NOT NULL,
    false_positive boolean,
    country smallint,
    discovery_date timestamp with time zone DEFAULT date_trunc('second'::text, now()) NOT NULL,
    last_review_date timestamp with time zone,
    last_crawl_date timestamp with time zone,
    last_seen timestamp with time zone,
    affiliate_id bigint,
    sub_affiliate_id text,
    owner_email text,
    social_one text,
    social_two text,
    social_three text,
    phone_one text,
    phone_two text,
    landing_page text,
    case_id bigint,
    note text,
    video_path text,
    transcription_text text,
    transcription_status_id integer,
    CONSTRAINT compliance_urls_company_id_check CHECK ((company_id > 0))
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000');


--
-- Name: compliance_urls_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.compliance_urls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: compliance_urls_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.compliance_urls_id_seq OWNED BY public.compliance_urls.id;


--
-- Name: incidents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.incidents (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    case_id bigint NOT NULL,
    incident_type smallint NOT NULL,
    url_id bigint,
    reference text COLLATE pg_catalog."C",
    infraction_type_id integer,
    infraction_name_id integer,
    CONSTRAINT incidents_type_check CHECK (((incident_type >= 1) AND (incident_type <= 4))),
    CONSTRAINT incidents_url_check CHECK (((incident_type = 1) = (url_id IS NOT NULL)))
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000');


--
-- Name: incidents_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.incidents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: incidents_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.incidents_id_seq OWNED BY public.incidents.id;


--
-- Name: infractions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.infractions (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    url_id bigint NOT NULL,
    infraction_type_id integer,
    infraction_name_id integer,
    created_date timestamp with time zone DEFAULT date_trunc('second'::text, now()) NOT NULL
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_analyze_threshold='1000');


--
-- Name: infractions_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.infractions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: infractions_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.infractions_id_seq OWNED BY public.infractions.id;


--
-- Name: vocabulary_entries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.vocabulary_entries (
    company_id bigint NOT NULL,
    vocabulary smallint NOT NULL,
    id integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    parent_id integer,
    CONSTRAINT vocabulary_entries_company_id_check CHECK ((company_id > 0)),
    CONSTRAINT vocabulary_entries_id_check CHECK ((id >= 1000))
);


--
-- Name: vocabulary_entries_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.vocabulary_entries_id_seq
    AS integer
    START WITH 1000
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: vocabulary_entries_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.vocabulary_entries_id_seq OWNED BY public.vocabulary_entries.id;


--
-- Name: webhook_deliveries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhook_deliveries (
    company_id bigint NOT NULL,
    webhook_id bigint NOT NULL,
    number bigint NOT NULL,
    message_id text NOT NULL,
    after bigint NOT NULL,
    "position" bigint NOT NULL,
    attempt bigint NOT NULL,
    started_at timestamp with time zone NOT NULL,
    duration_ms bigint NOT NULL,
    http_status bigint,
    error text
);


--
-- Name: webhooks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.webhooks (
    company_id bigint NOT NULL,
    id bigint NOT NULL,
    url text NOT NULL,
    types text[] NOT NULL,
    description text,
    secret text NOT NULL,
    previous_secrets text[] DEFAULT '{}'::text[] NOT NULL,
    previous_secret_until timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    "position" bigint NOT NULL,
    message_after bigint DEFAULT 0 NOT NULL,
    message_id text,
    message_to bigint,
    attempts bigint DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    is_slow boolean DEFAULT false NOT NULL,
    next_attempt_at timestamp with time zone DEFAULT now() NOT NULL,
    leased_until timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    deliveries bigint DEFAULT 0 NOT NULL,
    disabled_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhooks_company_id_check CHECK ((company_id > 0))
)
WITH (fillfactor='60', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');


--
-- Name: webhooks_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.webhooks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: webhooks_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.webhooks_id_seq OWNED BY public.webhooks.id;


--
-- Name: changes_default; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes ATTACH PARTITION public.changes_default DEFAULT;


--
-- Name: changes_y2026m11; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes ATTACH PARTITION public.changes_y2026m11 FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00');


--
-- Name: changes_y2026m12; Type: TABLE ATTACH; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes ATTACH PARTITION public.changes_y2026m12 FOR VALUES FROM ('2026-12-01 00:00:00+00') TO ('2027-01-01 00:00:00+00');


--
-- Name: affiliates id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.affiliates ALTER COLUMN id SET DEFAULT nextval('public.affiliates_id_seq'::regclass);


--
-- Name: compliance_cases id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_cases ALTER COLUMN id SET DEFAULT nextval('public.compliance_cases_id_seq'::regclass);


--
-- Name: compliance_urls id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_urls ALTER COLUMN id SET DEFAULT nextval('public.compliance_urls_id_seq'::regclass);


--
-- Name: incidents id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incidents ALTER COLUMN id SET DEFAULT nextval('public.incidents_id_seq'::regclass);


--
-- Name: infractions id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.infractions ALTER COLUMN id SET DEFAULT nextval('public.infractions_id_seq'::regclass);


--
-- Name: vocabulary_entries id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.vocabulary_entries ALTER COLUMN id SET DEFAULT nextval('public.vocabulary_entries_id_seq'::regclass);


--
-- Name: webhooks id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks ALTER COLUMN id SET DEFAULT nextval('public.webhooks_id_seq'::regclass);


--
-- Data for Name: _sqlx_migrations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public._sqlx_migrations VALUES
	(20261121000001, 'affiliates', '2026-11-26 18:43:07.719215+00', true, '\xa73a7932f0b9d45834f584555c90ff782d031f901fa241ba6289fd2b0383172e932b645b876d378b3621333bd222127f', 9366350),
	(20261121000002, 'vocabulary', '2026-11-26 18:43:07.731035+00', true, '\x2ed15674436407c4291518c4e8312a519a5eca4138e80014e1249c722a6362fada5237d6dd730d9e3982eeb8e438682d', 5075537),
	(20261121000003, 'compliance cases', '2026-11-26 18:43:07.737277+00', true, '\x8044d1b9e859ac6e4fa5f7c01c74d567b376d81403af5c4fad28036f4618cef70c7bd53fb413c3edb9551c04489dacdf', 12067032),
	(20261121000004, 'compliance urls', '2026-11-26 18:43:07.751099+00', true, '\x6ddf184ffb1b8314d720005a9dc566aa65d98c1d13a61a447abe7caafeca5cae6393f2408a92e554b3ece9a5d90246d5', 19071568),
	(20261121000005, 'counts', '2026-11-26 18:43:07.771588+00', true, '\x2c2460e1745b4d5f5318f953b705447d9ef9be161c1b314c0886b7d508c325c2f73df218994164c6ec21fc42e475c5b2', 6131714),
	(20261121000006, 'monitoring', '2026-11-26 18:43:07.778807+00', true, '\x5f93b51389b2ac0a188f9364e3e49a10bb3228228ff0a9b7fb86b0c6895ddd5f654fbe8eec205149efe5c749a6bd36c0', 1872223),
	(20261121000007, 'affiliate input', '2026-11-26 18:43:07.781694+00', true, '\xc9845fe42b3a0f3334c305ff3fcabf9e2cdc1ee08adab7d9b1e4a17a16c122ce79b2444e8e8fb1725f6139e68a524c4f', 855260),
	(20261121000008, 'monitoring input', '2026-11-26 18:43:07.783428+00', true, '\x99d6cc1c73d94e06a5714d409ca149bebcc5276d3845c58e01bc304c8b860cc8fc2ead93ef7184dde70c85237be3d08f', 1661515),
	(20261124000010, 'etags', '2026-11-26 18:43:07.786109+00', true, '\x25fd831f178599ace83a39942cca36e06e7276bcec18fcb91cd4926ef68c810811da3fc27439563f98cf9f9cdeeb4b61', 1579057),
	(20261125000001, 'trigger functions', '2026-11-26 18:43:07.788634+00', true, '\x7d8331aa072ad714dbba0946b417d3ec75dfbae8a886254c255882baaaf66fef31cffdc738b145e57fdfbcd32d2b886d', 1865412),
	(20261125000002, 'coarsest buckets', '2026-11-26 18:43:07.791647+00', true, '\x78ddad91bea7e311bce104fbe95c45eb29df998f7305a2dece157da1289aec763e75cb541d6f2ab9fefd0e3624cc00a9', 462722),
	(20261125000003, 'count coarsest buckets', '2026-11-26 18:43:07.793216+00', true, '\x27c76cee65018e134d71f2c67afe67fced7fd0af842bad57760d8249066a06a9e0e90dba959112b8dad9e7a427daeb07', 786025),
	(20261125000004, 'fill coarsest buckets of urls', '2026-11-26 18:43:07.796132+00', true, '\x3e165a8a9b3129f2ec54be3764954273b12063da3333243bc1cd670263fa47eabf9925d9798111ddd7639514cdc8772b', 1239716),
	(20261125000005, 'fill coarsest buckets of cases', '2026-11-26 18:43:07.79835+00', true, '\x26ea79dfaf06ced6ec48462c72cfee62727f80a1a0a1a94f43ba8f736de961428c57912dba21f3f0fa1c59b3ba7e21cd', 845028),
	(20261126000001, 'changes', '2026-11-26 18:43:07.799725+00', true, '\x1dc71712e0cac3b64c8df5ce7f029941ab51c64ec49f45ea0a27d311932924a181f256b6e57671606eb7b9b2e73c1a77', 35528439),
	(20261127000030, 'change records', '2026-11-26 18:43:07.838073+00', true, '\xbea03a6835a5cceee768787519023a6204264c4ae164a658c53959fcc1c96b5d1cefadbb4938afc7744b7744d83287a9', 8978166),
	(20261127000040, 'erasure', '2026-11-26 18:43:07.84855+00', true, '\x4d242f89868629efb4e1d6fbfdc117f1cc1e6d9c5c0ee67b4ec63b85d1392e62d3dd8b770d8cadcbf2f2ed1e87b66a99', 15921596),
	(20261127000050, 'webhooks', '2026-11-26 18:43:07.866024+00', true, '\x7194023226ab201f1ac1d8b9749919f5a0d15dd565132c9b3b40e9a7f240b3389337907058115e75d1eb895121d02be4', 9447140);


--
-- Data for Name: affiliates; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.affiliates VALUES
	(101, 3, 'first-1', 'first Nàme 1 🌐 \ "quoted"	', 'first.1@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 4, 'first-2', 'first Nàme 2 🌐 \ "quoted"	', 'first.2@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 5, 'first-3', 'first Nàme 3 🌐 \ "quoted"	', 'first.3@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 6, 'first-4', 'first Nàme 4 🌐 \ "quoted"	', 'first.4@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 1, 'first affiliate', 'first affiliate 1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(101, 2, 'first-0', 'first renamed', 'first.0@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(102, 9, 'first-1', 'first Nàme 1 🌐 \ "quoted"	', 'first.1@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(102, 10, 'first-2', 'first Nàme 2 🌐 \ "quoted"	', 'first.2@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(102, 11, 'first-3', 'first Nàme 3 🌐 \ "quoted"	', 'first.3@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(102, 12, 'first-4', 'first Nàme 4 🌐 \ "quoted"	', 'first.4@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(102, 7, 'first affiliate', 'first affiliate 1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(102, 8, 'first-0', 'first renamed', 'first.0@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'first affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(101, 15, 'second-1', 'second Nàme 1 🌐 \ "quoted"	', 'second.1@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'second affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 16, 'second-2', 'second Nàme 2 🌐 \ "quoted"	', 'second.2@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'second affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 17, 'second-3', 'second Nàme 3 🌐 \ "quoted"	', 'second.3@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'second affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 18, 'second-4', 'second Nàme 4 🌐 \ "quoted"	', 'second.4@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'second affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
	(101, 13, 'second affiliate', 'second affiliate 1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(101, 14, 'second-0', 'second renamed', 'second.0@example.org', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 276, NULL, NULL, NULL, NULL, 'Zürich', NULL, NULL, NULL, NULL, NULL, 'second affiliate', 'active', '2024-02-29', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2),
	(101, 20, 'hand', 'By hand', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'a, (b) "c" \ d
e', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2024-01-02', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1);


--
-- Data for Name: change_positions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.change_positions VALUES
	(102, 70, '2026-11-26 18:43:08.393861+00', '\x3294c13f179c83a793b9ccec10569d903b5701adb6fa86f6540a1ea1d7759b82', '\x852579386c726945f6a1f779bf3e217ced7feaa883d53055372ea55e4c65ddd8', 0, NULL),
	(101, 162, '2026-11-26 18:43:12.543523+00', '\xcff5db3236e7701a494ffa351335881e3006ecb05e61dbb29fd4be18567781ab', '\x833f10b6b9cfddb4d50eeaae3995538c11ace0d44dfea41b319308f77d8b122d', 0, NULL);


--
-- Data for Name: changes_default; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: changes_y2026m11; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.changes_y2026m11 VALUES
	(101, 1, '2026-11-26 18:43:08.153707+00', 1, 44, 1, '{1}', '{"(101,1,\"first affiliate\",\"first affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x5596d316375391035376ee03275869d1c088c793d7a04185c43eeecd16a8569e', '9e1c2c64-1e8a-4c5d-bf27-48497d85d4fa', NULL),
	(101, 6, '2026-11-26 18:43:08.17601+00', 1, 44, 1, '{2,3,4,5,6}', '{"(101,2,first-0,\"first Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",first.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,3,first-1,\"first Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",first.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,4,first-2,\"first Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",first.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,5,first-3,\"first Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",first.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,6,first-4,\"first Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",first.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xc862d7fa272948318aea52b84d48cb68c3fc80ec5807d098c427e474ed692b82', 'ac2433f2-597d-42c3-941a-dba124f26355', NULL),
	(101, 8, '2026-11-26 18:43:08.188262+00', 1, 44, 2, '{1,2}', '{",\"affiliate_name\":[\"first affiliate\", \"first affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"first Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"first renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\x6d2bf4476f177fb9d9dd0d41f6cfe40ab5bbaa91c4561ddfca707cb5c6a66d22', '15f7edd6-aefc-4810-88bc-74c2625ad70c', NULL),
	(101, 18, '2026-11-26 18:43:08.19635+00', 2, 27, 1, '{6,8,5,2,1,9,10,4,7,3}', '{"(101,6,https://example.org/first/5,\"\\\\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,8,https://example.org/first/7,\"\\\\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,5,https://example.org/first/4,\"\\\\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,2,https://example.org/first/1,\"\\\\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,1,https://example.org/first/0,\"\\\\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,9,https://example.org/first/8,\"\\\\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,10,https://example.org/first/9,\"\\\\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,4,https://example.org/first/3,\"\\\\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,7,https://example.org/first/6,\"\\\\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(101,3,https://example.org/first/2,\"\\\\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\x4dd9783e77c9a157a492c83456a6e28bb4dda8e3df9442f8534bfd5b8f028e67', '425aae08-7745-49db-b809-3114e94f3dfc', NULL),
	(101, 21, '2026-11-26 18:43:08.20889+00', 6, 5, 1, '{1000,1001,1002}', '{"(101,4,1000,\"first risk\",)","(101,7,1001,\"first type\",)","(101,8,1002,\"first infraction\",1001)"}', '[null, null]', '\x018285681bb822c977c37fe261143a37330e2447a5da096ffce93ad2b8e14459', 'aba96215-7dc1-42ed-92a7-f4e7336735fc', NULL),
	(101, 33, '2026-11-26 18:43:08.23022+00', 3, 6, 1, '{1,2,3,4,5,6,7,8,9,10,11,12}', '{"(101,1,6,1001,1002,\"2026-11-26 18:43:08+00\")","(101,2,6,4,11,\"2026-11-26 18:43:08+00\")","(101,3,5,1001,1002,\"2026-11-26 18:43:08+00\")","(101,4,5,4,11,\"2026-11-26 18:43:08+00\")","(101,5,2,1001,1002,\"2026-11-26 18:43:08+00\")","(101,6,2,4,11,\"2026-11-26 18:43:08+00\")","(101,7,1,1001,1002,\"2026-11-26 18:43:08+00\")","(101,8,1,4,11,\"2026-11-26 18:43:08+00\")","(101,9,4,1001,1002,\"2026-11-26 18:43:08+00\")","(101,10,4,4,11,\"2026-11-26 18:43:08+00\")","(101,11,3,1001,1002,\"2026-11-26 18:43:08+00\")","(101,12,3,4,11,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\x1c3a0dab67637412b06f65fe087f7df3d65f43d2ed54d9b50bec2309f4c37796', '22624232-dec1-45cb-ab63-3d54e84dcb1f', NULL),
	(101, 39, '2026-11-26 18:43:08.232497+00', 2, 27, 2, '{6,5,2,1,4,3}', '{",\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 3]"}', '[null, null]', '\xfa8f33d7ed517e70c91dcd1b52f30f7f2dea3e047e406c251bc6236eeb2e72e5', 'd90b254b-bd7e-4a43-a546-275629bb982b', NULL),
	(101, 40, '2026-11-26 18:43:08.238755+00', 2, 27, 2, '{2}', '{",\"country\":[276, null]"}', '[null, null]', '\x11a365a606198614cda71b82fdaa40813c60ba037e49ff891acc0583525f0915', '4b655bf9-0a95-46c5-ab5b-64bcbaa087e4', NULL),
	(101, 42, '2026-11-26 18:43:08.243707+00', 3, 6, 1, '{13,14}', '{"(101,13,9,1001,1002,\"2026-11-26 18:43:08+00\")","(101,14,10,1001,1002,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\xe31ff334c9dc9cfc62e3758d981fcb67900a584d6d4a4632269514db794b9ab0', '25308759-87b6-4d37-bf32-2c59e93cacb8', NULL),
	(101, 43, '2026-11-26 18:43:08.248616+00', 3, 6, 3, '{14}', '{"(101,14,10,1001,1002,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\xcdeb666ffffe8f8fc3fb247835d9d407ee9091d87c6fd53f5db57485bda1f24b', '97a475d7-66d6-4c78-8ff4-850848048aa7', NULL),
	(101, 44, '2026-11-26 18:43:08.262779+00', 4, 23, 1, '{1}', '{"(101,1,2,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 0\",1,\"\\\\x01ec0ad6cf833efef39c\")"}', '[null, null]', '\x90a1dc43176a01418c87724f9a91211eddcdde83e0fed6ad91a99f705795c39b', 'b95308e3-2346-4ebf-8f67-68d038eda4f2', NULL),
	(101, 46, '2026-11-26 18:43:08.266438+00', 5, 8, 1, '{1,2}', '{"(101,1,1,1,1,,,)","(101,2,1,2,,form,,)"}', '[null, null]', '\x07683f25c5a6412fad9d49e3b35a6a01aa4138055ece5d686e241bc154b039a5', 'fab276cf-2e62-4e40-8d23-ec9f8049e04b', NULL),
	(101, 47, '2026-11-26 18:43:08.268591+00', 2, 27, 2, '{1}', '{",\"case_id\":[null, 1]"}', '[null, null]', '\xb96fdfcd0c9d99eef1047910c13d3d24b30c41426dc07e088311ced7e1956849', 'd206785d-9131-4398-9d28-bae48b0bbca5', NULL),
	(101, 48, '2026-11-26 18:43:08.273885+00', 4, 23, 1, '{2}', '{"(101,2,3,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 1\",1,\"\\\\x01ea8d47f2839ced1a33\")"}', '[null, null]', '\x09b8a28520e004b8dda05af5ccb29a46021c9db715ed6d14d36deb6c99f7922a', '7b7e90d5-aba5-43b1-860f-d922db353388', NULL),
	(101, 50, '2026-11-26 18:43:08.274315+00', 5, 8, 1, '{3,4}', '{"(101,3,2,1,2,,,)","(101,4,2,2,,form,,)"}', '[null, null]', '\x3d2d8a16d3c1a18eb3c3e7089d68d697ab1b5c6a1cc23963e7dcb2a2559bbb93', '1482432a-7e01-4e2c-9fa3-a74701c0ce3c', NULL),
	(101, 51, '2026-11-26 18:43:08.274698+00', 2, 27, 2, '{2}', '{",\"case_id\":[null, 2]"}', '[null, null]', '\xf22a13201c751687e4638a422e1e6e1e69d554691e64c9848048694784d8d183', '79818562-3278-4fe9-aecb-99ef7f844de0', NULL),
	(101, 52, '2026-11-26 18:43:08.278524+00', 4, 23, 1, '{3}', '{"(101,3,4,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 2\",1,\"\\\\x01177f3d1e8300e300ba\")"}', '[null, null]', '\xa62d19ce65b1d01858132f4c5e3edb786fb016591ea9be4038c11393e038bd0b', 'b1aecdf7-b0b3-47a8-ad10-1f581226991d', NULL),
	(101, 54, '2026-11-26 18:43:08.278869+00', 5, 8, 1, '{5,6}', '{"(101,5,3,1,3,,,)","(101,6,3,2,,form,,)"}', '[null, null]', '\xab9026b7bc295dc96093a4bc8da793d88197fefe01bb808ca8784fae0fa03a76', 'e580b654-4e1f-4248-be39-1e8a4ea7d011', NULL),
	(101, 55, '2026-11-26 18:43:08.280395+00', 2, 27, 2, '{3}', '{",\"case_id\":[null, 3]"}', '[null, null]', '\x1ee23b6f56b7a415cc92dcc0f7365683f705e04da7f7b4960eda1f88e1228b20', 'da8673cc-964b-432b-a8f8-0ef0b9bf048a', NULL),
	(101, 56, '2026-11-26 18:43:08.284768+00', 4, 23, 1, '{4}', '{"(101,4,5,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 3\",1,\"\\\\x01899d03688312b3a32c\")"}', '[null, null]', '\x6d7a494b5c0aff6fa6d49d80ccbb1dfae6d9c252bb27ef0d69b8683a9cb21b5a', '388fd92d-a0fa-4352-a0d7-dbe80607d3a9', NULL),
	(101, 58, '2026-11-26 18:43:08.285264+00', 5, 8, 1, '{7,8}', '{"(101,7,4,1,4,,,)","(101,8,4,2,,form,,)"}', '[null, null]', '\x49672794adf6aa7fc2b62fe4819b7c73d56a708f82b4ae029d62985c0eb993c2', '4acb0819-f4e7-41c4-b41d-0b4fd70dca9a', NULL),
	(101, 59, '2026-11-26 18:43:08.285752+00', 2, 27, 2, '{4}', '{",\"case_id\":[null, 4]"}', '[null, null]', '\x65227bef37de47fe0b07cb2ab2acb32811760877bf97be6a7315ff41fc267c3c', 'd919fd61-787a-4c02-b7ed-8736ea0ced41', NULL),
	(101, 60, '2026-11-26 18:43:08.292591+00', 4, 23, 2, '{1}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1000],\"revision\":[1, 2]"}', '[null, null]', '\x2df9f78340da40b5404f2468cf4d0488c0bfc75df90a1c22d8afc7fba03a6837', 'ebd84252-c8fd-4beb-9799-8f7d664ee326', NULL),
	(101, 62, '2026-11-26 18:43:08.300886+00', 5, 8, 1, '{9,10}', '{"(101,9,2,1,5,,,)","(101,10,2,1,6,,,)"}', '[null, null]', '\xe8f25c932a4847fe48c0b5b70856e9edae2e0eef00010b7bec96ea3503049ac7', '2a026e57-aef3-493a-8338-2a7e31a427aa', NULL),
	(101, 64, '2026-11-26 18:43:08.301799+00', 2, 27, 2, '{5,6}', '{",\"case_id\":[null, 2]",",\"case_id\":[null, 2]"}', '[null, null]', '\x9940479bb8214b789e455c667bc4c8c871ac8e2d329874908134c1852a098344', '6761e5ba-f71a-4a26-9711-8ad08775229b', NULL),
	(101, 65, '2026-11-26 18:43:08.302383+00', 4, 23, 2, '{2}', '{",\"first_action_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x110fd60cd5b277676d7e49907d905ba6385881523d4d22573d281e441ab69cbb', '2e8c37a7-278e-4375-9e53-71317b95e907', NULL),
	(101, 66, '2026-11-26 18:43:08.309953+00', 5, 8, 3, '{4}', '{"(101,4,2,2,,form,,)"}', '[null, null]', '\x7cebff1bd0e79fa08d4b15304fcb54674c2a2c1af4e1f37b69e0502f6970edd1', 'b947a162-f416-45dd-9e47-af8adc14bbbc', NULL),
	(101, 67, '2026-11-26 18:43:08.310503+00', 4, 23, 2, '{2}', '{",\"revision\":[2, 3]"}', '[null, null]', '\x57a2bdabcb9480ddccbefe4ac3dc8cf4edf77230589a4f10abba5b6371cbcdb9', 'ef6bc103-fe27-4fc2-9c54-290d4524b894', NULL),
	(101, 68, '2026-11-26 18:43:08.313936+00', 4, 23, 2, '{2}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"resolved_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\xdb9249f5797361fa21a0d0a7639d632c869d5096b3270c1b8622701d57c1b873', '312bbf5d-bae7-4782-babf-4b16216bfa08', NULL),
	(101, 69, '2026-11-26 18:43:08.31702+00', 4, 23, 2, '{3}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"first_action_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"closed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x5f0651a9dfaf184da526fdb1f4d555aa1765840949329c51d51ca989c00ec606', '44413d1f-fc88-46b1-93df-9738642d3bf3', NULL),
	(101, 70, '2026-11-26 18:43:08.320219+00', 4, 23, 2, '{3}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-26T18:43:08+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x44cf59c70d94a369c2cf1c71cc4def1afe9710b87e777876cc75a9a84719ddf4', '83d21826-3ba4-4745-8fdd-bf04f28af7bc', NULL),
	(102, 6, '2026-11-26 18:43:08.328005+00', 1, 44, 1, '{8,9,10,11,12}', '{"(102,8,first-0,\"first Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",first.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,9,first-1,\"first Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",first.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,10,first-2,\"first Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",first.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,11,first-3,\"first Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",first.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,12,first-4,\"first Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",first.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xf15302ea2258a3cb16c4c2431952a836062356f9f2eea5b4617ba1f3a33a109f', '624f912e-8485-4c99-8829-02a4856984c2', NULL),
	(102, 8, '2026-11-26 18:43:08.331218+00', 1, 44, 2, '{7,8}', '{",\"affiliate_name\":[\"first affiliate\", \"first affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"first Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"first renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\x82a2f8b5ca3e5b577afd0b414f926185e597b7a8aa552fc20ae71601271e7281', '7478fd68-fd36-43f4-9152-b2ec44b9d12a', NULL),
	(102, 18, '2026-11-26 18:43:08.334412+00', 2, 27, 1, '{16,18,15,12,11,19,20,14,17,13}', '{"(102,16,https://example.org/first/5,\"\\\\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,18,https://example.org/first/7,\"\\\\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,15,https://example.org/first/4,\"\\\\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,12,https://example.org/first/1,\"\\\\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,11,https://example.org/first/0,\"\\\\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,19,https://example.org/first/8,\"\\\\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,20,https://example.org/first/9,\"\\\\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,14,https://example.org/first/3,\"\\\\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,17,https://example.org/first/6,\"\\\\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)","(102,13,https://example.org/first/2,\"\\\\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f\",example.org,1,f,,,\"2026-11-26 18:43:08+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\xb5d3b5add735d75fadc69d2b38d6b1dd440773ae655a5503e21551814ce9fa5e', '6a2f3ddd-c504-467d-bdaa-ce1f0a99c453', NULL),
	(102, 21, '2026-11-26 18:43:08.337356+00', 6, 5, 1, '{1003,1004,1005}', '{"(102,4,1003,\"first risk\",)","(102,7,1004,\"first type\",)","(102,8,1005,\"first infraction\",1004)"}', '[null, null]', '\x248b54b836eb39edb3a4fc57f3aaa20520ee496b7bc32b22fc135873dbed7780', 'f2aa4e99-0983-4954-88b9-a7992847ff99', NULL),
	(102, 33, '2026-11-26 18:43:08.341854+00', 3, 6, 1, '{15,16,17,18,19,20,21,22,23,24,25,26}', '{"(102,15,16,1004,1005,\"2026-11-26 18:43:08+00\")","(102,16,16,4,11,\"2026-11-26 18:43:08+00\")","(102,17,15,1004,1005,\"2026-11-26 18:43:08+00\")","(102,18,15,4,11,\"2026-11-26 18:43:08+00\")","(102,19,12,1004,1005,\"2026-11-26 18:43:08+00\")","(102,20,12,4,11,\"2026-11-26 18:43:08+00\")","(102,21,11,1004,1005,\"2026-11-26 18:43:08+00\")","(102,22,11,4,11,\"2026-11-26 18:43:08+00\")","(102,23,14,1004,1005,\"2026-11-26 18:43:08+00\")","(102,24,14,4,11,\"2026-11-26 18:43:08+00\")","(102,25,13,1004,1005,\"2026-11-26 18:43:08+00\")","(102,26,13,4,11,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\xf02b8b4bf530e98cb0efa27e071381a7e01ee836c49bd444edb1b74030c97d84', '3d002948-3f40-4555-b7f5-fbedb27b5b4c', NULL),
	(102, 1, '2026-11-26 18:43:08.324502+00', 1, 44, 1, '{7}', '{"(102,7,\"first affiliate\",\"first affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x600b36e87f974113e39bbf2055f6f220f964cc49e83882f875e3c732b3b879b5', '8bbd64f2-12a7-49be-abce-d46c86e896b6', NULL),
	(101, 71, '2026-11-26 18:43:10.407695+00', 1, 44, 1, '{13}', '{"(101,13,\"second affiliate\",\"second affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xdd6d48a024722e1a44a9c837f1a504fcdd3a463285a9b5a64a1208801f9fb945', 'dcf86b87-730f-40a0-9e39-9cb9330c052c', NULL),
	(101, 141, '2026-11-26 18:43:12.498486+00', 1, 44, 1, '{19}', '{"(101,19,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xc8a86d4b068d0814a88c2555bf58c1d2e6fbb6b1b50d08c0d1e16c7dc442ca0b', '6315802f-2a00-a99d-d0ff-87088ce94767', '\x075f1089da4043f93ef8ed63a1217ad7446aee22cb35f6d929dea3f9858088ba'),
	(102, 39, '2026-11-26 18:43:08.342366+00', 2, 27, 2, '{16,15,12,11,14,13}', '{",\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 9]"}', '[null, null]', '\x9a9dbdaf34bbe867ac0c2b6c33429fb767c152648d0c251bb07cf526d982c9e7', 'e6b4c5f0-6cd1-4f61-b212-c4cff3bb11ae', NULL),
	(102, 40, '2026-11-26 18:43:08.347987+00', 2, 27, 2, '{12}', '{",\"country\":[276, null]"}', '[null, null]', '\x0b40b7671e5b16feecb3aead466b3f7e49717fb4ac68722eb96a27df1e61c933', '16f2bba2-4d45-4d24-8cbe-86ab0cfdf60d', NULL),
	(102, 42, '2026-11-26 18:43:08.351045+00', 3, 6, 1, '{27,28}', '{"(102,27,19,1004,1005,\"2026-11-26 18:43:08+00\")","(102,28,20,1004,1005,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\x2c00937f18871f3d6cdcc5850d533e484a198c44490f7c9477b1224ff2261c82', 'c6c29595-5597-4fda-bb4e-8385286e5db8', NULL),
	(102, 43, '2026-11-26 18:43:08.353999+00', 3, 6, 3, '{28}', '{"(102,28,20,1004,1005,\"2026-11-26 18:43:08+00\")"}', '[null, null]', '\xdc04e20df63ba136f235532f3f1865d82ef78ee5c5c4e4764ec8d78876572804', '97c0d875-bf03-466c-874a-9a97621153a0', NULL),
	(102, 44, '2026-11-26 18:43:08.357494+00', 4, 23, 1, '{5}', '{"(102,5,8,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 0\",1,\"\\\\x01ec0ad6cf833efef39c\")"}', '[null, null]', '\x5de362f142dbe14eb5442a7609390766064b955504ca907d43867c016337ebdc', '4e1905c4-cfc1-4166-b712-e30fa6da0fce', NULL),
	(102, 46, '2026-11-26 18:43:08.359392+00', 5, 8, 1, '{11,12}', '{"(102,11,5,1,11,,,)","(102,12,5,2,,form,,)"}', '[null, null]', '\x9613a96d9bbe97ac2c4a201e5d75c3c7d802224378514eefb29001b30478ac74', '9ea78ca4-6975-40b3-951a-ac1564e6e84d', NULL),
	(102, 47, '2026-11-26 18:43:08.360301+00', 2, 27, 2, '{11}', '{",\"case_id\":[null, 5]"}', '[null, null]', '\x71a9a5980363572bbb02e5f114e2a785e3ebc52697ea954fc912e7a43452136c', '80b31bbd-9215-4796-83c2-969c1f8d4220', NULL),
	(102, 48, '2026-11-26 18:43:08.364123+00', 4, 23, 1, '{6}', '{"(102,6,9,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 1\",1,\"\\\\x01ea8d47f2839ced1a33\")"}', '[null, null]', '\xb78fa7bc8b52ddae5aaec3668b710182ff587bebb040767d0306f4467bf548c1', 'a5d01da6-ad29-4963-a317-161d20954ccb', NULL),
	(102, 50, '2026-11-26 18:43:08.364496+00', 5, 8, 1, '{13,14}', '{"(102,13,6,1,12,,,)","(102,14,6,2,,form,,)"}', '[null, null]', '\xc5924cf377b009bb0765c4fb26df0f1ee11c85fbff568a243311d7af1a09dc60', '30855350-9c22-4866-88db-de2d6022a040', NULL),
	(102, 51, '2026-11-26 18:43:08.364892+00', 2, 27, 2, '{12}', '{",\"case_id\":[null, 6]"}', '[null, null]', '\xd0fe30444764cf689e0e18fe8c76661ab833acb41dec5a89ba71a08bf9d47358', 'a9fd8eba-93f4-4131-9a73-618c41d54e4a', NULL),
	(102, 52, '2026-11-26 18:43:08.368319+00', 4, 23, 1, '{7}', '{"(102,7,10,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 2\",1,\"\\\\x01177f3d1e8300e300ba\")"}', '[null, null]', '\xdf7b31fb189c432208421e34a5e736f84f61b313cbb8e6f3d1d8f6e61408446f', '94715279-7da0-4381-96ca-61ff55addc52', NULL),
	(102, 54, '2026-11-26 18:43:08.368669+00', 5, 8, 1, '{15,16}', '{"(102,15,7,1,13,,,)","(102,16,7,2,,form,,)"}', '[null, null]', '\x519b399073582573c079c79a37c3573e123b405838ae8623359dc87413ed1468', '1af1383f-f52f-419d-954b-24eb49d4493f', NULL),
	(102, 55, '2026-11-26 18:43:08.369083+00', 2, 27, 2, '{13}', '{",\"case_id\":[null, 7]"}', '[null, null]', '\x012a400a7821b36e3cb7110f486e7fc3a41929b0a3c2dda39b57ac2c318efe8a', 'b8210d84-ffdc-46a5-83c5-da845f313631', NULL),
	(102, 56, '2026-11-26 18:43:08.372449+00', 4, 23, 1, '{8}', '{"(102,8,11,,{},1,,,,,,,\"2026-11-26 18:43:08+00\",,,,,,,\"2026-11-26 18:43:08+00\",\"first 3\",1,\"\\\\x01899d03688312b3a32c\")"}', '[null, null]', '\x80a49b927c690cc1e69cf84dc5aa0e1f79392d7fc89c25846f221f9e249ddf7c', '8ec9e1b3-68db-4bbc-9da4-afd48bd54440', NULL),
	(102, 58, '2026-11-26 18:43:08.373005+00', 5, 8, 1, '{17,18}', '{"(102,17,8,1,14,,,)","(102,18,8,2,,form,,)"}', '[null, null]', '\x439c81399e90fca6cecf5e7a0228331350f45e6e215ea2f56548934a49f4e715', '79ec00ac-59e2-43cd-90e6-c54438ddce7d', NULL),
	(102, 59, '2026-11-26 18:43:08.373506+00', 2, 27, 2, '{14}', '{",\"case_id\":[null, 8]"}', '[null, null]', '\xde5859c5745cd9bb409309109cd50deb2ed846aa519a43eafcce4d3f32b25c47', '70c19079-dffc-46f3-9df9-c85ec55417be', NULL),
	(102, 60, '2026-11-26 18:43:08.376775+00', 4, 23, 2, '{5}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1003],\"revision\":[1, 2]"}', '[null, null]', '\x63758c11722c1968167482408135fdc61ffd7a4c36993dec0a784ba97933e8dc', 'c39e2f48-0c40-4952-9e8e-817f56d0dabe', NULL),
	(102, 62, '2026-11-26 18:43:08.380168+00', 5, 8, 1, '{19,20}', '{"(102,19,6,1,15,,,)","(102,20,6,1,16,,,)"}', '[null, null]', '\x5a26bf96d26f0830ff99fa37da51cf25ee746a1f82164c96bf95479cdcac7bbb', '5b6eb00b-1039-4426-b630-806199c16711', NULL),
	(102, 64, '2026-11-26 18:43:08.380869+00', 2, 27, 2, '{15,16}', '{",\"case_id\":[null, 6]",",\"case_id\":[null, 6]"}', '[null, null]', '\xcce7ffa33b5c48ff6337c0695b91bbbabf3b38aeff3f7aca5026f52158f1fd39', '1f3a1185-4750-4dc4-be59-0987e7818479', NULL),
	(102, 65, '2026-11-26 18:43:08.381416+00', 4, 23, 2, '{6}', '{",\"first_action_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\xe82883de5c914e947864836b68c3de9c1df33b5ddf07e3bc1e15ef2eb81ad012', 'daf2258c-5ac4-4628-a006-493e0e457aeb', NULL),
	(102, 66, '2026-11-26 18:43:08.384105+00', 5, 8, 3, '{14}', '{"(102,14,6,2,,form,,)"}', '[null, null]', '\x761bf61e0daff6af177595c37b04365dd2a295b03fb16654710a73419cfc6f6c', '290870f9-7e39-45f6-aa98-df3772db87d4', NULL),
	(102, 67, '2026-11-26 18:43:08.38443+00', 4, 23, 2, '{6}', '{",\"revision\":[2, 3]"}', '[null, null]', '\xc5eab02a2ff77e5380a6f8b4b0f520e046c45479f2e1b19063c72385ddc1631a', '0f280457-64a9-41bb-9353-70a16608921f', NULL),
	(102, 68, '2026-11-26 18:43:08.387377+00', 4, 23, 2, '{6}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"resolved_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\x23b15d65479c66bf0987ce1c44566e5ee6e0e77396ca18a28797029a85582661', '337c81d4-43b3-450a-ae75-7a1433fdc618', NULL),
	(102, 69, '2026-11-26 18:43:08.3907+00', 4, 23, 2, '{7}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"first_action_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"closed_date\":[null, \"2026-11-26T18:43:08+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x95ab48ca61b9bbf0c9ef1baf218c585a45c8c2513d6f222aad681436d9f22e4c', 'ff777e9e-3bc2-46be-acb8-12a890f03240', NULL),
	(102, 70, '2026-11-26 18:43:08.393861+00', 4, 23, 2, '{7}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-26T18:43:08+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x852579386c726945f6a1f779bf3e217ced7feaa883d53055372ea55e4c65ddd8', '9994fa7f-b85e-4f90-af2a-5532a7ce73e2', NULL),
	(101, 76, '2026-11-26 18:43:10.412326+00', 1, 44, 1, '{14,15,16,17,18}', '{"(101,14,second-0,\"second Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",second.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,15,second-1,\"second Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",second.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,16,second-2,\"second Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",second.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,17,second-3,\"second Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",second.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,18,second-4,\"second Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",second.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x61abbb626843ab8eb37095de3d330022e2cffd1b806589f0ed936cbcf7624250', 'e51f1eb6-5992-4fb9-9db7-52f45429a10d', NULL),
	(101, 130, '2026-11-26 18:43:10.468129+00', 4, 23, 2, '{9}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1006],\"revision\":[1, 2]"}', '[null, null]', '\x6c5af11ad26f4f8d0b590d6ab9f17d341e588d21d9caa3774ccbdbc3c173a698', '3426f157-e49e-4f96-b2f5-25fc6f2bb3c9', NULL),
	(101, 78, '2026-11-26 18:43:10.416438+00', 1, 44, 2, '{13,14}', '{",\"affiliate_name\":[\"second affiliate\", \"second affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"second Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"second renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\x42936299c989b6d6e44fd0f39d1e52c89a5c98a5eecf598d46e98ec858f05c0b', '795e2f1a-3d2a-4c7e-a7ef-d953c1b4f5df', NULL),
	(101, 88, '2026-11-26 18:43:10.422197+00', 2, 27, 1, '{25,26,23,27,21,24,29,30,28,22}', '{"(101,25,https://example.org/second/4,\"\\\\x1fdeb43f7c463e15de380be97ff83b3ce0398aea59fc306e133140675d52e8df\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,26,https://example.org/second/5,\"\\\\x3e54404475864393abdd4952918c70dee61d146c985d0e35d4946d12e86479c4\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,23,https://example.org/second/2,\"\\\\x4a91280033e49396405bda690e54a54fd6fcd80e213f040c0a03040f3137dc7a\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,27,https://example.org/second/6,\"\\\\x5a0bda6b0b6c9abb03084824d7414d0be6b8c4915eae9b10d709e9b61b59066a\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,21,https://example.org/second/0,\"\\\\x6104e19210e7f08fdcdb1cf13f19da7716a3364ca85b0289b2debca3f0cb1d18\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,24,https://example.org/second/3,\"\\\\x7554122353c3102bb1dc883d1e7e7cabb530e9896e88f43ab0822d20f1e2fc73\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,29,https://example.org/second/8,\"\\\\xace7b132aa0f706a94fb3023e84b5565b617d480b4c7dec79aff5e7bda79fcd9\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,30,https://example.org/second/9,\"\\\\xd9f77f024fe460243c2ba20a85a825a80e024e711fe3165990654236e1eff791\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,28,https://example.org/second/7,\"\\\\xe58cc7cd47a4f4ba36473c6b2dffe7751610f016e74112f6b5f77507f321d79c\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)","(101,22,https://example.org/second/1,\"\\\\xf80dc8553ef2869dafbc145857bb74bca266041808b6f5802d857b4791fa75cb\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\x9e2d952dc47a45400247d9ec45af369b77e3fe6a9308846ba673256356404d5f', '9cd249a7-3ff6-4425-a81f-9fc2bf33a480', NULL),
	(101, 91, '2026-11-26 18:43:10.426213+00', 6, 5, 1, '{1006,1007,1008}', '{"(101,4,1006,\"second risk\",)","(101,7,1007,\"second type\",)","(101,8,1008,\"second infraction\",1007)"}', '[null, null]', '\x7913e4ee17b1eb3e1309dbe572ac4126e440969aebc33265bae16b822ae006de', 'c991b465-ea54-4a50-84e4-8bccac391ba1', NULL),
	(101, 103, '2026-11-26 18:43:10.432055+00', 3, 6, 1, '{29,30,31,32,33,34,35,36,37,38,39,40}', '{"(101,29,25,1007,1008,\"2026-11-26 18:43:10+00\")","(101,30,25,4,11,\"2026-11-26 18:43:10+00\")","(101,31,26,1007,1008,\"2026-11-26 18:43:10+00\")","(101,32,26,4,11,\"2026-11-26 18:43:10+00\")","(101,33,23,1007,1008,\"2026-11-26 18:43:10+00\")","(101,34,23,4,11,\"2026-11-26 18:43:10+00\")","(101,35,21,1007,1008,\"2026-11-26 18:43:10+00\")","(101,36,21,4,11,\"2026-11-26 18:43:10+00\")","(101,37,24,1007,1008,\"2026-11-26 18:43:10+00\")","(101,38,24,4,11,\"2026-11-26 18:43:10+00\")","(101,39,22,1007,1008,\"2026-11-26 18:43:10+00\")","(101,40,22,4,11,\"2026-11-26 18:43:10+00\")"}', '[null, null]', '\x91a75bd16a9b62a7806c3040ef986e2fca65105991121e34d94612e886dd4f30', 'c79e7ab4-3c28-47f6-ba9d-279cc6b126db', NULL),
	(101, 109, '2026-11-26 18:43:10.432546+00', 2, 27, 2, '{25,26,23,21,24,22}', '{",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"country\":[null, 276],\"affiliate_id\":[null, 15]"}', '[null, null]', '\x3049fd8bbf0da0b2733e0f8aeaf3988e0892892223dd9dc3d38e1d796ff48c8b', '0577bebd-aaa8-46a4-b018-f67090c005e0', NULL),
	(101, 110, '2026-11-26 18:43:10.437309+00', 2, 27, 2, '{22}', '{",\"country\":[276, null]"}', '[null, null]', '\xb8e3c11227c1b9bbf4bdc39274cea9ea4c5b702010146ebf361400ff0a141850', '1d0c1aab-926e-45dc-a145-04b4d2619990', NULL),
	(101, 112, '2026-11-26 18:43:10.440875+00', 3, 6, 1, '{41,42}', '{"(101,41,29,1007,1008,\"2026-11-26 18:43:10+00\")","(101,42,30,1007,1008,\"2026-11-26 18:43:10+00\")"}', '[null, null]', '\x9db31e5a1eeacb5f001a20e4f145e185c3a7db7f058941fc45251ab03aab7170', '4d7abe10-4249-42c3-becf-fe287c9139af', NULL),
	(101, 113, '2026-11-26 18:43:10.444011+00', 3, 6, 3, '{42}', '{"(101,42,30,1007,1008,\"2026-11-26 18:43:10+00\")"}', '[null, null]', '\x9a863c70a136c1743b30dee970e41918b2e3ea58dfda4f95d01465f4a884c640', 'cec7c40d-f4c4-4112-969b-9c270f07cabb', NULL),
	(101, 114, '2026-11-26 18:43:10.447992+00', 4, 23, 1, '{9}', '{"(101,9,14,,{},1,,,,,,,\"2026-11-26 18:43:10+00\",,,,,,,\"2026-11-26 18:43:10+00\",\"second 0\",1,\"\\\\x018a7f576d839099d97f\")"}', '[null, null]', '\xd65d4f2945db7cbfe2c907bdaf7c0fd20a9aef662a8ffd38225dbc4b446478f1', '962c2976-159c-4189-96db-b1b5549c84a8', NULL),
	(101, 116, '2026-11-26 18:43:10.448582+00', 5, 8, 1, '{21,22}', '{"(101,21,9,1,21,,,)","(101,22,9,2,,form,,)"}', '[null, null]', '\xe9bf3bf5b98faf4dc575919583d64e96607e4217a40118b45db1d6ba932de3ef', 'ee1be046-3e78-474b-ba76-e08b70ecffa5', NULL),
	(101, 117, '2026-11-26 18:43:10.449261+00', 2, 27, 2, '{21}', '{",\"case_id\":[null, 9]"}', '[null, null]', '\x7e85cad2b4d1664f6176580e76243839543d05c2709174604ada1aa3f7f430cc', '9dd54aa6-aaf3-4268-98d4-219613761d84', NULL),
	(101, 118, '2026-11-26 18:43:10.453465+00', 4, 23, 1, '{10}', '{"(101,10,15,,{},1,,,,,,,\"2026-11-26 18:43:10+00\",,,,,,,\"2026-11-26 18:43:10+00\",\"second 1\",1,\"\\\\x0131b0039683a287aeb2\")"}', '[null, null]', '\x978dc3aeba55fd1f571ac545d4b69a3b020a4acfeba31988715d424fcb70f219', '42711958-ad20-4334-a9c3-64781628366e', NULL),
	(101, 120, '2026-11-26 18:43:10.454005+00', 5, 8, 1, '{23,24}', '{"(101,23,10,1,22,,,)","(101,24,10,2,,form,,)"}', '[null, null]', '\x51c4fae0fe8fa6f7348675fa98b3b9b58e4c467dc6d480e5680547ce38ac087b', 'e69ca7b2-3dcc-44d0-af33-ec3a05e6d76b', NULL),
	(101, 121, '2026-11-26 18:43:10.454586+00', 2, 27, 2, '{22}', '{",\"case_id\":[null, 10]"}', '[null, null]', '\xce3a214a6d05cc9fae3daac32285d2f791ecae5ea4e8ef113172b28a4fa87b42', '69b2e879-4c4f-46c6-b3fe-c6c8b8304438', NULL),
	(101, 122, '2026-11-26 18:43:10.458512+00', 4, 23, 1, '{11}', '{"(101,11,16,,{},1,,,,,,,\"2026-11-26 18:43:10+00\",,,,,,,\"2026-11-26 18:43:10+00\",\"second 2\",1,\"\\\\x0116275f9f8351f2da48\")"}', '[null, null]', '\x5453cd16d835903154004229c4256ceec4f5919d6a70a9d6ad52a843d7c286bd', 'bf3d1d25-df5b-4a29-a8d8-563e937a7652', NULL),
	(101, 124, '2026-11-26 18:43:10.458998+00', 5, 8, 1, '{25,26}', '{"(101,25,11,1,23,,,)","(101,26,11,2,,form,,)"}', '[null, null]', '\xbcbac65d7425c98bd8028d136ae70a482374c42eb25329109a799b9351e92f71', '5e2b1cc7-f918-448e-b9ed-b4a706fb6025', NULL),
	(101, 125, '2026-11-26 18:43:10.459503+00', 2, 27, 2, '{23}', '{",\"case_id\":[null, 11]"}', '[null, null]', '\xc7551ec255ed720776b7f072c0d4d011e99ccf56972e03aabe72dead79a9d585', '6980a3c8-7f3e-4d53-a12f-a8629954bc10', NULL),
	(101, 126, '2026-11-26 18:43:10.463466+00', 4, 23, 1, '{12}', '{"(101,12,17,,{},1,,,,,,,\"2026-11-26 18:43:10+00\",,,,,,,\"2026-11-26 18:43:10+00\",\"second 3\",1,\"\\\\x01ec14364983dfe63cbe\")"}', '[null, null]', '\x10bedb2a09a894e3c542dd7e32ff05451e4599d01f06fd72c2bd4b6130f5dea4', 'b29f712b-4f7d-449c-986f-83f99a3ba0fd', NULL),
	(101, 128, '2026-11-26 18:43:10.464043+00', 5, 8, 1, '{27,28}', '{"(101,27,12,1,24,,,)","(101,28,12,2,,form,,)"}', '[null, null]', '\xc0fd32e2e85d07fbb26f9750129e06c7df30e2426aa3abd7dd781cac6032155e', 'f7f168c6-0229-48bd-875a-e655a4bba97f', NULL),
	(101, 129, '2026-11-26 18:43:10.46461+00', 2, 27, 2, '{24}', '{",\"case_id\":[null, 12]"}', '[null, null]', '\xa97e2a102b39ded1a9d37ac0d155d60968eb1c55179eb2c267b2ebfb2bbcbc88', '9b5f113c-2b6b-4bc2-9113-b0942b9c4fac', NULL),
	(101, 132, '2026-11-26 18:43:10.471885+00', 5, 8, 1, '{29,30}', '{"(101,29,10,1,25,,,)","(101,30,10,1,26,,,)"}', '[null, null]', '\x640967a5b48e93c0a91ef8a9f9ef3bce747ccae11721882b624b3ca45d27dfd9', '6edf3714-fe97-48ed-80a0-9639659f9f48', NULL),
	(101, 134, '2026-11-26 18:43:10.472589+00', 2, 27, 2, '{25,26}', '{",\"case_id\":[null, 10]",",\"case_id\":[null, 10]"}', '[null, null]', '\x966364f5a2e203d93e9c2e5c14a4b30e2534905a2e8f93687117de07d65107b7', '7d6199c5-30f8-44e1-aa4f-4da4dc7be3b0', NULL),
	(101, 135, '2026-11-26 18:43:10.473095+00', 4, 23, 2, '{10}', '{",\"first_action_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\xe189dabd0ea0fd533ca0b5335432d1879d343fa47baa1fabfea7ac88d8972d4a', 'fa32fe91-1d04-469a-a0b3-44853483f8f1', NULL),
	(101, 136, '2026-11-26 18:43:10.476494+00', 5, 8, 3, '{24}', '{"(101,24,10,2,,form,,)"}', '[null, null]', '\xe2fb9e4f447c84850a84aa68c7890fdad81c2a3589dee4232f88afb41d8179b1', 'e6b5bd4b-e141-49b3-94d7-ddbfd756f01c', NULL),
	(101, 137, '2026-11-26 18:43:10.476833+00', 4, 23, 2, '{10}', '{",\"revision\":[2, 3]"}', '[null, null]', '\x3c1a1b7d2992dbae7d15465d008f2df3c2bae12f4f7db7fac55366fc3c3e2b35', '055a8c44-06ae-4132-ab88-6a9b1e1038fc', NULL),
	(101, 138, '2026-11-26 18:43:10.480288+00', 4, 23, 2, '{10}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"resolved_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\x5cf9039126344751718108004d798016db94dba0a71a39f84500ac14a25fd459', 'c650f367-0174-435e-8c1f-739183731416', NULL),
	(101, 139, '2026-11-26 18:43:10.483557+00', 4, 23, 2, '{11}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"first_action_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"closed_date\":[null, \"2026-11-26T18:43:10+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x1a918d0aab87bf8e108cfcea8e6edc5f5e92877a8accf0e7c947319d4beb9bf9', '91357dff-ed5a-42ba-9dfb-25041ee3dbb1', NULL),
	(101, 140, '2026-11-26 18:43:10.486838+00', 4, 23, 2, '{11}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-26T18:43:10+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x422add02ae7496076b03ca3ebe40f148ce28e4967d2aa15e23a4bf0befc8da45', '24eb5df9-2b34-4677-9daf-1acae2ebf7d9', NULL),
	(101, 142, '2026-11-26 18:43:12.502495+00', 4, 23, 1, '{13}', '{"(101,13,19,,,1,,,,,,,\"2026-11-26 18:43:12+00\",,,,,,,\"2026-11-26 18:43:12+00\",,1,)"}', '[null, null]', '\x29a50a36ccecb9a06ba87b7db03ef356377d0bbeafc6b7297cc5d456f8e9e1fa', '77bedf7c-9fc3-61d0-6f29-4474b7c28131', '\x7f0640b9d706b95150d6b567787c6886e90e29466779fca092beda0cb928dd21'),
	(101, 143, '2026-11-26 18:43:12.515724+00', 4, 23, 3, '{13}', '{"(101,13,19,,,1,,,,,,,\"2026-11-26 18:43:12+00\",,,,,,,\"2026-11-26 18:43:12+00\",,1,)"}', '[null, null]', '\x3be6f7ea6866be63f922db054062004b9b1df97d5dc26d4845b67d39dfd55c27', 'c61d19ae-da1c-1faf-21e1-5e903fb69513', '\xe6384b1309796221cc76527d00a497697a514e5ba21e11cf53060d160843fffb'),
	(101, 144, '2026-11-26 18:43:12.517768+00', 1, 44, 3, '{19}', '{"(101,19,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x4fe4c59a923bbf22ce8ac8fa48b1eaea0f929e9a917e2f708aefd70d35159f31', '2b542732-32fa-4238-0459-46850b07f683', '\x0bee48facc9e11756d5094e5ad4cb365bed97c237cfb88fb0369389186b96e65'),
	(101, 145, '2026-11-26 18:43:12.522647+00', 1, 0, 4, '{19}', '{"{\"141\": \"1ea4e2201a762fb0fb4ef7bd64a064a51ee371c538584456846a41e37cef1c95\", \"142\": \"ffdd54c8d8be0f75d5710f414cfa63e816d8f1587507a5ffa88bb735bfc5de3f\", \"143\": \"15d3e67f5e774511506f7fa834c05f47f30066840fe934da3b8f9d9a930d5745\", \"144\": \"d1b3c597b3300e08827ca0a834f2ce6c8cf3afbd0fed7c905b6a484892383e53\"}"}', '[null, null]', '\xda074003126dde63121dd601cb7c5d51824f646319382574c062b08aac62fe42', NULL, NULL),
	(101, 146, '2026-11-26 18:43:12.531844+00', 1, 44, 1, '{20}', '{"(101,20,hand,\"By hand\",,,,,,,,,,,,,,\"a, (b) \"\"c\"\" \\\\ d
e\",,,,,,,,,,2024-01-02,,,,,,,,,,,,,,,,1)"}', NULL, '\xa27e63aaad440adae5beab847eef845e8908025889805891ecc9640f73a59300', 'b61fcf7a-7886-4ca4-9fa0-4c79985603df', NULL),
	(101, 153, '2026-11-26 18:43:12.536557+00', 2, 27, 2, '{3,6,9,21,24,27,30}', '{",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]"}', NULL, '\x7e2e6e138f8741e2af6790be48f85a7b21c0dabe5c0ff6a32ca131f23b7a9665', '8d365d39-1a4d-4152-8fae-3be935d1745c', NULL);
INSERT INTO public.changes_y2026m11 VALUES
	(101, 154, '2026-11-26 18:43:12.540439+00', 2, 27, 3, '{28}', '{"(101,28,https://example.org/second/7,\"\\\\xe58cc7cd47a4f4ba36473c6b2dffe7751610f016e74112f6b5f77507f321d79c\",example.org,1,f,,,\"2026-11-26 18:43:10+00\",,,,,,,,,,,,,,,,,)"}', NULL, '\xaf142baeee2610c823df10d7e82d44554259f65ab741e62895f778d21b6d5775', 'cb527c3f-2a2e-4889-9b42-49c65d952204', NULL),
	(101, 162, '2026-11-26 18:43:12.543523+00', 4, 23, 2, '{1,2,3,4,9,10,11,12}', '{",\"tags\":[[\"a\",\"b, c\"], [\"x\",\"y z\"]],\"revision\":[2, 3]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[4, 5]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[3, 4]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[1, 2]",",\"tags\":[[\"a\",\"b, c\"], [\"x\",\"y z\"]],\"revision\":[2, 3]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[4, 5]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[3, 4]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[1, 2]"}', NULL, '\x833f10b6b9cfddb4d50eeaae3995538c11ace0d44dfea41b319308f77d8b122d', '86dc7896-38dc-49bb-9558-3d44ceff7cab', NULL);


--
-- Data for Name: changes_y2026m12; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: compliance_case_counts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_case_counts VALUES
	(101, 'id_coarsest', 0, 6, 0, 20783, 20783),
	(101, 'all', 0, 6, 0, 20783, 20783),
	(101, 'all', 0, 2, 2, 20783, 20783),
	(101, 'id_coarse', 0, 6, 0, 20783, 20783),
	(101, 'id_coarse', 0, 2, 2, 20783, 20783),
	(101, 'id', 0, 6, 0, 20783, 20783),
	(101, 'created_date', 20783, 6, 0, 20783, 20783),
	(101, 'created_date_coarse', 649, 6, 0, 20783, 20783),
	(101, 'created_date_coarse', 649, 2, 2, 20783, 20783),
	(101, 'id', 0, 2, 2, 20783, 20783),
	(101, 'created_date', 20783, 2, 2, 20783, 20783),
	(101, 'all', 0, 5, 2, 20783, 20783),
	(101, 'id_coarse', 0, 5, 2, 20783, 20783),
	(101, 'id_coarsest', 0, 2, 2, 20783, 20783),
	(102, 'id_coarse', 0, 1, 2, 20783, 20783),
	(102, 'created_date_coarse', 649, 1, 2, 20783, 20783),
	(102, 'id_coarsest', 0, 1, 2, 20783, 20783),
	(102, 'created_date', 20783, 1, 2, 20783, 20783),
	(101, 'created_date', 20783, 5, 2, 20783, 20783),
	(101, 'created_date_coarse', 649, 5, 2, 20783, 20783),
	(101, 'id', 0, 5, 2, 20783, 20783),
	(101, 'id_coarsest', 0, 5, 2, 20783, 20783),
	(101, 'created_date', 20783, 1, 4, 20783, 20783),
	(101, 'id_coarse', 0, 1, 4, 20783, 20783),
	(101, 'all', 0, 1, 4, 20783, 20783),
	(101, 'created_date_coarse', 649, 1, 4, 20783, 20783),
	(101, 'id', 0, 1, 4, 20783, 20783),
	(101, 'id_coarsest', 0, 1, 4, 20783, 20783),
	(102, 'id_coarse', 0, 5, 1, 20783, 20783),
	(102, 'id_coarsest', 0, 5, 1, 20783, 20783),
	(102, 'id', 0, 5, 1, 20783, 20783),
	(102, 'all', 0, 5, 1, 20783, 20783),
	(102, 'created_date', 20783, 5, 1, 20783, 20783),
	(102, 'created_date_coarse', 649, 5, 1, 20783, 20783),
	(102, 'all', 0, 1, 2, 20783, 20783),
	(102, 'id', 0, 1, 2, 20783, 20783),
	(102, 'all', 0, 6, 0, 20783, 20783),
	(102, 'created_date_coarse', 649, 6, 0, 20783, 20783),
	(102, 'created_date_coarse', 649, 2, 1, 20783, 20783),
	(102, 'id_coarse', 0, 6, 0, 20783, 20783),
	(102, 'created_date', 20783, 2, 1, 20783, 20783),
	(102, 'id_coarsest', 0, 2, 1, 20783, 20783),
	(102, 'all', 0, 2, 1, 20783, 20783),
	(102, 'created_date', 20783, 6, 0, 20783, 20783),
	(102, 'id_coarse', 0, 2, 1, 20783, 20783),
	(102, 'id', 0, 2, 1, 20783, 20783),
	(102, 'id', 0, 6, 0, 20783, 20783),
	(102, 'id_coarsest', 0, 6, 0, 20783, 20783);


--
-- Data for Name: compliance_cases; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_cases VALUES
	(102, 8, 11, NULL, '{}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 3', 1, '\x01899d03688312b3a32c'),
	(102, 5, 8, NULL, '{a,"b, c"}', 1, NULL, NULL, NULL, 1003, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 0', 2, '\x01ec0ad6cf833efef39c'),
	(102, 6, 9, NULL, '{}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 1', 4, '\x01ea8d47f2839ced1a33'),
	(102, 7, 10, NULL, '{}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 2', 3, '\x01177f3d1e8300e300ba'),
	(101, 1, 2, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, 1000, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 0', 3, '\x01ec0ad6cf833efef39c'),
	(101, 2, 3, NULL, '{x,"y z"}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 1', 5, '\x01ea8d47f2839ced1a33'),
	(101, 3, 4, NULL, '{x,"y z"}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', '2026-11-26 18:43:08+00', NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 2', 4, '\x01177f3d1e8300e300ba'),
	(101, 4, 5, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:08+00', 'first 3', 2, '\x01899d03688312b3a32c'),
	(101, 9, 14, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, 1006, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:10+00', 'second 0', 3, '\x018a7f576d839099d97f'),
	(101, 10, 15, NULL, '{x,"y z"}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:10+00', '2026-11-26 18:43:10+00', '2026-11-26 18:43:10+00', '2026-11-26 18:43:10+00', NULL, NULL, NULL, '2026-11-26 18:43:10+00', 'second 1', 5, '\x0131b0039683a287aeb2'),
	(101, 11, 16, NULL, '{x,"y z"}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:10+00', '2026-11-26 18:43:10+00', NULL, '2026-11-26 18:43:10+00', NULL, NULL, NULL, '2026-11-26 18:43:10+00', 'second 2', 4, '\x0116275f9f8351f2da48'),
	(101, 12, 17, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-26 18:43:10+00', 'second 3', 2, '\x01ec14364983dfe63cbe');


--
-- Data for Name: compliance_url_counts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_url_counts VALUES
	(101, 'discovery_date_coarse', 649, 3, false, 4, 0, 0, 20783, 20783),
	(101, 'discovery_date_coarse', 649, 3, true, 2, 0, 0, 20783, 20783),
	(102, 'discovery_date', 20783, 3, true, 1, 0, 0, 20783, 20783),
	(102, 'id', 0, 1, false, 6, 6, 6, 20783, 20783),
	(102, 'id_coarse', 0, 1, false, 6, 6, 6, 20783, 20783),
	(102, 'id', 0, 3, false, 2, 2, 2, 20783, 20783),
	(102, 'discovery_date', 20783, 1, true, 1, 0, 0, 20783, 20783),
	(102, 'id_coarse', 0, 3, false, 2, 2, 2, 20783, 20783),
	(102, 'all', 0, 3, false, 2, 0, 0, 20783, 20783),
	(102, 'discovery_date_coarse', 649, 3, false, 2, 0, 0, 20783, 20783),
	(102, 'discovery_date', 20783, 3, false, 2, 0, 0, 20783, 20783),
	(102, 'id', 0, 3, true, 1, 1, 1, 20783, 20783),
	(102, 'all', 0, 3, true, 1, 0, 0, 20783, 20783),
	(102, 'discovery_date', 20783, 1, false, 6, 0, 0, 20783, 20783),
	(102, 'id_coarsest', 0, 3, false, 2, 2, 2, 20783, 20783),
	(102, 'discovery_date_coarse', 649, 1, true, 1, 0, 0, 20783, 20783),
	(102, 'discovery_date_coarse', 649, 1, false, 6, 0, 0, 20783, 20783),
	(102, 'all', 0, 1, true, 1, 0, 0, 20783, 20783),
	(102, 'all', 0, 1, false, 6, 0, 0, 20783, 20783),
	(102, 'id_coarsest', 0, 1, false, 6, 6, 6, 20783, 20783),
	(101, 'id', 0, 3, false, 4, 4, 3, 20783, 20783),
	(101, 'id_coarsest', 0, 1, true, 2, 2, 1, 20783, 20783),
	(101, 'id_coarse', 0, 3, false, 4, 4, 3, 20783, 20783),
	(101, 'id_coarse', 0, 1, true, 2, 2, 1, 20783, 20783),
	(101, 'all', 0, 1, true, 2, 0, 0, 20783, 20783),
	(101, 'discovery_date_coarse', 649, 1, true, 2, 0, 0, 20783, 20783),
	(101, 'all', 0, 3, false, 4, 0, 0, 20783, 20783),
	(101, 'all', 0, 3, true, 2, 0, 0, 20783, 20783),
	(101, 'discovery_date', 20783, 3, false, 4, 0, 0, 20783, 20783),
	(101, 'discovery_date', 20783, 3, true, 2, 0, 0, 20783, 20783),
	(101, 'discovery_date', 20783, 1, true, 2, 0, 0, 20783, 20783),
	(101, 'id', 0, 3, true, 2, 2, 1, 20783, 20783),
	(101, 'id_coarsest', 0, 3, false, 4, 4, 3, 20783, 20783),
	(101, 'id_coarse', 0, 3, true, 2, 2, 1, 20783, 20783),
	(101, 'id_coarsest', 0, 3, true, 2, 2, 1, 20783, 20783),
	(101, 'id', 0, 1, true, 2, 2, 1, 20783, 20783),
	(101, 'id_coarse', 0, 1, false, 11, 11, 7, 20783, 20783),
	(101, 'discovery_date', 20783, 1, false, 11, 0, 0, 20783, 20783),
	(101, 'all', 0, 1, false, 11, 0, 0, 20783, 20783),
	(101, 'id', 0, 1, false, 11, 11, 7, 20783, 20783),
	(101, 'id_coarsest', 0, 1, false, 11, 11, 7, 20783, 20783),
	(101, 'discovery_date_coarse', 649, 1, false, 11, 0, 0, 20783, 20783),
	(102, 'id_coarsest', 0, 1, true, 1, 1, 1, 20783, 20783),
	(102, 'discovery_date_coarse', 649, 3, true, 1, 0, 0, 20783, 20783),
	(102, 'id', 0, 1, true, 1, 1, 1, 20783, 20783),
	(102, 'id_coarse', 0, 3, true, 1, 1, 1, 20783, 20783),
	(102, 'id_coarsest', 0, 3, true, 1, 1, 1, 20783, 20783),
	(102, 'id_coarse', 0, 1, true, 1, 1, 1, 20783, 20783),
	(101, 'last_seen_coarse', 640, 3, true, 1, 0, 0, 20783, 20783),
	(101, 'last_seen_coarse', 640, 1, true, 1, 0, 0, 20783, 20783),
	(101, 'last_seen_coarse', 640, 3, false, 1, 0, 0, 20783, 20783),
	(101, 'last_seen', 20484, 1, false, 4, 0, 0, 20783, 20783),
	(101, 'last_seen', 20484, 1, true, 1, 0, 0, 20783, 20783),
	(101, 'last_seen', 20484, 3, false, 1, 0, 0, 20783, 20783),
	(101, 'last_seen', 20484, 3, true, 1, 0, 0, 20783, 20783),
	(101, 'last_seen_coarse', 640, 1, false, 4, 0, 0, 20783, 20783);


--
-- Data for Name: compliance_urls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_urls VALUES
	(101, 8, 'https://example.org/first/7', '\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 10, 'https://example.org/first/9', '\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 7, 'https://example.org/first/6', '\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 1, 'https://example.org/first/0', '\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b', 'example.org', 3, true, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL),
	(101, 2, 'https://example.org/first/1', '\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL),
	(101, 4, 'https://example.org/first/3', '\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de', 'example.org', 1, true, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, NULL, NULL, NULL, NULL),
	(101, 5, 'https://example.org/first/4', '\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL),
	(102, 18, 'https://example.org/first/7', '\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 19, 'https://example.org/first/8', '\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 20, 'https://example.org/first/9', '\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 17, 'https://example.org/first/6', '\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 11, 'https://example.org/first/0', '\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b', 'example.org', 3, true, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL, NULL, NULL, NULL),
	(102, 12, 'https://example.org/first/1', '\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(102, 13, 'https://example.org/first/2', '\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL),
	(102, 14, 'https://example.org/first/3', '\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de', 'example.org', 1, true, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8, NULL, NULL, NULL, NULL),
	(102, 15, 'https://example.org/first/4', '\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(102, 16, 'https://example.org/first/5', '\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450', 'example.org', 1, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(101, 29, 'https://example.org/second/8', '\xace7b132aa0f706a94fb3023e84b5565b617d480b4c7dec79aff5e7bda79fcd9', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 23, 'https://example.org/second/2', '\x4a91280033e49396405bda690e54a54fd6fcd80e213f040c0a03040f3137dc7a', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:10+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 11, NULL, NULL, NULL, NULL),
	(101, 25, 'https://example.org/second/4', '\x1fdeb43f7c463e15de380be97ff83b3ce0398aea59fc306e133140675d52e8df', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:10+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 26, 'https://example.org/second/5', '\x3e54404475864393abdd4952918c70dee61d146c985d0e35d4946d12e86479c4', 'example.org', 1, false, NULL, 276, '2026-11-26 18:43:10+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 3, 'https://example.org/first/2', '\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f', 'example.org', 3, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, '2026-01-31 12:00:00+00', 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, '"\,()	', NULL, NULL, NULL),
	(101, 6, 'https://example.org/first/5', '\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450', 'example.org', 1, false, NULL, 276, '2026-11-26 18:43:08+00', NULL, NULL, '2026-01-31 12:00:00+00', 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, '"\,()	', NULL, NULL, NULL),
	(101, 9, 'https://example.org/first/8', '\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:08+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL),
	(101, 21, 'https://example.org/second/0', '\x6104e19210e7f08fdcdb1cf13f19da7716a3364ca85b0289b2debca3f0cb1d18', 'example.org', 3, true, NULL, 276, '2026-11-26 18:43:10+00', NULL, NULL, '2026-01-31 12:00:00+00', 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 9, '"\,()	', NULL, NULL, NULL),
	(101, 24, 'https://example.org/second/3', '\x7554122353c3102bb1dc883d1e7e7cabb530e9896e88f43ab0822d20f1e2fc73', 'example.org', 1, true, NULL, 276, '2026-11-26 18:43:10+00', NULL, NULL, '2026-01-31 12:00:00+00', 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 12, '"\,()	', NULL, NULL, NULL),
	(101, 27, 'https://example.org/second/6', '\x5a0bda6b0b6c9abb03084824d7414d0be6b8c4915eae9b10d709e9b61b59066a', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL),
	(101, 22, 'https://example.org/second/1', '\xf80dc8553ef2869dafbc145857bb74bca266041808b6f5802d857b4791fa75cb', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 30, 'https://example.org/second/9', '\xd9f77f024fe460243c2ba20a85a825a80e024e711fe3165990654236e1eff791', 'example.org', 1, false, NULL, NULL, '2026-11-26 18:43:10+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL);


--
-- Data for Name: incidents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.incidents VALUES
	(101, 1, 1, 1, 1, NULL, NULL, NULL),
	(101, 2, 1, 2, NULL, 'form', NULL, NULL),
	(101, 3, 2, 1, 2, NULL, NULL, NULL),
	(101, 5, 3, 1, 3, NULL, NULL, NULL),
	(101, 6, 3, 2, NULL, 'form', NULL, NULL),
	(101, 7, 4, 1, 4, NULL, NULL, NULL),
	(101, 8, 4, 2, NULL, 'form', NULL, NULL),
	(101, 9, 2, 1, 5, NULL, NULL, NULL),
	(101, 10, 2, 1, 6, NULL, NULL, NULL),
	(102, 11, 5, 1, 11, NULL, NULL, NULL),
	(102, 12, 5, 2, NULL, 'form', NULL, NULL),
	(102, 13, 6, 1, 12, NULL, NULL, NULL),
	(102, 15, 7, 1, 13, NULL, NULL, NULL),
	(102, 16, 7, 2, NULL, 'form', NULL, NULL),
	(102, 17, 8, 1, 14, NULL, NULL, NULL),
	(102, 18, 8, 2, NULL, 'form', NULL, NULL),
	(102, 19, 6, 1, 15, NULL, NULL, NULL),
	(102, 20, 6, 1, 16, NULL, NULL, NULL),
	(101, 21, 9, 1, 21, NULL, NULL, NULL),
	(101, 22, 9, 2, NULL, 'form', NULL, NULL),
	(101, 23, 10, 1, 22, NULL, NULL, NULL),
	(101, 25, 11, 1, 23, NULL, NULL, NULL),
	(101, 26, 11, 2, NULL, 'form', NULL, NULL),
	(101, 27, 12, 1, 24, NULL, NULL, NULL),
	(101, 28, 12, 2, NULL, 'form', NULL, NULL),
	(101, 29, 10, 1, 25, NULL, NULL, NULL),
	(101, 30, 10, 1, 26, NULL, NULL, NULL);


--
-- Data for Name: infractions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.infractions VALUES
	(101, 1, 6, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 2, 6, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 3, 5, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 4, 5, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 5, 2, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 6, 2, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 7, 1, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 8, 1, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 9, 4, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 10, 4, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 11, 3, 1001, 1002, '2026-11-26 18:43:08+00'),
	(101, 12, 3, 4, 11, '2026-11-26 18:43:08+00'),
	(101, 13, 9, 1001, 1002, '2026-11-26 18:43:08+00'),
	(102, 15, 16, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 16, 16, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 17, 15, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 18, 15, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 19, 12, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 20, 12, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 21, 11, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 22, 11, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 23, 14, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 24, 14, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 25, 13, 1004, 1005, '2026-11-26 18:43:08+00'),
	(102, 26, 13, 4, 11, '2026-11-26 18:43:08+00'),
	(102, 27, 19, 1004, 1005, '2026-11-26 18:43:08+00'),
	(101, 29, 25, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 30, 25, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 31, 26, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 32, 26, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 33, 23, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 34, 23, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 35, 21, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 36, 21, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 37, 24, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 38, 24, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 39, 22, 1007, 1008, '2026-11-26 18:43:10+00'),
	(101, 40, 22, 4, 11, '2026-11-26 18:43:10+00'),
	(101, 41, 29, 1007, 1008, '2026-11-26 18:43:10+00');


--
-- Data for Name: vocabulary_entries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.vocabulary_entries VALUES
	(101, 4, 1000, 'first risk', NULL),
	(101, 7, 1001, 'first type', NULL),
	(101, 8, 1002, 'first infraction', 1001),
	(102, 4, 1003, 'first risk', NULL),
	(102, 7, 1004, 'first type', NULL),
	(102, 8, 1005, 'first infraction', 1004),
	(101, 4, 1006, 'second risk', NULL),
	(101, 7, 1007, 'second type', NULL),
	(101, 8, 1008, 'second infraction', 1007);


--
-- Data for Name: webhook_deliveries; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhook_deliveries VALUES
	(101, 1, 1, 'msg_1', 0, 2, 1, '2026-11-26 18:43:12.643099+00', 12, 200, NULL),
	(101, 1, 2, 'msg_2', 2, 4, 1, '2026-11-26 18:43:12.643099+00', 15000, NULL, 'no response'),
	(102, 2, 1, 'msg_1', 0, 2, 1, '2026-11-26 18:43:12.651952+00', 12, 200, NULL),
	(102, 2, 2, 'msg_2', 2, 4, 1, '2026-11-26 18:43:12.651952+00', 15000, NULL, 'no response');


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhooks VALUES
	(101, 1, 'https://receiver.example/hook', '{affiliate,case}', 'Copy', 'whsec_NkPU0uXu9xUR1Hkv560qkE6inGTY3BUmbGxkCZKjmLo=', '{}', '{}', 162, 162, NULL, NULL, 0, NULL, false, '2026-11-26 18:43:12.605635+00', '1970-01-01 00:00:00+00', 0, NULL, '2026-11-26 18:43:12.605635+00'),
	(102, 2, 'https://receiver.example/hook', '{affiliate,case}', 'Copy', 'whsec_V7QzomvFmQMZ7cuGAWCJwY7U00TjpI9gCiAeK+8/ltY=', '{}', '{}', 70, 70, NULL, NULL, 0, NULL, false, '2026-11-26 18:43:12.648512+00', '1970-01-01 00:00:00+00', 0, NULL, '2026-11-26 18:43:12.648512+00');


--
-- Name: affiliates_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.affiliates_id_seq', 20, true);


--
-- Name: compliance_cases_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.compliance_cases_id_seq', 13, true);


--
-- Name: compliance_urls_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.compliance_urls_id_seq', 30, true);


--
-- Name: incidents_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.incidents_id_seq', 30, true);


--
-- Name: infractions_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.infractions_id_seq', 42, true);


--
-- Name: vocabulary_entries_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.vocabulary_entries_id_seq', 1008, true);


--
-- Name: webhooks_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.webhooks_id_seq', 2, true);


--
-- Name: _sqlx_migrations _sqlx_migrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public._sqlx_migrations
    ADD CONSTRAINT _sqlx_migrations_pkey PRIMARY KEY (version);


--
-- Name: affiliates affiliates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.affiliates
    ADD CONSTRAINT affiliates_pkey PRIMARY KEY (company_id, id);


--
-- Name: change_positions change_positions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.change_positions
    ADD CONSTRAINT change_positions_pkey PRIMARY KEY (company_id);


--
-- Name: changes changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (company_id, "position", changed_at);


--
-- Name: changes_default changes_default_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes_default
    ADD CONSTRAINT changes_default_pkey PRIMARY KEY (company_id, "position", changed_at);


--
-- Name: changes_y2026m11 changes_y2026m11_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes_y2026m11
    ADD CONSTRAINT changes_y2026m11_pkey PRIMARY KEY (company_id, "position", changed_at);


--
-- Name: changes_y2026m12 changes_y2026m12_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.changes_y2026m12
    ADD CONSTRAINT changes_y2026m12_pkey PRIMARY KEY (company_id, "position", changed_at);


--
-- Name: compliance_case_counts compliance_case_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_case_counts
    ADD CONSTRAINT compliance_case_counts_pkey PRIMARY KEY (company_id, dimension, bucket, case_status_id);


--
-- Name: compliance_cases compliance_cases_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_cases
    ADD CONSTRAINT compliance_cases_pkey PRIMARY KEY (company_id, id) INCLUDE (case_status_id, created_date);


--
-- Name: compliance_url_counts compliance_url_counts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_url_counts
    ADD CONSTRAINT compliance_url_counts_pkey PRIMARY KEY (company_id, dimension, bucket, incident_status_id, disabled);


--
-- Name: compliance_urls compliance_urls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_urls
    ADD CONSTRAINT compliance_urls_pkey PRIMARY KEY (company_id, id) INCLUDE (incident_status_id, disabled, discovery_date);


--
-- Name: incidents incidents_content_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT incidents_content_key UNIQUE NULLS NOT DISTINCT (company_id, case_id, incident_type, url_id, reference);


--
-- Name: incidents incidents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT incidents_pkey PRIMARY KEY (company_id, case_id, id);


--
-- Name: infractions infractions_name_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.infractions
    ADD CONSTRAINT infractions_name_key UNIQUE NULLS NOT DISTINCT (company_id, url_id, infraction_type_id, infraction_name_id);


--
-- Name: infractions infractions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.infractions
    ADD CONSTRAINT infractions_pkey PRIMARY KEY (company_id, url_id, id);


--
-- Name: vocabulary_entries vocabulary_entries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.vocabulary_entries
    ADD CONSTRAINT vocabulary_entries_pkey PRIMARY KEY (company_id, vocabulary, id);


--
-- Name: webhook_deliveries webhook_deliveries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (company_id, webhook_id, number);


--
-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (company_id, id);


--
-- Name: affiliates_client_affiliate_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX affiliates_client_affiliate_id_idx ON public.affiliates USING btree (company_id, client_affiliate_id, id) WHERE (client_affiliate_id IS NOT NULL);


--
-- Name: affiliates_name_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX affiliates_name_key ON public.affiliates USING btree (company_id, affiliate_name) WHERE (affiliate_name IS NOT NULL);


--
-- Name: changes_batch_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_batch_idx ON ONLY public.changes USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_record_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_record_idx ON ONLY public.changes USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_default_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_ids_position_idx ON public.changes_default USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_default_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_position_changed_at_idx ON public.changes_default USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_y2026m11_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_ids_position_idx ON public.changes_y2026m11 USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_position_changed_at_idx ON public.changes_y2026m11 USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_y2026m12_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_ids_position_idx ON public.changes_y2026m12 USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_position_changed_at_idx ON public.changes_y2026m12 USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: compliance_cases_affiliate_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_cases_affiliate_idx ON public.compliance_cases USING btree (company_id, affiliate_id, id) INCLUDE (case_status_id, created_date) WHERE (affiliate_id IS NOT NULL);


--
-- Name: compliance_cases_created_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_cases_created_date_idx ON public.compliance_cases USING btree (company_id, created_date, id) WHERE (created_date IS NOT NULL);


--
-- Name: compliance_cases_filter_created_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_cases_filter_created_date_idx ON public.compliance_cases USING btree (company_id, case_status_id, created_date, id) WHERE ((case_status_id IS NOT NULL) AND (created_date IS NOT NULL));


--
-- Name: compliance_cases_filter_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_cases_filter_id_idx ON public.compliance_cases USING btree (company_id, case_status_id, id) INCLUDE (created_date) WHERE ((case_status_id IS NOT NULL) AND (id IS NOT NULL));


--
-- Name: compliance_cases_request_id_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX compliance_cases_request_id_key ON public.compliance_cases USING btree (company_id, request_id) WHERE (request_id IS NOT NULL);


--
-- Name: compliance_urls_affiliate_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_affiliate_idx ON public.compliance_urls USING btree (company_id, affiliate_id, id) INCLUDE (incident_status_id, disabled, discovery_date, last_review_date, last_seen) WHERE (affiliate_id IS NOT NULL);


--
-- Name: compliance_urls_case_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_case_idx ON public.compliance_urls USING btree (company_id, case_id) WHERE (case_id IS NOT NULL);


--
-- Name: compliance_urls_discovery_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_discovery_date_idx ON public.compliance_urls USING btree (company_id, discovery_date, id) WHERE (discovery_date IS NOT NULL);


--
-- Name: compliance_urls_filter_discovery_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_filter_discovery_date_idx ON public.compliance_urls USING btree (company_id, incident_status_id, disabled, discovery_date, id) INCLUDE (last_review_date, last_seen) WHERE ((incident_status_id IS NOT NULL) AND (discovery_date IS NOT NULL));


--
-- Name: compliance_urls_filter_id_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_filter_id_idx ON public.compliance_urls USING btree (company_id, incident_status_id, disabled, id) INCLUDE (discovery_date) WHERE ((incident_status_id IS NOT NULL) AND (id IS NOT NULL));


--
-- Name: compliance_urls_filter_last_review_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_filter_last_review_date_idx ON public.compliance_urls USING btree (company_id, incident_status_id, disabled, last_review_date, id) INCLUDE (discovery_date) WHERE ((incident_status_id IS NOT NULL) AND ((last_review_date IS NULL) OR (last_review_date IS NOT NULL)));


--
-- Name: compliance_urls_filter_last_seen_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_filter_last_seen_idx ON public.compliance_urls USING btree (company_id, incident_status_id, disabled, last_seen, id) INCLUDE (discovery_date) WHERE ((incident_status_id IS NOT NULL) AND ((last_seen IS NULL) OR (last_seen IS NOT NULL)));


--
-- Name: compliance_urls_last_review_date_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_last_review_date_idx ON public.compliance_urls USING btree (company_id, last_review_date, id) INCLUDE (incident_status_id, disabled, discovery_date) WHERE ((last_review_date IS NULL) OR (last_review_date IS NOT NULL));


--
-- Name: compliance_urls_last_seen_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX compliance_urls_last_seen_idx ON public.compliance_urls USING btree (company_id, last_seen, id) INCLUDE (incident_status_id, disabled, discovery_date) WHERE ((last_seen IS NULL) OR (last_seen IS NOT NULL));


--
-- Name: compliance_urls_url_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX compliance_urls_url_key ON public.compliance_urls USING btree (company_id, url_hash) WHERE (url_hash IS NOT NULL);


--
-- Name: incidents_url_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX incidents_url_idx ON public.incidents USING btree (company_id, url_id) WHERE (url_id IS NOT NULL);


--
-- Name: vocabulary_entries_name_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX vocabulary_entries_name_key ON public.vocabulary_entries USING btree (company_id, vocabulary, parent_id, name) NULLS NOT DISTINCT WHERE (name IS NOT NULL);


--
-- Name: changes_default_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_default_company_id_resource_ids_position_idx;


--
-- Name: changes_default_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_default_company_id_resource_position_changed_at_idx;


--
-- Name: changes_default_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_pkey ATTACH PARTITION public.changes_default_pkey;


--
-- Name: changes_y2026m11_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_ids_position_idx;


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_position_changed_at_idx;


--
-- Name: changes_y2026m11_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_pkey ATTACH PARTITION public.changes_y2026m11_pkey;


--
-- Name: changes_y2026m12_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_ids_position_idx;


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_position_changed_at_idx;


--
-- Name: changes_y2026m12_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_pkey ATTACH PARTITION public.changes_y2026m12_pkey;


--
-- Name: affiliates a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.affiliates REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_affiliates();


--
-- Name: compliance_cases a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.compliance_cases REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_cases();


--
-- Name: compliance_urls a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.compliance_urls REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_urls();


--
-- Name: incidents a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.incidents REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_incidents();


--
-- Name: infractions a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.infractions REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_infractions();


--
-- Name: vocabulary_entries a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.vocabulary_entries REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_vocabulary_entries();


--
-- Name: affiliates a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.affiliates REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_affiliates();


--
-- Name: compliance_cases a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.compliance_cases REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_cases();


--
-- Name: compliance_urls a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.compliance_urls REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_urls();


--
-- Name: incidents a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.incidents REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_incidents();


--
-- Name: infractions a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.infractions REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_infractions();


--
-- Name: vocabulary_entries a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.vocabulary_entries REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_vocabulary_entries();


--
-- Name: affiliates a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.affiliates REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_affiliates();


--
-- Name: compliance_cases a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.compliance_cases REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_cases();


--
-- Name: compliance_urls a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.compliance_urls REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_compliance_urls();


--
-- Name: incidents a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.incidents REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_incidents();


--
-- Name: infractions a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.infractions REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_infractions();


--
-- Name: vocabulary_entries a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE ON public.vocabulary_entries REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.record_vocabulary_entries();


--
-- Name: affiliates affiliates_revised; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER affiliates_revised BEFORE UPDATE ON public.affiliates FOR EACH ROW WHEN ((new.revision = old.revision)) EXECUTE FUNCTION public.count_revision();


--
-- Name: compliance_cases compliance_cases_count_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_cases_count_deleted AFTER DELETE ON public.compliance_cases REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_cases();


--
-- Name: compliance_cases compliance_cases_count_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_cases_count_inserted AFTER INSERT ON public.compliance_cases REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_cases();


--
-- Name: compliance_cases compliance_cases_count_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_cases_count_updated AFTER UPDATE ON public.compliance_cases REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_cases();


--
-- Name: compliance_cases compliance_cases_revised; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_cases_revised BEFORE UPDATE ON public.compliance_cases FOR EACH ROW WHEN ((new.revision = old.revision)) EXECUTE FUNCTION public.count_revision();


--
-- Name: compliance_urls compliance_urls_count_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_urls_count_deleted AFTER DELETE ON public.compliance_urls REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_urls();


--
-- Name: compliance_urls compliance_urls_count_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_urls_count_inserted AFTER INSERT ON public.compliance_urls REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_urls();


--
-- Name: compliance_urls compliance_urls_count_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_urls_count_updated AFTER UPDATE ON public.compliance_urls REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_compliance_urls();


--
-- Name: incidents incidents_attached; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER incidents_attached AFTER INSERT ON public.incidents REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.set_case_of_urls();


--
-- Name: incidents incidents_detached; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER incidents_detached AFTER DELETE ON public.incidents REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.set_case_of_urls();


--
-- Name: compliance_cases compliance_cases_affiliate_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_cases
    ADD CONSTRAINT compliance_cases_affiliate_fkey FOREIGN KEY (company_id, affiliate_id) REFERENCES public.affiliates(company_id, id);


--
-- Name: compliance_urls compliance_urls_affiliate_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_urls
    ADD CONSTRAINT compliance_urls_affiliate_fkey FOREIGN KEY (company_id, affiliate_id) REFERENCES public.affiliates(company_id, id);


--
-- Name: compliance_urls compliance_urls_case_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.compliance_urls
    ADD CONSTRAINT compliance_urls_case_fkey FOREIGN KEY (company_id, case_id) REFERENCES public.compliance_cases(company_id, id);


--
-- Name: incidents incidents_case_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT incidents_case_fkey FOREIGN KEY (company_id, case_id) REFERENCES public.compliance_cases(company_id, id);


--
-- Name: incidents incidents_url_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.incidents
    ADD CONSTRAINT incidents_url_fkey FOREIGN KEY (company_id, url_id) REFERENCES public.compliance_urls(company_id, id);


--
-- Name: infractions infractions_url_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.infractions
    ADD CONSTRAINT infractions_url_fkey FOREIGN KEY (company_id, url_id) REFERENCES public.compliance_urls(company_id, id);


--
-- Name: webhook_deliveries webhook_deliveries_webhook_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_webhook_fkey FOREIGN KEY (company_id, webhook_id) REFERENCES public.webhooks(company_id, id) ON DELETE CASCADE;


--
-- Name: SCHEMA public; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA public TO compliance_service;


--
-- Name: FUNCTION change_case_of_urls(company bigint, url_ids bigint[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_case_of_urls(company bigint, url_ids bigint[]) TO compliance_service;


--
-- Name: FUNCTION change_columns(resource integer); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_columns(resource integer) TO compliance_service;


--
-- Name: FUNCTION change_compliance_case_counts(changes public.compliance_case_count_change[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_compliance_case_counts(changes public.compliance_case_count_change[]) TO compliance_service;


--
-- Name: FUNCTION change_compliance_url_counts(changes public.compliance_url_count_change[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_compliance_url_counts(changes public.compliance_url_count_change[]) TO compliance_service;


--
-- Name: FUNCTION change_digest(resource smallint, columns smallint, operation smallint, ids bigint[], records text[], changed_by jsonb, key uuid); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_digest(resource smallint, columns smallint, operation smallint, ids bigint[], records text[], changed_by jsonb, key uuid) TO compliance_service;


--
-- Name: FUNCTION change_fields(resource smallint, columns smallint, operation smallint, record text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_fields(resource smallint, columns smallint, operation smallint, record text) TO compliance_service;


--
-- Name: FUNCTION change_hash(previous bytea, digest bytea, "position" bigint, changed_at timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_hash(previous bytea, digest bytea, "position" bigint, changed_at timestamp with time zone) TO compliance_service;


--
-- Name: FUNCTION compliance_case_buckets(id_bucket bigint, created_day integer); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.compliance_case_buckets(id_bucket bigint, created_day integer) TO compliance_service;


--
-- Name: FUNCTION compliance_case_buckets(id bigint, created_date timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.compliance_case_buckets(id bigint, created_date timestamp with time zone) TO compliance_service;


--
-- Name: FUNCTION compliance_url_buckets(id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.compliance_url_buckets(id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer) TO compliance_service;


--
-- Name: FUNCTION count_compliance_cases(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.count_compliance_cases() TO compliance_service;


--
-- Name: FUNCTION count_compliance_urls(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.count_compliance_urls() TO compliance_service;


--
-- Name: FUNCTION count_revision(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.count_revision() TO compliance_service;


--
-- Name: FUNCTION erased_record(resource smallint, columns smallint, operation smallint, record text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.erased_record(resource smallint, columns smallint, operation smallint, record text) TO compliance_service;


--
-- Name: FUNCTION filled_record(resource smallint, columns smallint, operation smallint, record text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.filled_record(resource smallint, columns smallint, operation smallint, record text) TO compliance_service;


--
-- Name: FUNCTION keep_changes(days integer); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.keep_changes(days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.keep_changes(days integer) TO compliance_service;


--
-- Name: FUNCTION new_value(cleared text[], name text, given anyelement, other anyelement); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.new_value(cleared text[], name text, given anyelement, other anyelement) TO compliance_service;


--
-- Name: FUNCTION record_affiliates(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_affiliates() TO compliance_service;


--
-- Name: FUNCTION record_changes(entries public.change_entry[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_changes(entries public.change_entry[]) TO compliance_service;


--
-- Name: FUNCTION record_changes_of(recorded text, resource integer); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_changes_of(recorded text, resource integer) TO compliance_service;


--
-- Name: FUNCTION record_compliance_cases(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_compliance_cases() TO compliance_service;


--
-- Name: FUNCTION record_compliance_urls(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_compliance_urls() TO compliance_service;


--
-- Name: FUNCTION record_incidents(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_incidents() TO compliance_service;


--
-- Name: FUNCTION record_infractions(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_infractions() TO compliance_service;


--
-- Name: FUNCTION record_vocabulary_entries(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.record_vocabulary_entries() TO compliance_service;


--
-- Name: FUNCTION set_case_of_urls(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.set_case_of_urls() TO compliance_service;


--
-- Name: FUNCTION utc_day(instant timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.utc_day(instant timestamp with time zone) TO compliance_service;


--
-- Name: TABLE _sqlx_migrations; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public._sqlx_migrations TO compliance_service;


--
-- Name: TABLE affiliates; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.affiliates TO compliance_service;


--
-- Name: SEQUENCE affiliates_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.affiliates_id_seq TO compliance_service;


--
-- Name: TABLE change_positions; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.change_positions TO compliance_service;


--
-- Name: TABLE changes; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.changes TO compliance_service;


--
-- Name: TABLE changes_default; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.changes_default TO compliance_service;


--
-- Name: TABLE changes_y2026m11; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.changes_y2026m11 TO compliance_service;


--
-- Name: TABLE changes_y2026m12; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.changes_y2026m12 TO compliance_service;


--
-- Name: TABLE compliance_case_counts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.compliance_case_counts TO compliance_service;


--
-- Name: TABLE compliance_cases; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.compliance_cases TO compliance_service;


--
-- Name: SEQUENCE compliance_cases_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.compliance_cases_id_seq TO compliance_service;


--
-- Name: TABLE compliance_url_counts; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.compliance_url_counts TO compliance_service;


--
-- Name: TABLE compliance_urls; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.compliance_urls TO compliance_service;


--
-- Name: SEQUENCE compliance_urls_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.compliance_urls_id_seq TO compliance_service;


--
-- Name: TABLE incidents; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.incidents TO compliance_service;


--
-- Name: SEQUENCE incidents_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.incidents_id_seq TO compliance_service;


--
-- Name: TABLE infractions; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.infractions TO compliance_service;


--
-- Name: SEQUENCE infractions_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.infractions_id_seq TO compliance_service;


--
-- Name: TABLE vocabulary_entries; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.vocabulary_entries TO compliance_service;


--
-- Name: SEQUENCE vocabulary_entries_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.vocabulary_entries_id_seq TO compliance_service;


--
-- Name: TABLE webhook_deliveries; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.webhook_deliveries TO compliance_service;


--
-- Name: TABLE webhooks; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE public.webhooks TO compliance_service;


--
-- Name: SEQUENCE webhooks_id_seq; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT,USAGE ON SEQUENCE public.webhooks_id_seq TO compliance_service;


--
-- Name: DEFAULT PRIVILEGES FOR SEQUENCES; Type: DEFAULT ACL; Schema: public; Owner: -
--

ALTER DEFAULT PRIVILEGES FOR ROLE compliance IN SCHEMA public GRANT SELECT,USAGE ON SEQUENCES  TO compliance_service;


--
-- Name: DEFAULT PRIVILEGES FOR FUNCTIONS; Type: DEFAULT ACL; Schema: public; Owner: -
--

ALTER DEFAULT PRIVILEGES FOR ROLE compliance IN SCHEMA public GRANT ALL ON FUNCTIONS  TO compliance_service;


--
-- Name: DEFAULT PRIVILEGES FOR TABLES; Type: DEFAULT ACL; Schema: public; Owner: -
--

ALTER DEFAULT PRIVILEGES FOR ROLE compliance IN SCHEMA public GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES  TO compliance_service;


--
-- PostgreSQL database dump complete
--

\unrestrict 0iKaePtfWABdWCEl8mW0spOhniDTbPtdwxwsKG5dlkAZos5AdcwA32gCOrOoBzn


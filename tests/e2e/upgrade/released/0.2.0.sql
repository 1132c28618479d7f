--
-- PostgreSQL database dump
--

\restrict 8CJwMErBl4cLcKGqQExwsF3bAiNtgZ5tR7OVelzts3XcxTPK82ZAG0xarHkDIOW

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
-- Name: change_row; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.change_row AS (
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
-- Name: recorded_affiliates; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_affiliates AS (
	company_id bigint,
	id bigint,
	client_affiliate_id text,
	affiliate_name text,
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
	revision bigint
);


--
-- Name: recorded_compliance_cases; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_compliance_cases AS (
	company_id bigint,
	id bigint,
	affiliate_id bigint,
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
	request_id text,
	revision bigint,
	opened_with bytea
);


--
-- Name: recorded_compliance_urls; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_compliance_urls AS (
	company_id bigint,
	id bigint,
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
	transcription_status_id integer
);


--
-- Name: recorded_incidents; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_incidents AS (
	company_id bigint,
	id bigint,
	case_id bigint,
	incident_type smallint,
	url_id bigint,
	reference text,
	infraction_type_id integer,
	infraction_name_id integer
);


--
-- Name: recorded_infractions; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_infractions AS (
	company_id bigint,
	id bigint,
	url_id bigint,
	infraction_type_id integer,
	infraction_name_id integer,
	created_date timestamp with time zone
);


--
-- Name: recorded_vocabulary_entries; Type: TYPE; Schema: public; Owner: -
--

CREATE TYPE public.recorded_vocabulary_entries AS (
	company_id bigint,
	vocabulary smallint,
	id integer,
	name text,
	parent_id integer
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
-- Name: advance_ids(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.advance_ids(of_table text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    r record; has_advanced boolean := false;
begin
    perform pg_advisory_xact_lock(hashtext('compliance advance_ids'), 1);
    for r in select s.*, t.* from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) t
        where s.of_table = advance_ids.of_table::regclass and t.last_id < t.greatest_id loop
        perform setval(r.id_sequence, r.greatest_id);
        has_advanced := true;
    end loop;
    return has_advanced;
end
$$;


--
-- Name: change_case_of_urls(bigint, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_case_of_urls(company bigint, url_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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
    SET search_path TO 'public', 'pg_temp'
    AS $$
    select count(*)::smallint from pg_attribute
    where attnum > 0 and not attisdropped and attrelid = (array[
        'recorded_affiliates', 'recorded_compliance_urls', 'recorded_infractions', 'recorded_compliance_cases', 'recorded_incidents',
        'recorded_vocabulary_entries'
    ])[resource]::regclass
$$;


--
-- Name: change_compliance_case_counts(public.compliance_case_count_change[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_compliance_case_counts(changes public.compliance_case_count_change[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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
    SET search_path TO 'public', 'pg_temp'
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
    SET search_path TO 'public', 'pg_temp'
    AS $$
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


--
-- Name: change_hash(bytea, bytea, bigint, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_hash(previous bytea, digest bytea, "position" bigint, changed_at timestamp with time zone) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select sha256(coalesce(previous, '') || digest || int8send("position") || timestamptz_send(changed_at))
$$;


--
-- Name: change_time(timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.change_time(previous timestamp with time zone, clock timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (previous > (clock + '00:05:00'::interval)) THEN clock ELSE GREATEST(previous, clock) END;


--
-- Name: compliance_case_buckets(bigint, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.compliance_case_buckets(id_bucket bigint, created_day integer) RETURNS TABLE(dimension public.count_dimension, bucket bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select b.dimension, b.bucket
    from (values
        ('all'::public.count_dimension, 0::bigint),
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
    select b.dimension, b.bucket from public.compliance_case_buckets(id >> 10, public.utc_day(created_date)) b
$$;


--
-- Name: compliance_url_buckets(bigint, integer, integer, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.compliance_url_buckets(id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer) RETURNS TABLE(dimension public.count_dimension, bucket bigint, by_id boolean)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select b.dimension, b.bucket, b.by_id
    from (values
        ('all'::public.count_dimension, 0::bigint, false),
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
    SET search_path TO 'public', 'pg_temp'
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
    SET search_path TO 'public', 'pg_temp'
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
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    -- Only affiliates have a name.
    if tg_table_name like 'affiliates%' then
        if published_name(new.affiliate_name) <> new.affiliate_name then
            return new;
        end if;
    end if;
    new.revision := old.revision + 1;
    return new;
end
$$;


--
-- Name: current_identity(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.current_identity() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    cluster text := 'unknown';
begin
    if pg_is_in_recovery() then
        return null;
    end if;
    begin
        cluster := (select system_identifier from pg_control_system());
    exception when insufficient_privilege then
        -- Some providers keep that to themselves.
    end;
    return concat_ws(' ', cluster, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
        (select d.oid from pg_database d where d.datname = current_database()), 'change_positions'::regclass::oid);
end
$$;


--
-- Name: drop_change_month(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.drop_change_month() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout TO '40ms'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET search_path TO 'public', 'pg_temp'
    AS $_$
declare
    part name; days integer; bound timestamptz; others bigint; last_run timestamptz; steady timestamptz; is_steady boolean;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance keep_changes')) then
        return;
    end if;
    select r.days, r.last_run_at, r.steady_since into strict days, last_run, steady from change_retention r;
    is_steady := last_run between now() - interval '2 days' and now() and steady <= now() - interval '1 day';
    bound := now() - make_interval(days => days);
    select c.relname into part from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'changes'::regclass and c.relname ~ '^changes_y[0-9]{4}m[0-9]{2}$'
        and (to_date(substr(c.relname, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC' <= bound
    order by c.relname
    limit 1;
    if not found then
        bound := date_trunc('month', bound at time zone 'UTC') at time zone 'UTC';
        if not exists (select from changes_default c where c.changed_at < bound) then
            return;
        end if;
    end if;
    if not is_steady then
        raise object_not_in_prerequisite_state using message = format(
            'no change is dropped before %s UTC, since retention did not run for two days, or the clock jumped: make sure that the clock is right',
            to_char((greatest(steady, least(last_run, now())) + interval '1 day') at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'));
    end if;
    if part is not null then
        perform record_change_drops(part, 'infinity', bound, days);
        execute format(
            'select count(*) from change_positions p
            cross join lateral (
                select c.position from %I c where c.company_id = p.company_id and c.position > p.dropped_position limit 1
            ) c', part) into others;
        if others > 0 then
            raise object_not_in_prerequisite_state using message = format(
                'the month %s has changes of %s companies that follow changes which are to be kept: it is dropped with those', part, others);
        end if;
        execute format('drop table %I', part);
    else
        perform record_change_drops('changes_default', bound, bound, days);
        delete from changes_default c where c.changed_at < bound and not exists (
            select from change_positions p where p.company_id = c.company_id and p.dropped_position < c.position);
    end if;
    -- Those before them, whose time was wrong.
    delete from changes c using change_drops d
        where d.dropped_at = now() and d.company_id = c.company_id and c.position <= d.position;
end
$_$;


--
-- Name: erase_changes(bigint, smallint, bigint, bigint[], bigint, smallint[], bigint[], bytea, jsonb); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.erase_changes(company bigint, erased_kind smallint, erased_id bigint, looked_at bigint[], looked_after bigint, kinds smallint[], record_ids bigint[], seed bytea, author jsonb) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET plan_cache_mode TO 'force_custom_plan'
    SET search_path TO 'public', 'pg_temp'
    AS $$
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


--
-- Name: erased_record(smallint, smallint, smallint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.erased_record(resource smallint, columns smallint, operation smallint, record text) RETURNS text
    LANGUAGE sql STABLE
    SET "DateStyle" TO 'ISO'
    SET search_path TO 'public', 'pg_temp'
    AS $$
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


--
-- Name: filled_record(smallint, smallint, smallint, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.filled_record(resource smallint, columns smallint, operation smallint, record text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
    select case when operation = 2 then record
        else left(record, -1) || repeat(',', change_columns(resource) - columns) || ')' end
$$;


--
-- Name: first_position(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.first_position() RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$select 0::bigint$$;


--
-- Name: id_reached(regclass, regclass, name); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.id_reached(id_sequence regclass, of_table regclass, of_column name, OUT last_id bigint, OUT greatest_id bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
declare
    most constant bigint := (select least(q.seqmax, (1::bigint << 53) - 1) from pg_sequence q where q.seqrelid = id_sequence);
begin
    execute format('select case when s.is_called then s.last_value else s.last_value - 1 end,
        (select coalesce(max(t.%1$I), 0) from %2$s t where t.%1$I <= $1) from %3$s s', of_column, of_table, id_sequence)
        into last_id, greatest_id using most - (most >> 11);
end
$_$;


--
-- Name: id_sequences(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.id_sequences() RETURNS TABLE(id_sequence regclass, of_table regclass, of_column name, most bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'public', 'pg_temp'
    AS $$
    select c.oid::regclass, t.oid::regclass, a.attname, least(q.seqmax, (1::bigint << 53) - 1)
    from pg_class t
    join pg_attribute a on a.attrelid = t.oid and a.attname = 'id'
    join pg_depend d on d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid
        and d.refobjsubid = a.attnum and d.deptype in ('a', 'i')
    join pg_class c on c.oid = d.objid
    join pg_sequence q on q.seqrelid = c.oid
    where t.relnamespace = (select p.relnamespace from pg_class p where p.oid = 'change_positions'::regclass)
        and t.relname in ('affiliates', 'compliance_cases', 'compliance_urls', 'incidents', 'infractions', 'vocabulary_entries', 'webhooks')
    order by c.relname
$$;


--
-- Name: is_database_known(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.is_database_known() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    return (select coalesce(bool_and(i.identity = current_identity()), false) from database_identity i);
end
$$;


--
-- Name: jump_ahead(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.jump_ahead() RETURNS TABLE(kind text, name text, before bigint, after bigint)
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    distance constant bigint := restore_distance();
    number bigint; target bigint; company bigint := 0; kept bigint; r record; entry change_entry; is_ready boolean;
begin
    -- Another call waits here.
    lock table database_identity in share row exclusive mode;
    -- The clock may be behind that of the server before.
    number := greatest(
        floor(extract(epoch from clock_timestamp() - timestamptz '2020-01-01 00:00:00Z')),
        first_position() / distance + 1,
        (select coalesce(max(p.position), 0) from change_positions p) / distance + 1);
    target := number * distance;
    if number >= (1::bigint << 53) / distance then
        raise numeric_value_out_of_range using message = format(
            'positions cannot jump ahead to %s: they end at 2^53. The clock of the database''s server says %s', target, clock_timestamp());
    end if;
    -- There are several rows if a service wrote one while a restore had not made the key yet.
    select coalesce(max(i.restores), 0) + 1 as restores into r from database_identity i;
    delete from database_identity;
    insert into database_identity (identity, restores, restored_at) values (current_identity(), r.restores, clock_timestamp());
    execute format('create or replace function first_position() returns bigint language sql stable parallel safe as %L',
        format('select %s::bigint', target));
    -- Receivers know positions of a company whose first changes are lost.
    insert into change_positions (company_id, position, changed_at)
    select distinct w.company_id, 0, clock_timestamp() from webhooks w
    on conflict on constraint change_positions_pkey do nothing;
    loop
        -- One after the other, in their order, as writers lock them.
        company := (select min(n.company_id) from (
            select p.company_id from change_positions p where p.company_id > company order by p.company_id limit 1
        ) n);
        exit when company is null;
        select p.position into kept from change_positions p where p.company_id = company for update;
        -- The entry is the last position of the jump.
        update change_positions p set position = target - 1 where p.company_id = company;
        kind := 'company';
        name := company::text;
        before := kept;
        after := target;
        entry := jsonb_populate_record(null::change_entry, jsonb_build_object('company_id', company, 'resource', 0, 'columns', 0, 'operation', 2,
            'ids', jsonb_build_array(company), 'records', jsonb_build_array(format(',"position":[%s,%s]', before, after)),
            'changed_by', '[null, "compliance restored"]'::jsonb, 'key', gen_random_uuid()));
        perform record_changes(array[entry]) from change_positions p where p.company_id = company;
        return next;
    end loop;
    -- A message that has an ID may have been received with other changes.
    update webhooks w set message_id = null, message_to = null where w.message_id is not null;
    -- A sequence is not set back if something fails, so all are checked before the first one is set.
    foreach is_ready in array array[false, true] loop
        for r in select s.*, t.* from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) t loop
            kind := 'sequence';
            name := r.id_sequence::text;
            before := greatest(r.last_id, r.greatest_id);
            after := number * ((r.most + 1) >> 31);
            if after <= before then
                after := before + 1 + (r.most >> 16);
            end if;
            if after > r.most then
                raise numeric_value_out_of_range using message = format('%s cannot jump ahead from %s: its IDs end at %s', name, before, r.most);
            end if;
            if is_ready then
                perform setval(r.id_sequence, after);
                return next;
            end if;
        end loop;
    end loop;
end
$$;


--
-- Name: keep_changes(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.keep_changes(days integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout TO '40ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    begin
        perform make_change_months();
    exception when lock_not_available then
        -- The next call makes them.
    end;
    if days <= (select r.days from change_retention r) then
        begin
            perform drop_change_month();
        exception when lock_not_available or object_not_in_prerequisite_state then
            -- A later call drops it.
        end;
    end if;
end
$$;


--
-- Name: leave_to_owner(regclass, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.leave_to_owner(owned regclass, is_part boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    grantee text;
begin
    for grantee in
        select distinct case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
        from pg_class c cross join lateral aclexplode(c.relacl) a
        where c.oid = owned and a.grantee <> c.relowner
    loop
        execute format('revoke %s on %s from %s',
            case when is_part then 'all' else 'insert, update, delete, truncate, references, trigger' end, owned, grantee);
    end loop;
end
$$;


--
-- Name: make_change_months(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.make_change_months() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET lock_timeout TO '40ms'
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    month timestamp; part name;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance make_change_months')) then
        return;
    end if;
    update change_retention r set last_run_at = now(),
        steady_since = case when r.last_run_at between now() - interval '2 days' and now() then least(r.steady_since, now()) else now() end;
    if to_regclass('changes_default') is null then
        create table changes_default partition of changes default;
        perform leave_to_owner('changes_default', true);
    end if;
    for month in select date_trunc('month', now() at time zone 'UTC') + make_interval(months => n) from generate_series(0, 1) n loop
        part := to_char(month, '"changes_y"YYYY"m"MM');
        if to_regclass(part::text) is null and not exists (
            select 1 from changes_default
            where changed_at >= month at time zone 'UTC' and changed_at < (month + interval '1 month') at time zone 'UTC'
        ) then
            execute format('create table %I (like changes including compression)', part);
            perform leave_to_owner(part::regclass, true);
            execute format('alter table changes attach partition %I for values from (%L) to (%L)', part,
                month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
        end if;
    end loop;
end
$$;


--
-- Name: mend_dates_of_affiliates(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.mend_dates_of_affiliates() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if new.start_date is not distinct from old.start_date then new.start_date := shown(new.start_date); end if;
    return new;
end
$$;


--
-- Name: mend_dates_of_compliance_cases(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.mend_dates_of_compliance_cases() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if new.reviewed_date is not distinct from old.reviewed_date then new.reviewed_date := shown(new.reviewed_date); end if;
    if new.resolved_date is not distinct from old.resolved_date then new.resolved_date := shown(new.resolved_date); end if;
    if new.first_action_date is not distinct from old.first_action_date then new.first_action_date := shown(new.first_action_date); end if;
    if new.flagged_date is not distinct from old.flagged_date then new.flagged_date := shown(new.flagged_date); end if;
    if new.follow_up_date is not distinct from old.follow_up_date then new.follow_up_date := shown(new.follow_up_date); end if;
    if new.closed_date is not distinct from old.closed_date then new.closed_date := shown(new.closed_date); end if;
    if new.last_updated_date is not distinct from old.last_updated_date then new.last_updated_date := shown(new.last_updated_date); end if;
    if new.created_date is not distinct from old.created_date then new.created_date := nearest_shown(new.created_date); end if;
    return new;
end
$$;


--
-- Name: mend_dates_of_compliance_urls(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.mend_dates_of_compliance_urls() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if new.last_review_date is not distinct from old.last_review_date then new.last_review_date := shown(new.last_review_date); end if;
    if new.last_crawl_date is not distinct from old.last_crawl_date then new.last_crawl_date := shown(new.last_crawl_date); end if;
    if new.last_seen is not distinct from old.last_seen then new.last_seen := shown(new.last_seen); end if;
    if new.discovery_date is not distinct from old.discovery_date then new.discovery_date := nearest_shown(new.discovery_date); end if;
    return new;
end
$$;


--
-- Name: mend_dates_of_infractions(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.mend_dates_of_infractions() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if new.created_date is not distinct from old.created_date then new.created_date := nearest_shown(new.created_date); end if;
    return new;
end
$$;


--
-- Name: mend_dates_of_webhooks(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.mend_dates_of_webhooks() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if new.failing_since is not distinct from old.failing_since then new.failing_since := shown(new.failing_since); end if;
    if new.secret_rotated_at is not distinct from old.secret_rotated_at then new.secret_rotated_at := shown(new.secret_rotated_at); end if;
    if new.tested_at is not distinct from old.tested_at then new.tested_at := shown(new.tested_at); end if;
    if new.previous_secret_until is not distinct from old.previous_secret_until then new.previous_secret_until := shown(new.previous_secret_until); end if;
    if new.next_attempt_at is not distinct from old.next_attempt_at then new.next_attempt_at := nearest_shown(new.next_attempt_at); end if;
    if new.leased_until is not distinct from old.leased_until then new.leased_until := nearest_shown(new.leased_until); end if;
    if new.created_at is not distinct from old.created_at then new.created_at := nearest_shown(new.created_at); end if;
    return new;
end
$$;


--
-- Name: nearest_shown(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.nearest_shown(instant timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (instant < '0001-01-01 00:00:00+00'::timestamp with time zone) THEN '0001-01-01 00:00:00+00'::timestamp with time zone WHEN (instant >= '10000-01-01 00:00:00+00'::timestamp with time zone) THEN '9999-12-31 23:59:59+00'::timestamp with time zone ELSE instant END;


--
-- Name: new_value(text[], text, anyelement, anyelement); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.new_value(cleared text[], name text, given anyelement, other anyelement) RETURNS anyelement
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ select case when given is not null or name = any(cleared) then given else other end $$;


--
-- Name: notice_restore(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.notice_restore() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    if is_database_known() then
        return false;
    end if;
    -- Another process may be here, too.
    lock table database_identity in share row exclusive mode;
    if is_database_known() then
        return false;
    end if;
    if not exists (select from database_identity)
        or not exists (select from pg_constraint c where c.conrelid = 'database_identity'::regclass and c.contype = 'p') then
        raise object_not_in_prerequisite_state using message = 'the database is not restored completely: database_identity has no row, or no key';
    end if;
    perform from jump_ahead();
    return true;
end
$$;


--
-- Name: placed_digest(bytea, bigint, bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.placed_digest(digest bytea, company_id bigint, parents bigint[]) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(((digest || int8send(company_id)) || convert_to(COALESCE((parents)::text, ''::text), 'UTF8'::name)));


--
-- Name: position_before(smallint, smallint, bigint, bigint[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.position_before(resource smallint, operation smallint, "position" bigint, ids bigint[], records text[]) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$
    select coalesce(
        case when resource = 0 and operation = 2 then substring(records[1] from '^,"position":\[(\d{1,16}),\d{1,16}\]$')::bigint end,
        "position" - cardinality(ids))
$_$;


--
-- Name: published_name(text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.published_name(name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    select case when starts_with(name, repeat('.', 200) || ':') then substr(name, 202) else name end
$$;


--
-- Name: published_value(text, name); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.published_value(alias text, "column" name) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$
    select format(case "column" when 'affiliate_name' then 'published_name(%I.%I)' else '%I.%I' end, alias, "column")
$$;


--
-- Name: record_affiliates(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_affiliates() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.client_affiliate_id, r.affiliate_name, r.email_one, r.email_two, r.phone_one, r.phone_two, r.facebook, r.instagram, r.youtube, r.twitter, r.tiktok, r.pintrest, r.country, r.first_name, r.last_name, r.notes, r.address, r.city, r.state, r.zip, r.ranking, r.replicated_website, r.sponsor, r.upline, r.status, r.start_date, r.language_used, r.territory, r.entrepreneur_id, r.entrepreneur_spouse_id, r.international_distributor, r.is_territory_director, r.jv_status, r.league, r.territory_master, r.merchant_type, r.company_name, r.sponsor_id, r.sponsor_email, r.pay_rank, r.recognition_rank, r.revision)::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.client_affiliate_id, r.affiliate_name, r.email_one, r.email_two, r.phone_one, r.phone_two, r.facebook, r.instagram, r.youtube, r.twitter, r.tiktok, r.pintrest, r.country, r.first_name, r.last_name, r.notes, r.address, r.city, r.state, r.zip, r.ranking, r.replicated_website, r.sponsor, r.upline, r.status, r.start_date, r.language_used, r.territory, r.entrepreneur_id, r.entrepreneur_spouse_id, r.international_distributor, r.is_territory_director, r.jv_status, r.league, r.territory_master, r.merchant_type, r.company_name, r.sponsor_id, r.sponsor_email, r.pay_rank, r.recognition_rank, r.revision)::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.client_affiliate_id is distinct from n.client_affiliate_id then ',"client_affiliate_id":' || json_build_array(o.client_affiliate_id, n.client_affiliate_id) end, case when published_name(o.affiliate_name) is distinct from published_name(n.affiliate_name) then ',"affiliate_name":' || json_build_array(published_name(o.affiliate_name), published_name(n.affiliate_name)) end, case when o.email_one is distinct from n.email_one then ',"email_one":' || json_build_array(o.email_one, n.email_one) end, case when o.email_two is distinct from n.email_two then ',"email_two":' || json_build_array(o.email_two, n.email_two) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.facebook is distinct from n.facebook then ',"facebook":' || json_build_array(o.facebook, n.facebook) end, case when o.instagram is distinct from n.instagram then ',"instagram":' || json_build_array(o.instagram, n.instagram) end, case when o.youtube is distinct from n.youtube then ',"youtube":' || json_build_array(o.youtube, n.youtube) end, case when o.twitter is distinct from n.twitter then ',"twitter":' || json_build_array(o.twitter, n.twitter) end, case when o.tiktok is distinct from n.tiktok then ',"tiktok":' || json_build_array(o.tiktok, n.tiktok) end, case when o.pintrest is distinct from n.pintrest then ',"pintrest":' || json_build_array(o.pintrest, n.pintrest) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.first_name is distinct from n.first_name then ',"first_name":' || json_build_array(o.first_name, n.first_name) end, case when o.last_name is distinct from n.last_name then ',"last_name":' || json_build_array(o.last_name, n.last_name) end, case when o.notes is distinct from n.notes then ',"notes":' || json_build_array(o.notes, n.notes) end, case when o.address is distinct from n.address then ',"address":' || json_build_array(o.address, n.address) end, case when o.city is distinct from n.city then ',"city":' || json_build_array(o.city, n.city) end, case when o.state is distinct from n.state then ',"state":' || json_build_array(o.state, n.state) end, case when o.zip is distinct from n.zip then ',"zip":' || json_build_array(o.zip, n.zip) end, case when o.ranking is distinct from n.ranking then ',"ranking":' || json_build_array(o.ranking, n.ranking) end, case when o.replicated_website is distinct from n.replicated_website then ',"replicated_website":' || json_build_array(o.replicated_website, n.replicated_website) end, case when o.sponsor is distinct from n.sponsor then ',"sponsor":' || json_build_array(o.sponsor, n.sponsor) end, case when o.upline is distinct from n.upline then ',"upline":' || json_build_array(o.upline, n.upline) end, case when o.status is distinct from n.status then ',"status":' || json_build_array(o.status, n.status) end, case when o.start_date is distinct from n.start_date then ',"start_date":' || json_build_array(o.start_date, n.start_date) end, case when o.language_used is distinct from n.language_used then ',"language_used":' || json_build_array(o.language_used, n.language_used) end, case when o.territory is distinct from n.territory then ',"territory":' || json_build_array(o.territory, n.territory) end, case when o.entrepreneur_id is distinct from n.entrepreneur_id then ',"entrepreneur_id":' || json_build_array(o.entrepreneur_id, n.entrepreneur_id) end, case when o.entrepreneur_spouse_id is distinct from n.entrepreneur_spouse_id then ',"entrepreneur_spouse_id":' || json_build_array(o.entrepreneur_spouse_id, n.entrepreneur_spouse_id) end, case when o.international_distributor is distinct from n.international_distributor then ',"international_distributor":' || json_build_array(o.international_distributor, n.international_distributor) end, case when o.is_territory_director is distinct from n.is_territory_director then ',"is_territory_director":' || json_build_array(o.is_territory_director, n.is_territory_director) end, case when o.jv_status is distinct from n.jv_status then ',"jv_status":' || json_build_array(o.jv_status, n.jv_status) end, case when o.league is distinct from n.league then ',"league":' || json_build_array(o.league, n.league) end, case when o.territory_master is distinct from n.territory_master then ',"territory_master":' || json_build_array(o.territory_master, n.territory_master) end, case when o.merchant_type is distinct from n.merchant_type then ',"merchant_type":' || json_build_array(o.merchant_type, n.merchant_type) end, case when o.company_name is distinct from n.company_name then ',"company_name":' || json_build_array(o.company_name, n.company_name) end, case when o.sponsor_id is distinct from n.sponsor_id then ',"sponsor_id":' || json_build_array(o.sponsor_id, n.sponsor_id) end, case when o.sponsor_email is distinct from n.sponsor_email then ',"sponsor_email":' || json_build_array(o.sponsor_email, n.sponsor_email) end, case when o.pay_rank is distinct from n.pay_rank then ',"pay_rank":' || json_build_array(o.pay_rank, n.pay_rank) end, case when o.recognition_rank is distinct from n.recognition_rank then ',"recognition_rank":' || json_build_array(o.recognition_rank, n.recognition_rank) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.client_affiliate_id is distinct from n.client_affiliate_id then ',"client_affiliate_id":' || json_build_array(o.client_affiliate_id, n.client_affiliate_id) end, case when published_name(o.affiliate_name) is distinct from published_name(n.affiliate_name) then ',"affiliate_name":' || json_build_array(published_name(o.affiliate_name), published_name(n.affiliate_name)) end, case when o.email_one is distinct from n.email_one then ',"email_one":' || json_build_array(o.email_one, n.email_one) end, case when o.email_two is distinct from n.email_two then ',"email_two":' || json_build_array(o.email_two, n.email_two) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.facebook is distinct from n.facebook then ',"facebook":' || json_build_array(o.facebook, n.facebook) end, case when o.instagram is distinct from n.instagram then ',"instagram":' || json_build_array(o.instagram, n.instagram) end, case when o.youtube is distinct from n.youtube then ',"youtube":' || json_build_array(o.youtube, n.youtube) end, case when o.twitter is distinct from n.twitter then ',"twitter":' || json_build_array(o.twitter, n.twitter) end, case when o.tiktok is distinct from n.tiktok then ',"tiktok":' || json_build_array(o.tiktok, n.tiktok) end, case when o.pintrest is distinct from n.pintrest then ',"pintrest":' || json_build_array(o.pintrest, n.pintrest) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.first_name is distinct from n.first_name then ',"first_name":' || json_build_array(o.first_name, n.first_name) end, case when o.last_name is distinct from n.last_name then ',"last_name":' || json_build_array(o.last_name, n.last_name) end, case when o.notes is distinct from n.notes then ',"notes":' || json_build_array(o.notes, n.notes) end, case when o.address is distinct from n.address then ',"address":' || json_build_array(o.address, n.address) end, case when o.city is distinct from n.city then ',"city":' || json_build_array(o.city, n.city) end, case when o.state is distinct from n.state then ',"state":' || json_build_array(o.state, n.state) end, case when o.zip is distinct from n.zip then ',"zip":' || json_build_array(o.zip, n.zip) end, case when o.ranking is distinct from n.ranking then ',"ranking":' || json_build_array(o.ranking, n.ranking) end, case when o.replicated_website is distinct from n.replicated_website then ',"replicated_website":' || json_build_array(o.replicated_website, n.replicated_website) end, case when o.sponsor is distinct from n.sponsor then ',"sponsor":' || json_build_array(o.sponsor, n.sponsor) end, case when o.upline is distinct from n.upline then ',"upline":' || json_build_array(o.upline, n.upline) end, case when o.status is distinct from n.status then ',"status":' || json_build_array(o.status, n.status) end, case when o.start_date is distinct from n.start_date then ',"start_date":' || json_build_array(o.start_date, n.start_date) end, case when o.language_used is distinct from n.language_used then ',"language_used":' || json_build_array(o.language_used, n.language_used) end, case when o.territory is distinct from n.territory then ',"territory":' || json_build_array(o.territory, n.territory) end, case when o.entrepreneur_id is distinct from n.entrepreneur_id then ',"entrepreneur_id":' || json_build_array(o.entrepreneur_id, n.entrepreneur_id) end, case when o.entrepreneur_spouse_id is distinct from n.entrepreneur_spouse_id then ',"entrepreneur_spouse_id":' || json_build_array(o.entrepreneur_spouse_id, n.entrepreneur_spouse_id) end, case when o.international_distributor is distinct from n.international_distributor then ',"international_distributor":' || json_build_array(o.international_distributor, n.international_distributor) end, case when o.is_territory_director is distinct from n.is_territory_director then ',"is_territory_director":' || json_build_array(o.is_territory_director, n.is_territory_director) end, case when o.jv_status is distinct from n.jv_status then ',"jv_status":' || json_build_array(o.jv_status, n.jv_status) end, case when o.league is distinct from n.league then ',"league":' || json_build_array(o.league, n.league) end, case when o.territory_master is distinct from n.territory_master then ',"territory_master":' || json_build_array(o.territory_master, n.territory_master) end, case when o.merchant_type is distinct from n.merchant_type then ',"merchant_type":' || json_build_array(o.merchant_type, n.merchant_type) end, case when o.company_name is distinct from n.company_name then ',"company_name":' || json_build_array(o.company_name, n.company_name) end, case when o.sponsor_id is distinct from n.sponsor_id then ',"sponsor_id":' || json_build_array(o.sponsor_id, n.sponsor_id) end, case when o.sponsor_email is distinct from n.sponsor_email then ',"sponsor_email":' || json_build_array(o.sponsor_email, n.sponsor_email) end, case when o.pay_rank is distinct from n.pay_rank then ',"pay_rank":' || json_build_array(o.pay_rank, n.pay_rank) end, case when o.recognition_rank is distinct from n.recognition_rank then ',"recognition_rank":' || json_build_array(o.recognition_rank, n.recognition_rank) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 1, 44, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.client_affiliate_id, r.affiliate_name, r.email_one, r.email_two, r.phone_one, r.phone_two, r.facebook, r.instagram, r.youtube, r.twitter, r.tiktok, r.pintrest, r.country, r.first_name, r.last_name, r.notes, r.address, r.city, r.state, r.zip, r.ranking, r.replicated_website, r.sponsor, r.upline, r.status, r.start_date, r.language_used, r.territory, r.entrepreneur_id, r.entrepreneur_spouse_id, r.international_distributor, r.is_territory_director, r.jv_status, r.league, r.territory_master, r.merchant_type, r.company_name, r.sponsor_id, r.sponsor_email, r.pay_rank, r.recognition_rank, r.revision)::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 1, 44, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.client_affiliate_id, r.affiliate_name, r.email_one, r.email_two, r.phone_one, r.phone_two, r.facebook, r.instagram, r.youtube, r.twitter, r.tiktok, r.pintrest, r.country, r.first_name, r.last_name, r.notes, r.address, r.city, r.state, r.zip, r.ranking, r.replicated_website, r.sponsor, r.upline, r.status, r.start_date, r.language_used, r.territory, r.entrepreneur_id, r.entrepreneur_spouse_id, r.international_distributor, r.is_territory_director, r.jv_status, r.league, r.territory_master, r.merchant_type, r.company_name, r.sponsor_id, r.sponsor_email, r.pay_rank, r.recognition_rank, r.revision)::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_change_drops(name, timestamp with time zone, timestamp with time zone, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_change_drops(part name, before timestamp with time zone, bound timestamp with time zone, days integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
begin
    -- What was dropped before drops were recorded, of a company that the step after this one has not reached.
    insert into change_drops (company_id, position, after, hash, dropped_at)
    select p.company_id, p.dropped_position, 0, p.dropped_hash, now()
    from change_positions p
    left join change_drops d on d.company_id = p.company_id
    where p.dropped_position > 0 and d.company_id is null
        and not (p.dropped_hash is null and p.dropped_position % restore_distance() = 0);
    execute format(
        'insert into change_drops (company_id, position, after, hash, changed_at, part, days, dropped_at, passed_over)
        select q.company_id, c.position, q.dropped_position, c.hash, c.changed_at, %1$L, $3, $4, r.passed_over
        from change_positions q
        cross join lateral (
            select c.position, c.hash, c.changed_at from %1$I c
            where c.company_id = q.company_id and c.changed_at < $1
            order by c.position desc limit 1
        ) c
        left join lateral (
            select k.position from changes k
            where k.company_id = q.company_id and k.position < c.position and k.changed_at between $2 and $4
            limit 1
        ) k on true
        cross join lateral (
            select coalesce(sum(r.position - position_before(r.resource, r.operation, r.position, r.ids, r.records) - 1), 0) as passed_over
            from changes r
            where r.company_id = q.company_id and r.resource = 0 and r.operation = 2 and cardinality(r.ids) = 1
                and r.ids[1] = q.company_id and r.position > q.dropped_position and r.position <= c.position
        ) r
        where c.position > q.dropped_position and k.position is null', part) using before, bound, days, now();
    update change_positions p set dropped_position = d.position, dropped_hash = d.hash
        from change_drops d
        where d.company_id = p.company_id and d.position > p.dropped_position;
end
$_$;


--
-- Name: record_changes(public.change_entry[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_changes(entries public.change_entry[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
        begin
            -- write_changes names the company_shards.
            perform write_changes(array(select row(e.*, null)::change_row from unnest(entries) e));
        end
        $$;


--
-- Name: record_changes_of(text, integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_changes_of(recorded text, resource integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
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
            from old_rows o join new_rows n on %s offset 0';
    parent_of text := '';
    same_key text := (
        select string_agg(format('n.%1$I = o.%1$I', a.attname), ' and ' order by a.attnum)
        from pg_constraint p join pg_attribute a on a.attrelid = p.conrelid and a.attnum = any(p.conkey)
        where p.conrelid = recorded::regclass and p.contype = 'p'); parent_of_updated text := '';
begin
    select string_agg(
            format($sql$case when %2$s is distinct from %3$s then ',"%1$s":' || json_build_array(%2$s, %3$s) end$sql$, attname,
                published_value('o', attname), published_value('n', attname)),
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
            if tg_table_schema <> %2$L then
                raise insufficient_privilege using message = format('changes of %%I.%%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then %s
            elsif tg_op = 'UPDATE' then %s
            else %s
            end if;
            return null;
        end
        $function$$sql$,
        recorded, current_schema(),
        format(record_rows, format(entry, resource, columns, 1, parents), format(rows_of, fields, parent_of, 'new_rows')),
        format(record_rows, format(entry, resource, columns, 2, parents), format(updated, changed, parent_of_updated, same_key)),
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
$_$;


--
-- Name: record_compliance_cases(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_compliance_cases() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.affiliate_id, r.case_worker, r.tags, r.case_status_id, r.sub_status_id, r.submitter, r.notice_status_id, r.risk_level_id, r.case_country, r.sub_affiliate_id, r.created_date, r.reviewed_date, r.resolved_date, r.first_action_date, r.flagged_date, r.follow_up_date, r.closed_date, r.last_updated_date, r.request_id, r.revision, r.opened_with)::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.affiliate_id, r.case_worker, r.tags, r.case_status_id, r.sub_status_id, r.submitter, r.notice_status_id, r.risk_level_id, r.case_country, r.sub_affiliate_id, r.created_date, r.reviewed_date, r.resolved_date, r.first_action_date, r.flagged_date, r.follow_up_date, r.closed_date, r.last_updated_date, r.request_id, r.revision, r.opened_with)::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.case_worker is distinct from n.case_worker then ',"case_worker":' || json_build_array(o.case_worker, n.case_worker) end, case when o.tags is distinct from n.tags then ',"tags":' || json_build_array(o.tags, n.tags) end, case when o.case_status_id is distinct from n.case_status_id then ',"case_status_id":' || json_build_array(o.case_status_id, n.case_status_id) end, case when o.sub_status_id is distinct from n.sub_status_id then ',"sub_status_id":' || json_build_array(o.sub_status_id, n.sub_status_id) end, case when o.submitter is distinct from n.submitter then ',"submitter":' || json_build_array(o.submitter, n.submitter) end, case when o.notice_status_id is distinct from n.notice_status_id then ',"notice_status_id":' || json_build_array(o.notice_status_id, n.notice_status_id) end, case when o.risk_level_id is distinct from n.risk_level_id then ',"risk_level_id":' || json_build_array(o.risk_level_id, n.risk_level_id) end, case when o.case_country is distinct from n.case_country then ',"case_country":' || json_build_array(o.case_country, n.case_country) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end, case when o.reviewed_date is distinct from n.reviewed_date then ',"reviewed_date":' || json_build_array(o.reviewed_date, n.reviewed_date) end, case when o.resolved_date is distinct from n.resolved_date then ',"resolved_date":' || json_build_array(o.resolved_date, n.resolved_date) end, case when o.first_action_date is distinct from n.first_action_date then ',"first_action_date":' || json_build_array(o.first_action_date, n.first_action_date) end, case when o.flagged_date is distinct from n.flagged_date then ',"flagged_date":' || json_build_array(o.flagged_date, n.flagged_date) end, case when o.follow_up_date is distinct from n.follow_up_date then ',"follow_up_date":' || json_build_array(o.follow_up_date, n.follow_up_date) end, case when o.closed_date is distinct from n.closed_date then ',"closed_date":' || json_build_array(o.closed_date, n.closed_date) end, case when o.last_updated_date is distinct from n.last_updated_date then ',"last_updated_date":' || json_build_array(o.last_updated_date, n.last_updated_date) end, case when o.request_id is distinct from n.request_id then ',"request_id":' || json_build_array(o.request_id, n.request_id) end, case when o.revision is distinct from n.revision then ',"revision":' || json_build_array(o.revision, n.revision) end, case when o.opened_with is distinct from n.opened_with then ',"opened_with":' || json_build_array(o.opened_with, n.opened_with) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
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
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 4, 23, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.affiliate_id, r.case_worker, r.tags, r.case_status_id, r.sub_status_id, r.submitter, r.notice_status_id, r.risk_level_id, r.case_country, r.sub_affiliate_id, r.created_date, r.reviewed_date, r.resolved_date, r.first_action_date, r.flagged_date, r.follow_up_date, r.closed_date, r.last_updated_date, r.request_id, r.revision, r.opened_with)::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 4, 23, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.affiliate_id, r.case_worker, r.tags, r.case_status_id, r.sub_status_id, r.submitter, r.notice_status_id, r.risk_level_id, r.case_country, r.sub_affiliate_id, r.created_date, r.reviewed_date, r.resolved_date, r.first_action_date, r.flagged_date, r.follow_up_date, r.closed_date, r.last_updated_date, r.request_id, r.revision, r.opened_with)::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.url, r.url_hash, r.domain, r.incident_status_id, r.disabled, r.false_positive, r.country, r.discovery_date, r.last_review_date, r.last_crawl_date, r.last_seen, r.affiliate_id, r.sub_affiliate_id, r.owner_email, r.social_one, r.social_two, r.social_three, r.phone_one, r.phone_two, r.landing_page, r.case_id, r.note, r.video_path, r.transcription_text, r.transcription_status_id)::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.url, r.url_hash, r.domain, r.incident_status_id, r.disabled, r.false_positive, r.country, r.discovery_date, r.last_review_date, r.last_crawl_date, r.last_seen, r.affiliate_id, r.sub_affiliate_id, r.owner_email, r.social_one, r.social_two, r.social_three, r.phone_one, r.phone_two, r.landing_page, r.case_id, r.note, r.video_path, r.transcription_text, r.transcription_status_id)::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.url is distinct from n.url then ',"url":' || json_build_array(o.url, n.url) end, case when o.url_hash is distinct from n.url_hash then ',"url_hash":' || json_build_array(o.url_hash, n.url_hash) end, case when o.domain is distinct from n.domain then ',"domain":' || json_build_array(o.domain, n.domain) end, case when o.incident_status_id is distinct from n.incident_status_id then ',"incident_status_id":' || json_build_array(o.incident_status_id, n.incident_status_id) end, case when o.disabled is distinct from n.disabled then ',"disabled":' || json_build_array(o.disabled, n.disabled) end, case when o.false_positive is distinct from n.false_positive then ',"false_positive":' || json_build_array(o.false_positive, n.false_positive) end, case when o.country is distinct from n.country then ',"country":' || json_build_array(o.country, n.country) end, case when o.discovery_date is distinct from n.discovery_date then ',"discovery_date":' || json_build_array(o.discovery_date, n.discovery_date) end, case when o.last_review_date is distinct from n.last_review_date then ',"last_review_date":' || json_build_array(o.last_review_date, n.last_review_date) end, case when o.last_crawl_date is distinct from n.last_crawl_date then ',"last_crawl_date":' || json_build_array(o.last_crawl_date, n.last_crawl_date) end, case when o.last_seen is distinct from n.last_seen then ',"last_seen":' || json_build_array(o.last_seen, n.last_seen) end, case when o.affiliate_id is distinct from n.affiliate_id then ',"affiliate_id":' || json_build_array(o.affiliate_id, n.affiliate_id) end, case when o.sub_affiliate_id is distinct from n.sub_affiliate_id then ',"sub_affiliate_id":' || json_build_array(o.sub_affiliate_id, n.sub_affiliate_id) end, case when o.owner_email is distinct from n.owner_email then ',"owner_email":' || json_build_array(o.owner_email, n.owner_email) end, case when o.social_one is distinct from n.social_one then ',"social_one":' || json_build_array(o.social_one, n.social_one) end, case when o.social_two is distinct from n.social_two then ',"social_two":' || json_build_array(o.social_two, n.social_two) end, case when o.social_three is distinct from n.social_three then ',"social_three":' || json_build_array(o.social_three, n.social_three) end, case when o.phone_one is distinct from n.phone_one then ',"phone_one":' || json_build_array(o.phone_one, n.phone_one) end, case when o.phone_two is distinct from n.phone_two then ',"phone_two":' || json_build_array(o.phone_two, n.phone_two) end, case when o.landing_page is distinct from n.landing_page then ',"landing_page":' || json_build_array(o.landing_page, n.landing_page) end, case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.note is distinct from n.note then ',"note":' || json_build_array(o.note, n.note) end, case when o.video_path is distinct from n.video_path then ',"video_path":' || json_build_array(o.video_path, n.video_path) end, case when o.transcription_text is distinct from n.transcription_text then ',"transcription_text":' || json_build_array(o.transcription_text, n.transcription_text) end, case when o.transcription_status_id is distinct from n.transcription_status_id then ',"transcription_status_id":' || json_build_array(o.transcription_status_id, n.transcription_status_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
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
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 2, 27, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.url, r.url_hash, r.domain, r.incident_status_id, r.disabled, r.false_positive, r.country, r.discovery_date, r.last_review_date, r.last_crawl_date, r.last_seen, r.affiliate_id, r.sub_affiliate_id, r.owner_email, r.social_one, r.social_two, r.social_three, r.phone_one, r.phone_two, r.landing_page, r.case_id, r.note, r.video_path, r.transcription_text, r.transcription_status_id)::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 2, 27, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.url, r.url_hash, r.domain, r.incident_status_id, r.disabled, r.false_positive, r.country, r.discovery_date, r.last_review_date, r.last_crawl_date, r.last_seen, r.affiliate_id, r.sub_affiliate_id, r.owner_email, r.social_one, r.social_two, r.social_three, r.phone_one, r.phone_two, r.landing_page, r.case_id, r.note, r.video_path, r.transcription_text, r.transcription_status_id)::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.case_id, r.incident_type, r.url_id, r.reference, r.infraction_type_id, r.infraction_name_id)::text as record, r.case_id as parent from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.case_id, r.incident_type, r.url_id, r.reference, r.infraction_type_id, r.infraction_name_id)::text as record, r.case_id as parent from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.incident_type is distinct from n.incident_type then ',"incident_type":' || json_build_array(o.incident_type, n.incident_type) end, case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.reference is distinct from n.reference then ',"reference":' || json_build_array(o.reference, n.reference) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end) as record, case when o.case_id = n.case_id then n.case_id end as parent
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id and n.case_id = o.case_id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.case_id is distinct from n.case_id then ',"case_id":' || json_build_array(o.case_id, n.case_id) end, case when o.incident_type is distinct from n.incident_type then ',"incident_type":' || json_build_array(o.incident_type, n.incident_type) end, case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.reference is distinct from n.reference then ',"reference":' || json_build_array(o.reference, n.reference) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end) as record, case when o.case_id = n.case_id then n.case_id end as parent
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id and n.case_id = o.case_id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 5, 8, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.case_id, r.incident_type, r.url_id, r.reference, r.infraction_type_id, r.infraction_name_id)::text as record, r.case_id as parent from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 5, 8, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.case_id, r.incident_type, r.url_id, r.reference, r.infraction_type_id, r.infraction_name_id)::text as record, r.case_id as parent from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.url_id, r.infraction_type_id, r.infraction_name_id, r.created_date)::text as record, r.url_id as parent from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.url_id, r.infraction_type_id, r.infraction_name_id, r.created_date)::text as record, r.url_id as parent from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end) as record, case when o.url_id = n.url_id then n.url_id end as parent
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id and n.url_id = o.url_id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.url_id is distinct from n.url_id then ',"url_id":' || json_build_array(o.url_id, n.url_id) end, case when o.infraction_type_id is distinct from n.infraction_type_id then ',"infraction_type_id":' || json_build_array(o.infraction_type_id, n.infraction_type_id) end, case when o.infraction_name_id is distinct from n.infraction_name_id then ',"infraction_name_id":' || json_build_array(o.infraction_name_id, n.infraction_name_id) end, case when o.created_date is distinct from n.created_date then ',"created_date":' || json_build_array(o.created_date, n.created_date) end) as record, case when o.url_id = n.url_id then n.url_id end as parent
            from old_rows o join new_rows n on n.company_id = o.company_id and n.id = o.id and n.url_id = o.url_id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 3, 6, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.id, r.url_id, r.infraction_type_id, r.infraction_name_id, r.created_date)::text as record, r.url_id as parent from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 3, 6, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), case when count(r.parent) < count(*) then null when min(r.parent) = max(r.parent) then array[min(r.parent)]
                    else array_agg(r.parent) end)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.id, r.url_id, r.infraction_type_id, r.infraction_name_id, r.created_date)::text as record, r.url_id as parent from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
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
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    SET enable_nestloop TO 'off'
    SET "DateStyle" TO 'ISO'
    AS $$
        declare
            entries change_row[]; rows bigint; bytes bigint;
            writer jsonb := nullif(current_setting('compliance.changed_by', true), '');
            several boolean := coalesce(jsonb_typeof(writer) = 'object', false);
        begin
            if tg_table_schema <> 'public' then
                raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.vocabulary, r.id, r.name, r.parent_id)::text as record from new_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 1, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.vocabulary, r.id, r.name, r.parent_id)::text as record from new_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            elsif tg_op = 'UPDATE' then 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select n.company_id, n.id, concat(case when o.vocabulary is distinct from n.vocabulary then ',"vocabulary":' || json_build_array(o.vocabulary, n.vocabulary) end, case when o.name is distinct from n.name then ',"name":' || json_build_array(o.name, n.name) end, case when o.parent_id is distinct from n.parent_id then ',"parent_id":' || json_build_array(o.parent_id, n.parent_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.vocabulary = o.vocabulary and n.id = o.id offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 2, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select n.company_id, n.id, concat(case when o.vocabulary is distinct from n.vocabulary then ',"vocabulary":' || json_build_array(o.vocabulary, n.vocabulary) end, case when o.name is distinct from n.name then ',"name":' || json_build_array(o.name, n.name) end, case when o.parent_id is distinct from n.parent_id then ',"parent_id":' || json_build_array(o.parent_id, n.parent_id) end) as record
            from old_rows o join new_rows n on n.company_id = o.company_id and n.vocabulary = o.vocabulary and n.id = o.id offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            else 
                select array_agg(e.entry), sum(e.rows), sum(e.bytes) into entries, rows, bytes
                from (
                    select row(r.company_id, 6, 5, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry, count(*) as rows, sum(octet_length(r.record)) as bytes
                    from (select r.* from (select r.company_id, r.id, row(r.company_id, r.vocabulary, r.id, r.name, r.parent_id)::text as record from old_rows r offset 0) r where r.record <> '' limit 129) r
                    group by r.company_id
                ) e;
                if rows <= 128 and bytes < 1 << 24 then
                    perform write_changes(entries);
                elsif rows > 0 then
                    for entries in
                        select array_agg(e.entry)
                        from (
                            select r.part, row(r.company_id, 6, 5, 3, array_agg(r.id), array_agg(r.record), case
                    when several then jsonb_agg(coalesce(writer -> r.id::text, '[]')) else writer end, gen_random_uuid(), null)::change_row as entry
                            from (
                                select r.*, (row_number() over w >> 10) + (sum(octet_length(r.record)) over w >> 24) as part
                                from (select r.company_id, r.id, row(r.company_id, r.vocabulary, r.id, r.name, r.parent_id)::text as record from old_rows r offset 0) r where r.record <> '' window w as (rows unbounded preceding)
                            ) r
                            group by r.company_id, r.part
                        ) e
                        group by e.part
                        order by e.part
                    loop
                        perform write_changes(entries);
                    end loop;
                end if;
            end if;
            return null;
        end
        $$;


--
-- Name: record_webhook(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.record_webhook() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
declare
    before jsonb; after jsonb; fields text;
    is_moved boolean := true;
    is_replaced boolean := false;
begin
    -- Others may make temporary tables with such a trigger.
    if tg_table_schema <> current_schema() then
        raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
    end if;
    if tg_op = 'UPDATE' then
        -- Deliveries move it forward.
        is_moved := old.moves <> new.moves or new.position < old.position;
        is_replaced := old.secret <> new.secret and old.secret_rotated_at is not distinct from new.secret_rotated_at;
    end if;
    if tg_op <> 'INSERT' then
        before := jsonb_build_object('url', old.url, 'types', old.types, 'description', old.description,
            'status', case when old.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', old.disabled_reason, 'secret_rotated_at', old.secret_rotated_at, 'tested_at', old.tested_at,
            'position', case when is_moved then old.position end);
    end if;
    if tg_op <> 'DELETE' then
        after := jsonb_build_object('url', new.url, 'types', new.types, 'description', new.description,
            'status', case when new.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', new.disabled_reason, 'secret_rotated_at', new.secret_rotated_at, 'tested_at', new.tested_at,
            'position', case when is_moved then new.position end, 'secret', case when is_replaced then 'replaced' end);
    end if;
    select string_agg(',' || to_json(f.name) || ':' || json_build_array(f.before, f.after), '' order by f.name) into fields
    from (
        select name, nullif(before -> name, 'null') as before, nullif(after -> name, 'null') as after
        from jsonb_object_keys(coalesce(after, before)) name
    ) f
    where f.before is distinct from f.after;
    if fields is not null then
        perform record_changes(array[row(
            coalesce(new.company_id, old.company_id), 7, 0, 2, array[coalesce(new.id, old.id)], array[fields],
            nullif(current_setting('compliance.changed_by', true), '')::jsonb, gen_random_uuid()
        )::change_entry]);
    end if;
    return null;
end
$$;


--
-- Name: refuse_new_key(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_new_key() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
        begin
            raise restrict_violation using
                message = case
                    when tg_nargs = 0 then format('the company and the ID of a row of %s never change', tg_table_name)
                    else format('%s of a row of %s never changes', tg_argv[0], tg_table_name) end,
                hint = 'Insert a new row, let other rows refer to it, and delete the old one: each of these changes is recorded.';
        end
        $$;


--
-- Name: refuse_released_name(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.refuse_released_name() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $_$
declare
    is_released boolean;
begin
    if tg_table_name = 'affiliates' then
        select a.affiliate_name = new.affiliate_name into is_released
        from affiliates a where a.company_id = new.company_id and a.id = new.id;
    else
        -- A shard, on Citus.
        execute format('select a.affiliate_name = $3 from %s a where a.company_id = $1 and a.id = $2', tg_relid::regclass)
            into is_released using new.company_id, new.id, new.affiliate_name;
    end if;
    if is_released then
        raise restrict_violation using
            message = format('affiliate %s of company %s has a released name at the end of the transaction', new.id, new.company_id),
            hint = 'Give the affiliate a name in the same transaction: until then, the change is not recorded.';
    end if;
    return null;
end
$_$;


--
-- Name: restore_distance(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.restore_distance() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$select 1::bigint << 22$$;


--
-- Name: set_case_of_urls(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.set_case_of_urls() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
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
-- Name: shown(timestamp with time zone[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.shown(instants timestamp with time zone[]) RETURNS timestamp with time zone[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (('0001-01-01 00:00:00+00'::timestamp with time zone <= ALL (instants)) AND ('10000-01-01 00:00:00+00'::timestamp with time zone > ALL (instants))) THEN instants ELSE '{}'::timestamp with time zone[] END;


--
-- Name: shown(date); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.shown(day date) RETURNS date
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((day >= '0001-01-01'::date) AND (day <= '9999-12-31'::date)) THEN day ELSE NULL::date END;


--
-- Name: shown(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.shown(instant timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((instant >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (instant < '10000-01-01 00:00:00+00'::timestamp with time zone)) THEN instant ELSE NULL::timestamp with time zone END;


--
-- Name: skip_lost_revisions(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.skip_lost_revisions() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
begin
    new.revision := first_position() + 1;
    return new;
end
$$;


--
-- Name: utc_day(timestamp with time zone); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.utc_day(instant timestamp with time zone) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN isfinite(instant) THEN (((instant AT TIME ZONE 'UTC'::text))::date - '1970-01-01'::date) WHEN (instant > '1970-01-01 00:00:00+00'::timestamp with time zone) THEN ('9999-12-31'::date - '1970-01-01'::date) WHEN (instant < '1970-01-01 00:00:00+00'::timestamp with time zone) THEN ('0001-01-01'::date - '1970-01-01'::date) ELSE NULL::integer END;


--
-- Name: write_changes(public.change_row[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.write_changes(entries public.change_row[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'public', 'pg_temp'
    AS $$
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
    CONSTRAINT affiliates_company_id_check CHECK ((company_id > 0)),
    CONSTRAINT affiliates_dates_check CHECK (((start_date >= '0001-01-01'::date) AND (start_date <= '9999-12-31'::date))),
    CONSTRAINT affiliates_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
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
-- Name: change_drops; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.change_drops (
    company_id bigint NOT NULL,
    "position" bigint NOT NULL,
    after bigint NOT NULL,
    hash bytea,
    changed_at timestamp with time zone,
    part text,
    days integer,
    dropped_at timestamp with time zone NOT NULL,
    dropped_by text DEFAULT SESSION_USER NOT NULL,
    program text DEFAULT current_setting('application_name'::text) NOT NULL,
    passed_over bigint DEFAULT 0 NOT NULL,
    CONSTRAINT change_drops_dates_check CHECK (((dropped_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (dropped_at < '10000-01-01 00:00:00+00'::timestamp with time zone)))
);


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
    dropped_hash bytea,
    is_set_back boolean DEFAULT false NOT NULL,
    CONSTRAINT change_positions_dates_check CHECK (((changed_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (changed_at < '10000-01-01 00:00:00+00'::timestamp with time zone)))
)
WITH (fillfactor='60', autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0.05');


--
-- Name: change_retention; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.change_retention (
    is_set boolean DEFAULT true NOT NULL,
    days integer NOT NULL,
    set_at timestamp with time zone DEFAULT now() NOT NULL,
    set_by text DEFAULT SESSION_USER NOT NULL,
    last_run_at timestamp with time zone DEFAULT now() NOT NULL,
    steady_since timestamp with time zone DEFAULT (now() - '1 day'::interval) NOT NULL,
    CONSTRAINT change_retention_days_check CHECK (((days >= 1) AND (days <= 36500))),
    CONSTRAINT change_retention_is_set_check CHECK (is_set)
);


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
    erased_digest bytea,
    parents bigint[],
    is_set_back boolean
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
    erased_digest bytea,
    parents bigint[],
    is_set_back boolean,
    CONSTRAINT changes_default_dates_check CHECK (((changed_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (changed_at < '10000-01-01 00:00:00+00'::timestamp with time zone)))
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
    erased_digest bytea,
    parents bigint[],
    is_set_back boolean
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
    erased_digest bytea,
    parents bigint[],
    is_set_back boolean
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
    CONSTRAINT compliance_cases_company_id_check CHECK ((company_id > 0)),
    CONSTRAINT compliance_cases_dates_check CHECK (((created_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (created_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (reviewed_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (reviewed_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (resolved_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (resolved_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (first_action_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (first_action_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (flagged_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (flagged_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (follow_up_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (follow_up_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (closed_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (closed_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (last_updated_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (last_updated_date < '10000-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT compliance_cases_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
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
    CONSTRAINT compliance_urls_company_id_check CHECK ((company_id > 0)),
    CONSTRAINT compliance_urls_dates_check CHECK (((discovery_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (discovery_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (last_review_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (last_review_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (last_crawl_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (last_crawl_date < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (last_seen >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (last_seen < '10000-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT compliance_urls_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
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
-- Name: database_identity; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.database_identity (
    is_only boolean DEFAULT true NOT NULL,
    identity text NOT NULL,
    restores bigint DEFAULT 0 NOT NULL,
    restored_at timestamp with time zone,
    CONSTRAINT database_identity_dates_check CHECK (((restored_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (restored_at < '10000-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT database_identity_is_only_check CHECK (is_only)
);


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
    CONSTRAINT incidents_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
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
    created_date timestamp with time zone DEFAULT date_trunc('second'::text, now()) NOT NULL,
    CONSTRAINT infractions_dates_check CHECK (((created_date >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (created_date < '10000-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT infractions_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
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
    error text,
    CONSTRAINT webhook_deliveries_dates_check CHECK (((started_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (started_at < '10000-01-01 00:00:00+00'::timestamp with time zone)))
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
    created_with bytea,
    body_limit bigint,
    secret_rotated_at timestamp with time zone,
    tested_at timestamp with time zone,
    moves bigint DEFAULT 0 NOT NULL,
    CONSTRAINT webhooks_company_id_check CHECK ((company_id > 0)),
    CONSTRAINT webhooks_dates_check CHECK (((next_attempt_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (next_attempt_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (failing_since >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (failing_since < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (leased_until >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (leased_until < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (created_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (created_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (secret_rotated_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (secret_rotated_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (tested_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (tested_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND ('0001-01-01 00:00:00+00'::timestamp with time zone <= ALL (previous_secret_until)) AND ('10000-01-01 00:00:00+00'::timestamp with time zone > ALL (previous_secret_until)))),
    CONSTRAINT webhooks_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint)))
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
	(20261121000001, 'affiliates', '2026-11-27 02:11:56.949459+00', true, '\xa73a7932f0b9d45834f584555c90ff782d031f901fa241ba6289fd2b0383172e932b645b876d378b3621333bd222127f', 7297544),
	(20261121000002, 'vocabulary', '2026-11-27 02:11:56.958732+00', true, '\x2ed15674436407c4291518c4e8312a519a5eca4138e80014e1249c722a6362fada5237d6dd730d9e3982eeb8e438682d', 3421407),
	(20261121000003, 'compliance cases', '2026-11-27 02:11:56.963845+00', true, '\x8044d1b9e859ac6e4fa5f7c01c74d567b376d81403af5c4fad28036f4618cef70c7bd53fb413c3edb9551c04489dacdf', 6708051),
	(20261121000004, 'compliance urls', '2026-11-27 02:11:56.971915+00', true, '\x6ddf184ffb1b8314d720005a9dc566aa65d98c1d13a61a447abe7caafeca5cae6393f2408a92e554b3ece9a5d90246d5', 21671052),
	(20261121000005, 'counts', '2026-11-27 02:11:56.995348+00', true, '\x2c2460e1745b4d5f5318f953b705447d9ef9be161c1b314c0886b7d508c325c2f73df218994164c6ec21fc42e475c5b2', 5148507),
	(20261121000006, 'monitoring', '2026-11-27 02:11:57.00184+00', true, '\x5f93b51389b2ac0a188f9364e3e49a10bb3228228ff0a9b7fb86b0c6895ddd5f654fbe8eec205149efe5c749a6bd36c0', 1909608),
	(20261121000007, 'affiliate input', '2026-11-27 02:11:57.004965+00', true, '\xc9845fe42b3a0f3334c305ff3fcabf9e2cdc1ee08adab7d9b1e4a17a16c122ce79b2444e8e8fb1725f6139e68a524c4f', 921365),
	(20261121000008, 'monitoring input', '2026-11-27 02:11:57.007188+00', true, '\x99d6cc1c73d94e06a5714d409ca149bebcc5276d3845c58e01bc304c8b860cc8fc2ead93ef7184dde70c85237be3d08f', 2545125),
	(20261124000010, 'etags', '2026-11-27 02:11:57.011155+00', true, '\x25fd831f178599ace83a39942cca36e06e7276bcec18fcb91cd4926ef68c810811da3fc27439563f98cf9f9cdeeb4b61', 2255271),
	(20261125000001, 'trigger functions', '2026-11-27 02:11:57.014712+00', true, '\x7d8331aa072ad714dbba0946b417d3ec75dfbae8a886254c255882baaaf66fef31cffdc738b145e57fdfbcd32d2b886d', 1677263),
	(20261125000002, 'coarsest buckets', '2026-11-27 02:11:57.017639+00', true, '\x78ddad91bea7e311bce104fbe95c45eb29df998f7305a2dece157da1289aec763e75cb541d6f2ab9fefd0e3624cc00a9', 471878),
	(20261125000003, 'count coarsest buckets', '2026-11-27 02:11:57.019316+00', true, '\x27c76cee65018e134d71f2c67afe67fced7fd0af842bad57760d8249066a06a9e0e90dba959112b8dad9e7a427daeb07', 842875),
	(20261125000004, 'fill coarsest buckets of urls', '2026-11-27 02:11:57.022538+00', true, '\x3e165a8a9b3129f2ec54be3764954273b12063da3333243bc1cd670263fa47eabf9925d9798111ddd7639514cdc8772b', 1212426),
	(20261125000005, 'fill coarsest buckets of cases', '2026-11-27 02:11:57.024607+00', true, '\x26ea79dfaf06ced6ec48462c72cfee62727f80a1a0a1a94f43ba8f736de961428c57912dba21f3f0fa1c59b3ba7e21cd', 785530),
	(20261126000001, 'changes', '2026-11-27 02:11:57.025988+00', true, '\x1dc71712e0cac3b64c8df5ce7f029941ab51c64ec49f45ea0a27d311932924a181f256b6e57671606eb7b9b2e73c1a77', 25422400),
	(20261127000030, 'change records', '2026-11-27 02:11:57.053566+00', true, '\xbea03a6835a5cceee768787519023a6204264c4ae164a658c53959fcc1c96b5d1cefadbb4938afc7744b7744d83287a9', 5328949),
	(20261127000040, 'erasure', '2026-11-27 02:11:57.060399+00', true, '\x4d242f89868629efb4e1d6fbfdc117f1cc1e6d9c5c0ee67b4ec63b85d1392e62d3dd8b770d8cadcbf2f2ed1e87b66a99', 10970568),
	(20261127000050, 'webhooks', '2026-11-27 02:11:57.072936+00', true, '\x7194023226ab201f1ac1d8b9749919f5a0d15dd565132c9b3b40e9a7f240b3389337907058115e75d1eb895121d02be4', 5792985),
	(20261128000010, 'recorded columns', '2026-11-27 02:11:57.080191+00', true, '\x7446f235764f94021926931633a09276cb4689fd241c28da3e7674d2363987269bbad534e8e7448a919a5d30bec30050', 16477054),
	(20261128000011, 'change parents', '2026-11-27 02:11:57.098181+00', true, '\xc8c0ff65489008d3d7ea58d1d60f05519c94f3c98c8a623c14b5dec39be9a144d1ae3a394974f6c6ae828e3dd1bf542d', 6733598),
	(20261128000012, 'fixed search path', '2026-11-27 02:11:57.10643+00', true, '\x4cb010db94e729223e3deab62dfbdb980027089511ac7bf36601d21b27b817d62189db290440be00f6d6331c4dd4d1d5', 3584092),
	(20261128000013, 'fixed keys', '2026-11-27 02:11:57.111537+00', true, '\x94d89f6d6a3a8646f2a352c4c62af9269b04459ae7eebff897e741056bb6f49004f90619f3db112e6e7ea86c04df3f51', 2175108),
	(20261128000014, 'former columns', '2026-11-27 02:11:57.115102+00', true, '\x58b9dc8bee7732038ebe1ce25b50e7d54124160bd6028d42003c1fd4165d8281bf5b6ee06c97b6caf88dde6569fb5655', 1493774),
	(20261128000015, 'fixed parents', '2026-11-27 02:11:57.118027+00', true, '\xc3d27f73cab74547d7c774861bcc727792e242a64c0b3866b8b917310b1456449d2b054a3c17f004705ce5514e6bf637', 1295923),
	(20261128000016, 'recorded tables alone', '2026-11-27 02:11:57.120808+00', true, '\x1df92efce3b3e55ddc6d45a1940915f8881d545f3ce98c4115ce93b505ee93bb41d0050beb7e9b6c597cc22c202d3d19', 9025505),
	(20261128000020, 'restores', '2026-11-27 02:11:57.131156+00', true, '\x19cbe4c2169202f146b32acfac7f7aed9f28ca95276b5647922c4fb17d2f3d026ed5c2d492752d4738f8f9753e118d76', 6081731),
	(20261128000021, 'first positions', '2026-11-27 02:11:57.138684+00', true, '\xf8100d2b021f352b240e0bebbf8e02757abc64fb146e6bdc4533c3c8a312dcd994bef176c7eada35c603df89a80c4b24', 1050006),
	(20261128000022, 'revisions after restores', '2026-11-27 02:11:57.141027+00', true, '\x160885bcb2aa545592ffc72708ac54e271e4b6455fc194ced2ac91456ea7f6eb838170946bdfea008bad58cb50cce8a1', 1290249),
	(20261128000023, 'values', '2026-11-27 02:11:57.143565+00', true, '\x6a9b996a715d8d6f74c265a156fa8713917d68635fe34ad3daca7d644521e12f136c5a65d6a336ddf2508ff33cd5f904', 2652533),
	(20261128000024, 'values are valid', '2026-11-27 02:11:57.147645+00', true, '\x98d8c7e561a243588aea4a82bdf1635d0bae5f7407d2d971a99b35b2be7d9ea4b9b0209940a78be444c2d11bf2fc6e2c', 3172144),
	(20261128000030, 'retention', '2026-11-27 02:11:57.152248+00', true, '\x02c177f7366c83334d20902bfadd02684608494b4d48f3c29f6c9d02028856a79909edcf4dd6f4bbf54e797289de9cf3', 6851781),
	(20261128000031, 'earlier drops', '2026-11-27 02:11:57.161575+00', true, '\x42b24aa7c58c291de48d9baea935f35f245f0aaa4556ec0dbfeff2ee9e3e5fa8abd803e791a02083191693e10a5267d5', 1168869),
	(20261128000032, 'erase changes', '2026-11-27 02:11:57.163033+00', true, '\x8dc1cd109ddd12007f7c7c91bc1fb50bc0c6306824966f8c6e09a4cd502442deb15d76f46449fba30a079257c21f944f', 3723169),
	(20261128000040, 'published names', '2026-11-27 02:11:57.168537+00', true, '\xaff4021596ec72b3862ec29aa87ffebaa1b0d726de9eaf395dc73d21a0111138f074209ff355ed5bb3849886f0e14235', 4982129),
	(20261128000050, 'webhook repeats', '2026-11-27 02:11:57.174745+00', true, '\xbc49bea42ae3c58a2a194a7a80feef4671eb8717d5857f35315b43a4b818182f2ce645aede22cea47a0fed2f705579e6', 675959),
	(20261128000051, 'webhook body limit', '2026-11-27 02:11:57.176712+00', true, '\x49e6abeac84b21643792b0da6988567571fbfae052cf9d36fa0cc06c771c8a6044c660034a248a5b0150a07b87cc305c', 1055564),
	(20261128000052, 'webhook changes', '2026-11-27 02:11:57.179115+00', true, '\xfdee117a6996217045a20f5081af6f859e3fc308eb4fb316676c0a7cbcb376c48c27a04c1eed607cfb88627df91b3322', 2340134),
	(20261128000070, 'drops after restores', '2026-11-27 02:11:57.182541+00', true, '\xbff4fadf9e295e474386be5fbb5d55ff11c02354241e6ea9a4e340ece2970a13343556b777beaeb5a05901b3290b699b', 1216286),
	(20261128000071, 'erased records', '2026-11-27 02:11:57.184772+00', true, '\x922f2224992f16882f1f58521923c17b1642d1cb466570b51d52a4023592680b401cdb75f014cb6cca8cf6c65fe358f8', 1039719),
	(20261128000072, 'released names', '2026-11-27 02:11:57.186792+00', true, '\xe8d5e9bf9c3c05593722f40054d8bd7abf3ca85f45f711a2e8b9b4696b96cd4277d9f1dd207bf6a4cf0cd17437721f75', 887141),
	(20261128000073, 'recorded keys', '2026-11-27 02:11:57.188702+00', true, '\x958440c2c25d598a2e06d8fd505b4fd9feee46e3f9069029ba6b4fca79464e1d331bfba253a8c728d59e5f9028b1ace0', 5150997),
	(20261128000074, 'drops that never were', '2026-11-27 02:11:57.194888+00', true, '\x140b26b3b3a057bd184bf4ddba0749f17d7d6351bfdea5edc65b695e7cb1087b90a2cab5f096c91b801e0bbc746d6118', 661635),
	(20261128000080, 'restores by time', '2026-11-27 02:11:57.196555+00', true, '\xffbe53da200b34e4a75d6c9b5319a8f8cd226714f9b99f212329f3e83d16e77bc0b601939e20727f5cfe5e0c843bebd8', 1870352),
	(20261128000081, 'first identity', '2026-11-27 02:11:57.200634+00', true, '\x8590a58ac6023e63cbaf089c55e6bf467437dff2990dd7b9b03a56d19721fb82291a0788c756b5e73b3cdd1ce6981fa2', 1211391),
	(20261128000085, 'dates of all tables', '2026-11-27 02:11:57.202199+00', true, '\x7c2c32dbde03da780cb65e3d316f379afb5599e26afe0efe8601aa5a180b737cb206c5e4bd5acea05c9dfa2d71a487b6', 5930811),
	(20261128000086, 'dates of all tables are valid', '2026-11-27 02:11:57.209296+00', true, '\x89ef61f4d959276ce720c61b3ce410d9acedf40173992d55a244ef363065389209165639302a1497d5be284f11fe3d1a', 2438883),
	(20261128000087, 'steady retention', '2026-11-27 02:11:57.21284+00', true, '\x3785fc0853749016378cba508e4514d3711856a9f28756cd38497f574a46c8bf7dd808409c2c653ba599eb4a64f6c3af', 2578438),
	(20261128000090, 'webhook moves', '2026-11-27 02:11:57.216397+00', true, '\xcb57b26158ac8a20068258ccb3e9fedaacff44f3d7fa5c034594cb2299fc4c3dabb1cd2e75ebc1c8b8edaccb0584dfd3', 2088782);


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
-- Data for Name: change_drops; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: change_positions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.change_positions VALUES
	(101, 163, '2026-11-27 02:12:02.046678+00', '\x06485a3eef7a9f0db3c0a737f854a9f3c6f28e9bb2ce24317e3281f2a051efdb', '\x5b513a645f3ebd2479f22d0b4fc97341a44088acf258b9c0af835cf9905384ca', 0, NULL, false),
	(102, 71, '2026-11-27 02:12:02.075417+00', '\xc333789c7c64cada39d1baf64da8de8e062b19001f433fa00f36c6fd94057150', '\x8aa864687eaa5b103228781608761b3175c17e2ae9c791a6e173205701d11275', 0, NULL, false);


--
-- Data for Name: change_retention; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.change_retention VALUES
	(true, 90, '2026-11-27 02:11:57.152248+00', 'compliance', '2026-11-27 02:11:57.21284+00', '2026-11-26 02:11:57.21284+00');


--
-- Data for Name: changes_default; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: changes_y2026m11; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.changes_y2026m11 VALUES
	(101, 1, '2026-11-27 02:11:57.527903+00', 1, 44, 1, '{1}', '{"(101,1,\"first affiliate\",\"first affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x99d5f54f692823ec497fc7b9843a65f1e6f276327b53b9c860e7ce87c28a7563', '1d9e20b6-21bd-4a6a-ae04-cefe4e3d4c17', NULL, NULL, false),
	(101, 6, '2026-11-27 02:11:57.550167+00', 1, 44, 1, '{2,3,4,5,6}', '{"(101,2,first-0,\"first Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",first.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,3,first-1,\"first Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",first.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,4,first-2,\"first Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",first.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,5,first-3,\"first Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",first.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,6,first-4,\"first Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",first.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x9afb5ed238aa1f178eee17de7de0d27ab403b2727bfbe8a6e0b69b852db06d04', '86e135dc-5e51-45e3-8f55-df0d59db3792', NULL, NULL, false),
	(101, 8, '2026-11-27 02:11:57.560923+00', 1, 44, 2, '{1,2}', '{",\"affiliate_name\":[\"first affiliate\", \"first affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"first Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"first renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\xe78bd3e7655621ab98efe1be7fe646804f4e05c75d13982f3c9c253292107033', '3b4e13d9-a353-412c-848e-519856b989f2', NULL, NULL, false),
	(101, 18, '2026-11-27 02:11:57.567075+00', 2, 27, 1, '{6,8,5,2,1,9,10,4,7,3}', '{"(101,6,https://example.org/first/5,\"\\\\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,8,https://example.org/first/7,\"\\\\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,5,https://example.org/first/4,\"\\\\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,2,https://example.org/first/1,\"\\\\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,1,https://example.org/first/0,\"\\\\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,9,https://example.org/first/8,\"\\\\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,10,https://example.org/first/9,\"\\\\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,4,https://example.org/first/3,\"\\\\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,7,https://example.org/first/6,\"\\\\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(101,3,https://example.org/first/2,\"\\\\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\x6d3fa5795d145329d4ee08b9ce5a4ca7eb3712c6e6492ffec58a1e1f8b3125f3', 'b908a0c4-f4e0-4212-83b6-16851987112a', NULL, NULL, false),
	(101, 21, '2026-11-27 02:11:57.576723+00', 6, 5, 1, '{1000,1001,1002}', '{"(101,4,1000,\"first risk\",)","(101,7,1001,\"first type\",)","(101,8,1002,\"first infraction\",1001)"}', '[null, null]', '\x09a4002ccf548320893d827091eab410f527c2a174e0ed87e155e28f613d6755', 'bb100d19-a10a-46b4-9ce4-1a481808970c', NULL, NULL, false),
	(101, 33, '2026-11-27 02:11:57.597605+00', 3, 6, 1, '{1,2,3,4,5,6,7,8,9,10,11,12}', '{"(101,1,6,1001,1002,\"2026-11-27 02:11:57+00\")","(101,2,6,4,11,\"2026-11-27 02:11:57+00\")","(101,3,5,1001,1002,\"2026-11-27 02:11:57+00\")","(101,4,5,4,11,\"2026-11-27 02:11:57+00\")","(101,5,2,1001,1002,\"2026-11-27 02:11:57+00\")","(101,6,2,4,11,\"2026-11-27 02:11:57+00\")","(101,7,1,1001,1002,\"2026-11-27 02:11:57+00\")","(101,8,1,4,11,\"2026-11-27 02:11:57+00\")","(101,9,4,1001,1002,\"2026-11-27 02:11:57+00\")","(101,10,4,4,11,\"2026-11-27 02:11:57+00\")","(101,11,3,1001,1002,\"2026-11-27 02:11:57+00\")","(101,12,3,4,11,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\x63789272c276498d17f04e088165ed12bec90b41c3d86b72bd46481cc9b92b8d', '38cd5e97-944c-4e88-bc6e-b10c63c43109', NULL, '{6,6,5,5,2,2,1,1,4,4,3,3}', false),
	(101, 39, '2026-11-27 02:11:57.599849+00', 2, 27, 2, '{6,5,2,1,4,3}', '{",\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 3]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 3]"}', '[null, null]', '\x8b6484bc07949e491e531f8ee7692c1b3b935cb144f88c6fd938a89386f0ca54', 'eaa16dfd-17eb-4c52-8f1e-23db4b8eb716', NULL, NULL, false),
	(101, 40, '2026-11-27 02:11:57.605227+00', 2, 27, 2, '{2}', '{",\"country\":[276, null]"}', '[null, null]', '\x2f4e38f6ee86e486c916cbd0574b33c5890e9c5c1bc78685d4380ce3cf9d74a8', 'b4a6461e-f9b3-47c1-a329-6bc9407f0ce9', NULL, NULL, false),
	(101, 42, '2026-11-27 02:11:57.609391+00', 3, 6, 1, '{13,14}', '{"(101,13,9,1001,1002,\"2026-11-27 02:11:57+00\")","(101,14,10,1001,1002,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\x288a4ebbdb452e903428f7b9e81aca5aed97e18ad577bce88e628e4d817e428f', '20238112-11da-4041-8062-b10f6a6bfe26', NULL, '{9,10}', false),
	(101, 43, '2026-11-27 02:11:57.613922+00', 3, 6, 3, '{14}', '{"(101,14,10,1001,1002,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\xf3c234f2e300dc1989058fbc733a3416a04cccc5bbb5e60c95058f5cdd16b450', 'b45a7932-83fa-432e-a6dd-15566334a5c0', NULL, '{10}', false),
	(101, 44, '2026-11-27 02:11:57.626159+00', 4, 23, 1, '{1}', '{"(101,1,2,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 0\",1,\"\\\\x01ec0ad6cf833efef39c\")"}', '[null, null]', '\xf123a533a52a75c37032cbcb70c001c2d65c9d6db420a0650a0f12307a72de59', '7b821fdd-6a26-4d02-901d-9d34a90af8ca', NULL, NULL, false),
	(101, 46, '2026-11-27 02:11:57.62889+00', 5, 8, 1, '{1,2}', '{"(101,1,1,1,1,,,)","(101,2,1,2,,form,,)"}', '[null, null]', '\x33560729689a227e1adf7d79925a8ec44693d1c25ca1f0dedc49ea1b8e1c5ede', 'c15b9f37-1373-4697-ba61-9d295cd0d91e', NULL, '{1}', false),
	(101, 47, '2026-11-27 02:11:57.630603+00', 2, 27, 2, '{1}', '{",\"case_id\":[null, 1]"}', '[null, null]', '\xb4e75406b392dc139b669daab3b7833628fe3d395d84e164efaf2cc0877a4389', '74527c34-4566-4351-9be3-0f7c0e5f34f5', NULL, NULL, false),
	(101, 48, '2026-11-27 02:11:57.634741+00', 4, 23, 1, '{2}', '{"(101,2,3,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 1\",1,\"\\\\x01ea8d47f2839ced1a33\")"}', '[null, null]', '\x5b1a2156ec6eecbbe6b616462fb01fb24e4906d668ab69193a6a5d17edfb8a7c', 'cf532f33-fdc0-446a-9627-c95659967cda', NULL, NULL, false),
	(101, 50, '2026-11-27 02:11:57.635215+00', 5, 8, 1, '{3,4}', '{"(101,3,2,1,2,,,)","(101,4,2,2,,form,,)"}', '[null, null]', '\x612b788a663008c1a15ab90153cc22011794907b472769c727b53e24b4589346', '6efccaaa-7c92-45c3-8e94-8d0f6bc9e9fb', NULL, '{2}', false),
	(101, 51, '2026-11-27 02:11:57.636099+00', 2, 27, 2, '{2}', '{",\"case_id\":[null, 2]"}', '[null, null]', '\x37138206f11ff4d5bf0916cbcde4daa92ff27e2374865cc20bddc29d9a35b36c', 'd8afa5f1-df73-4169-a95d-06336540f3fa', NULL, NULL, false),
	(102, 1, '2026-11-27 02:11:57.68404+00', 1, 44, 1, '{7}', '{"(102,7,\"first affiliate\",\"first affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x0a6416b36db8a35e1fe93cb886a8c09f6fb0e30021f49928e28591fde2347fe8', '24c854cf-9c6b-4460-8908-9d37a7879271', NULL, NULL, false),
	(101, 52, '2026-11-27 02:11:57.639821+00', 4, 23, 1, '{3}', '{"(101,3,4,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 2\",1,\"\\\\x01177f3d1e8300e300ba\")"}', '[null, null]', '\x30ce8466f5d800e247dd06e968163bbad83a6a165c6ce4811851d7259d905e33', 'd25c7bd1-27ef-4607-ac85-71cacde096d3', NULL, NULL, false),
	(101, 54, '2026-11-27 02:11:57.641369+00', 5, 8, 1, '{5,6}', '{"(101,5,3,1,3,,,)","(101,6,3,2,,form,,)"}', '[null, null]', '\x0e11372d09a68e9824835d226fe3764f09dd427e6813dcfeda816d39daffa1ed', '16dd9f61-9785-4e61-9309-4e6d5efc9258', NULL, '{3}', false),
	(101, 55, '2026-11-27 02:11:57.641926+00', 2, 27, 2, '{3}', '{",\"case_id\":[null, 3]"}', '[null, null]', '\x75823ecb11965a32d65dd5a135679859e49cd85b98fc0aa611e4707610c83bdc', '7ac778f0-7067-4777-be07-ce67a6122478', NULL, NULL, false),
	(101, 56, '2026-11-27 02:11:57.645442+00', 4, 23, 1, '{4}', '{"(101,4,5,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 3\",1,\"\\\\x01899d03688312b3a32c\")"}', '[null, null]', '\x6bbd2e7d0996efa665093cb1a9be08626b44937086ce92f9ab7282ccbbfaa623', 'd4fcf1a7-4d49-4c3e-b4db-a55efd1d2a82', NULL, NULL, false),
	(101, 58, '2026-11-27 02:11:57.645844+00', 5, 8, 1, '{7,8}', '{"(101,7,4,1,4,,,)","(101,8,4,2,,form,,)"}', '[null, null]', '\x88a59df85ec8cda47193c1d50deabbc6a385761fbe1905d2d5b544c54a7e0ecf', 'c2737c11-e2aa-474a-b12e-e6a5f707d1db', NULL, '{4}', false),
	(101, 59, '2026-11-27 02:11:57.64648+00', 2, 27, 2, '{4}', '{",\"case_id\":[null, 4]"}', '[null, null]', '\xd832fcd555c8b8b5e13d70ba23366ab54857ab491729ff2206f77dd367e4eb48', '01df764a-ddea-4b93-9e01-af3c298dda59', NULL, NULL, false),
	(101, 60, '2026-11-27 02:11:57.653249+00', 4, 23, 2, '{1}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1000],\"revision\":[1, 2]"}', '[null, null]', '\x913743d5c4d046fdfaa39e41ccdd50826284aab8b44e56e2fc9612b443ca2a6d', 'e9efa61d-7248-4bb4-adf6-c66c3991396a', NULL, NULL, false),
	(101, 62, '2026-11-27 02:11:57.660299+00', 5, 8, 1, '{9,10}', '{"(101,9,2,1,5,,,)","(101,10,2,1,6,,,)"}', '[null, null]', '\xfd44f5b2a32c872724f9ab3bf2eed5f8b7029a998a3e7415c56f514b42d22473', '1647c7d1-9d10-4a15-b4a6-f0a9b55cdee3', NULL, '{2}', false),
	(101, 64, '2026-11-27 02:11:57.661137+00', 2, 27, 2, '{5,6}', '{",\"case_id\":[null, 2]",",\"case_id\":[null, 2]"}', '[null, null]', '\x9a9cc3d2bc42d498e3e7884ee80d2e60a8840b1a97af6c95e6747ecf85756b34', '5b706f1a-8d30-4090-86b8-fa765457dd22', NULL, NULL, false),
	(101, 65, '2026-11-27 02:11:57.661596+00', 4, 23, 2, '{2}', '{",\"first_action_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\xabf3f97c12b6963327d2b39e2146362b1e287590e40374f018e6916cd741864a', '9f8c7da7-f80c-42b2-a093-a5d4a46dd17b', NULL, NULL, false),
	(101, 66, '2026-11-27 02:11:57.668396+00', 5, 8, 3, '{4}', '{"(101,4,2,2,,form,,)"}', '[null, null]', '\x02231e9e61ba14b6b6cfc34076015771bad8bdcb9106464f6a3fec36daee16d8', '2b5e2215-8de0-45fa-8f1a-b6f305ddc636', NULL, '{2}', false),
	(101, 67, '2026-11-27 02:11:57.668868+00', 4, 23, 2, '{2}', '{",\"revision\":[2, 3]"}', '[null, null]', '\xadeda0b68ece35bc8d779ac11b8f4ce91a95062eaf10db0fd52144938a8fd128', '0f8a303b-c0ad-410f-91c5-d58454b03df1', NULL, NULL, false),
	(101, 68, '2026-11-27 02:11:57.672118+00', 4, 23, 2, '{2}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"resolved_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\x70def6ef8f6ed7472bf9becf9db0dfe73c43519691989a119dbe41e6b2680130', '7f818df3-9836-4769-99e1-6c3a71bb2d04', NULL, NULL, false),
	(101, 69, '2026-11-27 02:11:57.675614+00', 4, 23, 2, '{3}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"first_action_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"closed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x8396836aab9b3783324d6ce47e4a9bdebfdb95cf90816e3910f3e19ba077aec7', '8e321dab-5d91-4424-8865-c5257a2d93c1', NULL, NULL, false),
	(101, 70, '2026-11-27 02:11:57.67904+00', 4, 23, 2, '{3}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-27T02:11:57+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x8dd23723d6303c1006fccce8a5ceb0439fae632f9fefad373ffad5dda3019992', 'a5984ff2-b2bb-44dd-9c69-d68b452c22c5', NULL, NULL, false),
	(102, 6, '2026-11-27 02:11:57.687375+00', 1, 44, 1, '{8,9,10,11,12}', '{"(102,8,first-0,\"first Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",first.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,9,first-1,\"first Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",first.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,10,first-2,\"first Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",first.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,11,first-3,\"first Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",first.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(102,12,first-4,\"first Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",first.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"first affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xe23d11b0a9a64e3e2e40fa66683cbfeb0f391e3424713cab488a8729a75b2f55', 'e9b6512e-9b43-42cc-9042-cd0d76ea0c03', NULL, NULL, false),
	(102, 8, '2026-11-27 02:11:57.690753+00', 1, 44, 2, '{7,8}', '{",\"affiliate_name\":[\"first affiliate\", \"first affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"first Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"first renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\xc242b7e4c52ffdd951845e2ed79aa8bd1c15cf1f7aec47475ab2938ed103ae0a', '9291928a-fe1d-4d1d-8b04-e1e6b5a4447d', NULL, NULL, false),
	(102, 18, '2026-11-27 02:11:57.694128+00', 2, 27, 1, '{16,18,15,12,11,19,20,14,17,13}', '{"(102,16,https://example.org/first/5,\"\\\\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,18,https://example.org/first/7,\"\\\\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,15,https://example.org/first/4,\"\\\\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,12,https://example.org/first/1,\"\\\\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,11,https://example.org/first/0,\"\\\\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,19,https://example.org/first/8,\"\\\\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,20,https://example.org/first/9,\"\\\\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,14,https://example.org/first/3,\"\\\\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,17,https://example.org/first/6,\"\\\\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)","(102,13,https://example.org/first/2,\"\\\\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f\",example.org,1,f,,,\"2026-11-27 02:11:57+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\x0ba954e08ee8953e5fb7b7ae960b392c9dd24e9ee53cd0162ccb6a9c1729b2db', '661f8eb3-f863-4b72-95d0-815be746d268', NULL, NULL, false),
	(102, 21, '2026-11-27 02:11:57.697429+00', 6, 5, 1, '{1003,1004,1005}', '{"(102,4,1003,\"first risk\",)","(102,7,1004,\"first type\",)","(102,8,1005,\"first infraction\",1004)"}', '[null, null]', '\xb68fb09b9006462c0349d012b814b80cc7db95fbe6bb935612c1f1bf1c7098c1', '739dc6f7-020d-4c35-bc0b-c7b835b57ecf', NULL, NULL, false),
	(101, 71, '2026-11-27 02:11:59.814699+00', 1, 44, 1, '{13}', '{"(101,13,\"second affiliate\",\"second affiliate\",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x24f4054974dce1c8031b7e23d93344710a332d8a90c1422c698d54322a33f63b', '26050c5f-a74a-44c0-a518-5e443e5e9fdb', NULL, NULL, false),
	(102, 33, '2026-11-27 02:11:57.702387+00', 3, 6, 1, '{15,16,17,18,19,20,21,22,23,24,25,26}', '{"(102,15,16,1004,1005,\"2026-11-27 02:11:57+00\")","(102,16,16,4,11,\"2026-11-27 02:11:57+00\")","(102,17,15,1004,1005,\"2026-11-27 02:11:57+00\")","(102,18,15,4,11,\"2026-11-27 02:11:57+00\")","(102,19,12,1004,1005,\"2026-11-27 02:11:57+00\")","(102,20,12,4,11,\"2026-11-27 02:11:57+00\")","(102,21,11,1004,1005,\"2026-11-27 02:11:57+00\")","(102,22,11,4,11,\"2026-11-27 02:11:57+00\")","(102,23,14,1004,1005,\"2026-11-27 02:11:57+00\")","(102,24,14,4,11,\"2026-11-27 02:11:57+00\")","(102,25,13,1004,1005,\"2026-11-27 02:11:57+00\")","(102,26,13,4,11,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\xa22a52d0764794f3f162397bfcfddce9e4d5b894fc71594da163f1a45cfb6052', 'f0be1547-266c-4796-84fa-0c1b4f63529e', NULL, '{16,16,15,15,12,12,11,11,14,14,13,13}', false),
	(102, 39, '2026-11-27 02:11:57.702797+00', 2, 27, 2, '{16,15,12,11,14,13}', '{",\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 9]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 9]"}', '[null, null]', '\xcbe4de07cea774e8942eabb5a629c5359d86107251fb1203fe5306475094f376', 'c0e8a0ff-1dfb-4aa7-9b00-4101ecc4eaac', NULL, NULL, false),
	(102, 40, '2026-11-27 02:11:57.70783+00', 2, 27, 2, '{12}', '{",\"country\":[276, null]"}', '[null, null]', '\xf171a34d7c155ea63cd528ea61cea0b74056b14001fcfec547e0515719120fc3', '462854c5-9402-48a8-9135-c08b10b8b9e6', NULL, NULL, false),
	(102, 42, '2026-11-27 02:11:57.711136+00', 3, 6, 1, '{27,28}', '{"(102,27,19,1004,1005,\"2026-11-27 02:11:57+00\")","(102,28,20,1004,1005,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\x9e565b37c79e4ee88e26128bce22f08500e9debf82b9bca51cf15adf22a23207', '715c92b5-db71-4da2-b9c4-bcb778295634', NULL, '{19,20}', false),
	(102, 43, '2026-11-27 02:11:57.713992+00', 3, 6, 3, '{28}', '{"(102,28,20,1004,1005,\"2026-11-27 02:11:57+00\")"}', '[null, null]', '\xdd985fd4fe0feae5cf9201a4081cd021918fd380f7281ed10acdae9126b182e1', 'e75f6a7e-3063-4ba7-9695-e212478e4377', NULL, '{20}', false),
	(102, 44, '2026-11-27 02:11:57.717464+00', 4, 23, 1, '{5}', '{"(102,5,8,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 0\",1,\"\\\\x01ec0ad6cf833efef39c\")"}', '[null, null]', '\x5a315bbb8278e48ac3d4de807da905fa6743421eb5c71e54dcc1a4f1da86b167', '1350e458-e5cb-4d7b-8b86-513effd9630b', NULL, NULL, false),
	(102, 46, '2026-11-27 02:11:57.718772+00', 5, 8, 1, '{11,12}', '{"(102,11,5,1,11,,,)","(102,12,5,2,,form,,)"}', '[null, null]', '\x2673cd0e40c6bd9f0cee5a359ba70a7b3874a49336f432294e5ed633304c9edf', 'a5002d71-62c9-4241-97e9-4f3568285371', NULL, '{5}', false),
	(102, 47, '2026-11-27 02:11:57.719624+00', 2, 27, 2, '{11}', '{",\"case_id\":[null, 5]"}', '[null, null]', '\xf5377d7e2c0b1b40c6bdc6d26f154687f9e2c5a4f05e237a22ac070494777f24', '5f31384c-d8a6-49e2-9873-f22de4da454a', NULL, NULL, false),
	(102, 48, '2026-11-27 02:11:57.72347+00', 4, 23, 1, '{6}', '{"(102,6,9,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 1\",1,\"\\\\x01ea8d47f2839ced1a33\")"}', '[null, null]', '\xc22c9be0c7abd5a35e88c9b5fb56fa708e8ae7d4870cada120903fb0a276b22c', 'aebd2948-b8b0-4562-9d3c-fda98fa19a0c', NULL, NULL, false),
	(102, 50, '2026-11-27 02:11:57.724168+00', 5, 8, 1, '{13,14}', '{"(102,13,6,1,12,,,)","(102,14,6,2,,form,,)"}', '[null, null]', '\x571214b4724e1c405c165360e2b9d08b9e05845e1ad220e33e2280c912756cc2', '24cbf091-1498-423d-923f-741bc039e443', NULL, '{6}', false),
	(102, 51, '2026-11-27 02:11:57.724817+00', 2, 27, 2, '{12}', '{",\"case_id\":[null, 6]"}', '[null, null]', '\xb09fb24fdae3c5f124633c674722a1d4282af529dd5d1baa5915a8c2a9f656f7', 'd939b8dc-fd2c-4f48-bc79-6b662b62c973', NULL, NULL, false),
	(102, 52, '2026-11-27 02:11:57.72838+00', 4, 23, 1, '{7}', '{"(102,7,10,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 2\",1,\"\\\\x01177f3d1e8300e300ba\")"}', '[null, null]', '\x6bdcca55f66a634ef87dc049123cf8c7c688672738ddeba5f9af333df339a60f', '02a7a918-9dc4-4301-81b8-4ca427ea9d13', NULL, NULL, false),
	(102, 54, '2026-11-27 02:11:57.728763+00', 5, 8, 1, '{15,16}', '{"(102,15,7,1,13,,,)","(102,16,7,2,,form,,)"}', '[null, null]', '\x74eb1db7613fbb7768f436e8e5c6d1843954a6ade7d425d108343341e87d5527', '02317d9d-d41f-4439-ba11-7e2996e0389e', NULL, '{7}', false),
	(102, 55, '2026-11-27 02:11:57.729297+00', 2, 27, 2, '{13}', '{",\"case_id\":[null, 7]"}', '[null, null]', '\x59ac0c0045b05ce4064eb2b0d825f2f8031bf942eab9669d149c82ddfedaf7e9', '2e6a18f8-d354-4353-b5c6-23e69013c870', NULL, NULL, false),
	(102, 56, '2026-11-27 02:11:57.733649+00', 4, 23, 1, '{8}', '{"(102,8,11,,{},1,,,,,,,\"2026-11-27 02:11:57+00\",,,,,,,\"2026-11-27 02:11:57+00\",\"first 3\",1,\"\\\\x01899d03688312b3a32c\")"}', '[null, null]', '\x9c2c0973ef145e25eb45f8e98f5813cc77f4cf2813c3ec51efb85299185104f2', '97f8e050-f159-4deb-8fa1-77e5471a19a4', NULL, NULL, false),
	(102, 58, '2026-11-27 02:11:57.734057+00', 5, 8, 1, '{17,18}', '{"(102,17,8,1,14,,,)","(102,18,8,2,,form,,)"}', '[null, null]', '\xba5863585b3e44de95692c97c073a4ad8cd9e3c95a16a3eb96a200cc021504da', '8c308c93-703b-42bb-9a36-af5cb5bb2460', NULL, '{8}', false),
	(102, 59, '2026-11-27 02:11:57.734621+00', 2, 27, 2, '{14}', '{",\"case_id\":[null, 8]"}', '[null, null]', '\xb5cf4739d0bfc0902073aec855551c2cbc6fb60c4dbbc401406c1ca04a1eb072', 'ba3995e3-6251-493c-ba2c-635fea4d6a6c', NULL, NULL, false),
	(102, 60, '2026-11-27 02:11:57.738306+00', 4, 23, 2, '{5}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1003],\"revision\":[1, 2]"}', '[null, null]', '\xca38908defbdd84f8547a45e0b40e9e74de2017180eabe62ba222db6a7a64e0d', 'ca6f86c3-1742-4628-889e-b9d26a8c26e7', NULL, NULL, false),
	(102, 62, '2026-11-27 02:11:57.742213+00', 5, 8, 1, '{19,20}', '{"(102,19,6,1,15,,,)","(102,20,6,1,16,,,)"}', '[null, null]', '\xf850b778a7a0366788fcd92c3f5e625e9386b86f0f9c01dfcd25690b6184846f', '2017aa9d-cb07-4f27-98fb-a6bb1fd15a83', NULL, '{6}', false),
	(102, 64, '2026-11-27 02:11:57.742749+00', 2, 27, 2, '{15,16}', '{",\"case_id\":[null, 6]",",\"case_id\":[null, 6]"}', '[null, null]', '\xbb169ebc6c87ee541686f60ffd16b55f902d32a1fb05346efa563ab6ca1ba1e9', '80f10994-b10c-43ad-99cf-4dd33b9883c0', NULL, NULL, false),
	(102, 65, '2026-11-27 02:11:57.743228+00', 4, 23, 2, '{6}', '{",\"first_action_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x825e391a7da5429a9faf6b5c56d5936e3d373ba0925cdb291b360d5b4e528ba5', 'cf65761a-24ec-4b45-9a3b-36cf97261b71', NULL, NULL, false),
	(102, 66, '2026-11-27 02:11:57.747217+00', 5, 8, 3, '{14}', '{"(102,14,6,2,,form,,)"}', '[null, null]', '\x6108e5171a2a02e3b1e42bcaedbe4369d03da3acad887ed8a6455f6e87edbb6d', '599b7c79-cbe2-4d52-bfad-a263c9828ffa', NULL, '{6}', false),
	(102, 67, '2026-11-27 02:11:57.747503+00', 4, 23, 2, '{6}', '{",\"revision\":[2, 3]"}', '[null, null]', '\x14c1a321443f038e68fab8195b9f3db9a9dc4b0f15ea5226c2faed18ef5b0b6e', '03797d56-1ac6-437b-88bc-109a57521edc', NULL, NULL, false),
	(102, 68, '2026-11-27 02:11:57.763141+00', 4, 23, 2, '{6}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"resolved_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\x8359c2f7e45b12061c0b7ffef374a6197723ba184825b1d0559c6e56a10a27a3', 'b8783272-08cf-46b4-93fb-4f746bda9d61', NULL, NULL, false),
	(102, 69, '2026-11-27 02:11:57.77048+00', 4, 23, 2, '{7}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"first_action_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"closed_date\":[null, \"2026-11-27T02:11:57+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x8de4a12cad85a166162ce0995c252d22cf04f65e36b298aa9411ab394833237d', '1b39439c-e1a4-4687-b879-2c7ddedcaf48', NULL, NULL, false),
	(102, 70, '2026-11-27 02:11:57.784845+00', 4, 23, 2, '{7}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-27T02:11:57+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x174988077b7a6d9b57c67b63063bcb4b2b63311ec94413a23cb3f37d6c019259', '8ad55117-7e4b-4c95-ab41-abd8662f0ab5', NULL, NULL, false),
	(101, 76, '2026-11-27 02:11:59.818874+00', 1, 44, 1, '{14,15,16,17,18}', '{"(101,14,second-0,\"second Nàme 0 🌐 \\\\ \"\"quoted\"\"	\",second.0@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,15,second-1,\"second Nàme 1 🌐 \\\\ \"\"quoted\"\"	\",second.1@example.org,,,,,,,,,,276,,,,,,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,16,second-2,\"second Nàme 2 🌐 \\\\ \"\"quoted\"\"	\",second.2@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,17,second-3,\"second Nàme 3 🌐 \\\\ \"\"quoted\"\"	\",second.3@example.org,,,,,,,,,,276,,,,,,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)","(101,18,second-4,\"second Nàme 4 🌐 \\\\ \"\"quoted\"\"	\",second.4@example.org,,,,,,,,,,276,,,,,Zürich,,,,,,\"second affiliate\",active,2024-02-29,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x86a63096e4f4738085ca6cde56169e743d1dc0c34a8660df1568248fde9d063e', 'e8bf3cde-da81-49a1-9924-a693f7e67562', NULL, NULL, false),
	(101, 78, '2026-11-27 02:11:59.822705+00', 1, 44, 2, '{13,14}', '{",\"affiliate_name\":[\"second affiliate\", \"second affiliate 1\"],\"revision\":[1, 2]",",\"affiliate_name\":[\"second Nàme 0 🌐 \\\\ \\\"quoted\\\"\\t\", \"second renamed\"],\"revision\":[1, 2]"}', '[null, null]', '\xea801d840a137c46c4abebd7fb84c5e411adfd9c69a5854d65ba6f6dc310b718', 'd19fc666-27c6-4b5f-89f4-9b7cffa9de67', NULL, NULL, false),
	(101, 88, '2026-11-27 02:11:59.827839+00', 2, 27, 1, '{25,26,23,27,21,24,29,30,28,22}', '{"(101,25,https://example.org/second/4,\"\\\\x1fdeb43f7c463e15de380be97ff83b3ce0398aea59fc306e133140675d52e8df\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,26,https://example.org/second/5,\"\\\\x3e54404475864393abdd4952918c70dee61d146c985d0e35d4946d12e86479c4\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,23,https://example.org/second/2,\"\\\\x4a91280033e49396405bda690e54a54fd6fcd80e213f040c0a03040f3137dc7a\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,27,https://example.org/second/6,\"\\\\x5a0bda6b0b6c9abb03084824d7414d0be6b8c4915eae9b10d709e9b61b59066a\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,21,https://example.org/second/0,\"\\\\x6104e19210e7f08fdcdb1cf13f19da7716a3364ca85b0289b2debca3f0cb1d18\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,24,https://example.org/second/3,\"\\\\x7554122353c3102bb1dc883d1e7e7cabb530e9896e88f43ab0822d20f1e2fc73\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,29,https://example.org/second/8,\"\\\\xace7b132aa0f706a94fb3023e84b5565b617d480b4c7dec79aff5e7bda79fcd9\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,30,https://example.org/second/9,\"\\\\xd9f77f024fe460243c2ba20a85a825a80e024e711fe3165990654236e1eff791\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,28,https://example.org/second/7,\"\\\\xe58cc7cd47a4f4ba36473c6b2dffe7751610f016e74112f6b5f77507f321d79c\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)","(101,22,https://example.org/second/1,\"\\\\xf80dc8553ef2869dafbc145857bb74bca266041808b6f5802d857b4791fa75cb\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)"}', '[null, null]', '\x638c1219d8d5892a760f248885e962a127736f8ce44c32369dfb9b4a8313b06a', '392f87ff-19d9-47c8-a218-a58c744294eb', NULL, NULL, false),
	(101, 91, '2026-11-27 02:11:59.831745+00', 6, 5, 1, '{1006,1007,1008}', '{"(101,4,1006,\"second risk\",)","(101,7,1007,\"second type\",)","(101,8,1008,\"second infraction\",1007)"}', '[null, null]', '\x9200b6c9271107bfdc1241a7a258524c14fb08499aa6b2f01aca2d62097dd7b3', '9be2d9d3-eeca-4d8c-b29e-679b434eca76', NULL, NULL, false),
	(101, 103, '2026-11-27 02:11:59.837058+00', 3, 6, 1, '{29,30,31,32,33,34,35,36,37,38,39,40}', '{"(101,29,25,1007,1008,\"2026-11-27 02:11:59+00\")","(101,30,25,4,11,\"2026-11-27 02:11:59+00\")","(101,31,26,1007,1008,\"2026-11-27 02:11:59+00\")","(101,32,26,4,11,\"2026-11-27 02:11:59+00\")","(101,33,23,1007,1008,\"2026-11-27 02:11:59+00\")","(101,34,23,4,11,\"2026-11-27 02:11:59+00\")","(101,35,21,1007,1008,\"2026-11-27 02:11:59+00\")","(101,36,21,4,11,\"2026-11-27 02:11:59+00\")","(101,37,24,1007,1008,\"2026-11-27 02:11:59+00\")","(101,38,24,4,11,\"2026-11-27 02:11:59+00\")","(101,39,22,1007,1008,\"2026-11-27 02:11:59+00\")","(101,40,22,4,11,\"2026-11-27 02:11:59+00\")"}', '[null, null]', '\xe77a35655f3a957f80d39c9f4de27e6a5a1d0c3016ec16aba798528e7946e137', '8458a322-24cb-4591-b041-61ec93d51ea5', NULL, '{25,25,26,26,23,23,21,21,24,24,22,22}', false),
	(101, 109, '2026-11-27 02:11:59.837427+00', 2, 27, 2, '{25,26,23,21,24,22}', '{",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"incident_status_id\":[1, 3],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"incident_status_id\":[1, 3],\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"disabled\":[false, true],\"country\":[null, 276],\"affiliate_id\":[null, 15]",",\"country\":[null, 276],\"affiliate_id\":[null, 15]"}', '[null, null]', '\x43180b10d39c6d53661aa7b68b06f89824bc697bce2f7110b852a04bd739fc96', 'bfe60e37-eb20-4f98-adf3-23f049b68fd3', NULL, NULL, false),
	(101, 110, '2026-11-27 02:11:59.84151+00', 2, 27, 2, '{22}', '{",\"country\":[276, null]"}', '[null, null]', '\x6149ab780c335aa1204e7e0afdbb27e03bd2008ec3ed73e34a2de0b732166171', '130406de-ade8-42f9-90c0-2ce10fa0f6db', NULL, NULL, false),
	(101, 112, '2026-11-27 02:11:59.844862+00', 3, 6, 1, '{41,42}', '{"(101,41,29,1007,1008,\"2026-11-27 02:11:59+00\")","(101,42,30,1007,1008,\"2026-11-27 02:11:59+00\")"}', '[null, null]', '\x22d1d0630254167a289ccc97c37e28b38156c0bb5b77c00a4139646d5321edde', '42221d30-2a37-49c5-975d-8292abc420a8', NULL, '{29,30}', false),
	(101, 113, '2026-11-27 02:11:59.847626+00', 3, 6, 3, '{42}', '{"(101,42,30,1007,1008,\"2026-11-27 02:11:59+00\")"}', '[null, null]', '\x635674b7333145665d3b279c1687f65a5b8ce5ebb4bfea153ce04f7881ee19da', 'e25e36a4-7dc9-4e17-9be0-1a843880e84b', NULL, '{30}', false),
	(101, 114, '2026-11-27 02:11:59.851198+00', 4, 23, 1, '{9}', '{"(101,9,14,,{},1,,,,,,,\"2026-11-27 02:11:59+00\",,,,,,,\"2026-11-27 02:11:59+00\",\"second 0\",1,\"\\\\x018a7f576d839099d97f\")"}', '[null, null]', '\x60c81891c8b552c930b0c68db792599187eeb520d4d506e9d6e39247e80e8da8', 'f7864aa8-948b-4919-bfb0-70344d710292', NULL, NULL, false),
	(101, 116, '2026-11-27 02:11:59.851684+00', 5, 8, 1, '{21,22}', '{"(101,21,9,1,21,,,)","(101,22,9,2,,form,,)"}', '[null, null]', '\x2def528fb30035ca46f506d60cca768af6d8812b6fbed7037da24f777e46c93c', '5deaa88a-676e-44f1-be67-7b0876045867', NULL, '{9}', false),
	(101, 117, '2026-11-27 02:11:59.852359+00', 2, 27, 2, '{21}', '{",\"case_id\":[null, 9]"}', '[null, null]', '\xa2cca9d74dbef6b5292ee6a1c4bf042c5306b7887c239ecea4d631b6af70ad14', '69a4e524-d088-4e6f-9a3a-da8590b6800b', NULL, NULL, false),
	(101, 118, '2026-11-27 02:11:59.856649+00', 4, 23, 1, '{10}', '{"(101,10,15,,{},1,,,,,,,\"2026-11-27 02:11:59+00\",,,,,,,\"2026-11-27 02:11:59+00\",\"second 1\",1,\"\\\\x0131b0039683a287aeb2\")"}', '[null, null]', '\x41e3a42ad7084e1218115ab09cbabe89506ac7e47375689033c48b8ebd7ecd91', 'd41371b4-73dc-404f-ba5f-47c22671d7aa', NULL, NULL, false),
	(101, 120, '2026-11-27 02:11:59.857129+00', 5, 8, 1, '{23,24}', '{"(101,23,10,1,22,,,)","(101,24,10,2,,form,,)"}', '[null, null]', '\xa6d22f804b506bd3ec6fa2ea7e1817e7c639f11660e52e297ff9be65311c2c26', '2772f778-3bf0-4845-895c-f0a7c8b0e943', NULL, '{10}', false),
	(101, 121, '2026-11-27 02:11:59.8577+00', 2, 27, 2, '{22}', '{",\"case_id\":[null, 10]"}', '[null, null]', '\xe904b4a8a5ecb11cbc3ed01ab80e13a93525453d940718138b50899e6e597246', '881a290d-7ce1-49d9-9f9f-82f901eda6b9', NULL, NULL, false),
	(101, 122, '2026-11-27 02:11:59.861341+00', 4, 23, 1, '{11}', '{"(101,11,16,,{},1,,,,,,,\"2026-11-27 02:11:59+00\",,,,,,,\"2026-11-27 02:11:59+00\",\"second 2\",1,\"\\\\x0116275f9f8351f2da48\")"}', '[null, null]', '\x5b802a6f8e6ffebe828664c8d9ba5d3d4e1e3d24aa2e4ef9bc27f6729627dc38', 'bb168914-6fc7-493a-be45-9db42e779c4a', NULL, NULL, false),
	(101, 124, '2026-11-27 02:11:59.861764+00', 5, 8, 1, '{25,26}', '{"(101,25,11,1,23,,,)","(101,26,11,2,,form,,)"}', '[null, null]', '\x8d35d805065faec97eeb3c2c838a0fe90ee1d5bb19c06986dcefe2f274bbfa67', '94be33ec-d87c-4578-9f0e-ce480fd03aba', NULL, '{11}', false),
	(101, 125, '2026-11-27 02:11:59.862384+00', 2, 27, 2, '{23}', '{",\"case_id\":[null, 11]"}', '[null, null]', '\xce16cbe3e262c32eea1424bfdd5ca01de80177076ac5e9d6849e1a74a299ec6d', '4f7604c1-3b02-4c6e-aeaf-8db1fa18be87', NULL, NULL, false),
	(101, 126, '2026-11-27 02:11:59.866513+00', 4, 23, 1, '{12}', '{"(101,12,17,,{},1,,,,,,,\"2026-11-27 02:11:59+00\",,,,,,,\"2026-11-27 02:11:59+00\",\"second 3\",1,\"\\\\x01ec14364983dfe63cbe\")"}', '[null, null]', '\x7ee9b3d2c2f9e6829ebfff5e1e1530aae8d6f5490fdeab2ae5672e8b7501d7f2', '0cf42737-64b2-4eb2-bf66-2b91041ee4ce', NULL, NULL, false),
	(101, 128, '2026-11-27 02:11:59.867075+00', 5, 8, 1, '{27,28}', '{"(101,27,12,1,24,,,)","(101,28,12,2,,form,,)"}', '[null, null]', '\x8db0d58cc3c8e8ef7ed1e9b780d4b07fc3f44ca8fea59ab9a06f331323e8f544', '9ea01e8d-88cc-49b4-afb5-e0d1e15dc45a', NULL, '{12}', false),
	(101, 129, '2026-11-27 02:11:59.867826+00', 2, 27, 2, '{24}', '{",\"case_id\":[null, 12]"}', '[null, null]', '\xb08365d494b5c428c248307d775d4d79e11da52e227eacbd1317fa661be64750', 'ca1f2494-bc9b-4b71-a1c7-a7d30bdddf9e', NULL, NULL, false),
	(101, 130, '2026-11-27 02:11:59.871718+00', 4, 23, 2, '{9}', '{",\"tags\":[[], [\"a\",\"b, c\"]],\"risk_level_id\":[null, 1006],\"revision\":[1, 2]"}', '[null, null]', '\x583a3e29bc7430124c15b848c72bffc0e2293652cfd0d0b97e2b59014e2c1f65', 'baa4c657-170e-42c4-ab32-b3c422a443e2', NULL, NULL, false),
	(101, 132, '2026-11-27 02:11:59.875806+00', 5, 8, 1, '{29,30}', '{"(101,29,10,1,25,,,)","(101,30,10,1,26,,,)"}', '[null, null]', '\x0e451111241930c5ea5036fd21fa784905a6c71ffcbdc068e187abbfdb101a99', 'eabe1560-1444-408b-a92f-444b13560a12', NULL, '{10}', false),
	(101, 134, '2026-11-27 02:11:59.876703+00', 2, 27, 2, '{25,26}', '{",\"case_id\":[null, 10]",",\"case_id\":[null, 10]"}', '[null, null]', '\xc7a13f8ebe249d6e4d7c5e7cb5e29e777aa201a00e09777d9bcc52f53d82dca1', 'f361fe50-a613-4ce3-b4a9-2ec48ab52af7', NULL, NULL, false),
	(101, 135, '2026-11-27 02:11:59.877293+00', 4, 23, 2, '{10}', '{",\"first_action_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\xe8aeffc0a238dfdae265e85f777a9b4b2c2b93e2e4839c597432214defccbf92', 'a8013b10-0ee3-4eee-a764-15d2d4088c7b', NULL, NULL, false),
	(101, 136, '2026-11-27 02:11:59.880816+00', 5, 8, 3, '{24}', '{"(101,24,10,2,,form,,)"}', '[null, null]', '\xa7e77de9fe3597561ce5171fd031d99d31af163effc43862f9ee5281ec966795', '6b5f3f03-f588-46d5-b7e7-fbfbcdbdb3bc', NULL, '{10}', false),
	(101, 137, '2026-11-27 02:11:59.881261+00', 4, 23, 2, '{10}', '{",\"revision\":[2, 3]"}', '[null, null]', '\x1c98f43c267c94d05bca18f6abd282ae8fa5308635724453f283dc7f472def89', '6a503ed5-f9a9-4cb0-a0f8-a61528e1c9b7', NULL, NULL, false),
	(101, 138, '2026-11-27 02:11:59.884834+00', 4, 23, 2, '{10}', '{",\"case_status_id\":[1, 5],\"reviewed_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"resolved_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"revision\":[3, 4]"}', '[null, null]', '\xa86e2d34fbb4f1198544af2bdd0bc2296d5f688f3c1177f2bf23751494dc52c9', '819de00f-c333-486b-8847-b845bc3eb731', NULL, NULL, false),
	(101, 139, '2026-11-27 02:11:59.888244+00', 4, 23, 2, '{11}', '{",\"case_status_id\":[1, 6],\"reviewed_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"first_action_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"closed_date\":[null, \"2026-11-27T02:11:59+00:00\"],\"revision\":[1, 2]"}', '[null, null]', '\x52a358b2094aa76c855964018b618cc771bc5e7393d66d821ac4b28b1f5a8c0b', 'd6219d84-cd2a-4b60-ab73-14f813c82e0e', NULL, NULL, false),
	(101, 140, '2026-11-27 02:11:59.891982+00', 4, 23, 2, '{11}', '{",\"case_status_id\":[6, 2],\"closed_date\":[\"2026-11-27T02:11:59+00:00\", null],\"revision\":[2, 3]"}', '[null, null]', '\x63d860edb997ac9e78efb200f50546f273ecf4067a271ad8d8c1e3d858a8b076', '4e2b3af8-c2e3-405d-8350-9cec96ce0985', NULL, NULL, false),
	(101, 142, '2026-11-27 02:12:01.906773+00', 4, 23, 1, '{13}', '{"(101,13,19,,,1,,,,,,,\"2026-11-27 02:12:01+00\",,,,,,,\"2026-11-27 02:12:01+00\",,1,)"}', '[null, null]', '\x4415b8522321f8a31d1a4fe7e4fffa749f02ad89f5caf4523832cb3da151c113', 'c0a7fcf5-4348-ab08-1af2-21fd6505cf10', '\x0c4a93c36892be9ddd260607ce91611292cba2d95cbfef8df0b4d1d02bcf1e14', NULL, false),
	(101, 143, '2026-11-27 02:12:01.926707+00', 4, 23, 3, '{13}', '{"(101,13,19,,,1,,,,,,,\"2026-11-27 02:12:01+00\",,,,,,,\"2026-11-27 02:12:01+00\",,1,)"}', '[null, null]', '\xce6eb93eb389041087d06ac57f532a1d10a5e70233c0ae7a4078b6c3f40782f0', '69d2348e-2894-0bd3-f2f4-23e7bb134d7a', '\xbcb7ef0651b5968980115aa6d6736ed9704152ff3fb7985ff16ccea788d5ced3', NULL, false),
	(101, 144, '2026-11-27 02:12:01.930523+00', 1, 44, 3, '{19}', '{"(101,19,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\xc2a2cd68811a0fb94d531a7971bb31564a13d688c63a26ee00e07fba52300884', '6ad0dcb7-f121-35de-1577-c0fe53c9cd7e', '\xa5efb3e2765ee01da8afab57e13e54c60272d01f7735e97fb761dd8185ab6a92', NULL, false),
	(101, 145, '2026-11-27 02:12:01.94186+00', 1, 0, 4, '{19}', '{"{\"141\": \"918cef71ebfb8a0e12c9898a06919d3381e567d66a564b21cdf339e41ef4051f\", \"142\": \"28820856e06c0ff97c9060ca312eb3e18b47ed815a8d0b8d9c7f219f98fdde26\", \"143\": \"dcb8190c12adbfae840024ab7cdc323db92e7b49afbe7d69638cebfb8fd4a175\", \"144\": \"c124bc8a87ac297b61dc7f0822c55ef51de3ac130f9aac25dab33aebf411be3e\"}"}', '[null, null]', '\x30dd69528f8b7548a0ea616adf7e805df55fa08ba3c4827cf2f1e87a0aa1e8b2', NULL, NULL, NULL, false),
	(101, 163, '2026-11-27 02:12:02.046678+00', 7, 0, 2, '{1}', '{",\"description\":[null, \"Copy\"],\"position\":[null, 162],\"status\":[null, \"enabled\"],\"types\":[null, [\"affiliate\", \"case\"]],\"url\":[null, \"https://receiver.example/hook\"]"}', '["19087026642456661", null]', '\x5b513a645f3ebd2479f22d0b4fc97341a44088acf258b9c0af835cf9905384ca', '5227c41d-7443-4919-ae76-390d288fdfb6', NULL, NULL, false),
	(102, 71, '2026-11-27 02:12:02.075417+00', 7, 0, 2, '{2}', '{",\"description\":[null, \"Copy\"],\"position\":[null, 70],\"status\":[null, \"enabled\"],\"types\":[null, [\"affiliate\", \"case\"]],\"url\":[null, \"https://receiver.example/hook\"]"}', '["19087026642456662", null]', '\x8aa864687eaa5b103228781608761b3175c17e2ae9c791a6e173205701d11275', 'f11e5988-1b38-40a5-862a-22fb7a374c91', NULL, NULL, false),
	(101, 141, '2026-11-27 02:12:01.901673+00', 1, 44, 1, '{19}', '{"(101,19,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,1)"}', '[null, null]', '\x643d7d85917c5df4b21a553f85b47e2013a5355674ba7a4d56ca7d2fd31e822e', 'e4838c3b-3e11-0d43-c950-b02d48c11fbf', '\xfd0703ef1861922db950ae216c5a1744fec4461555a9386b29e5c7dc9633bbc5', NULL, false);
INSERT INTO public.changes_y2026m11 VALUES
	(101, 146, '2026-11-27 02:12:01.952969+00', 1, 44, 1, '{20}', '{"(101,20,hand,\"By hand\",,,,,,,,,,,,,,\"a, (b) \"\"c\"\" \\\\ d
e\",,,,,,,,,,2024-01-02,,,,,,,,,,,,,,,,1)"}', NULL, '\x7bbb5a970e3874d337609d70d64b97827d8c0be5a5a5c6f4c2d34ecdd764c978', 'b79707a0-d6f2-4fa1-9d62-2ff9da325591', NULL, NULL, false),
	(101, 153, '2026-11-27 02:12:01.959544+00', 2, 27, 2, '{3,6,9,21,24,27,30}', '{",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]",",\"last_seen\":[null, \"2026-01-31T12:00:00+00:00\"],\"note\":[null, \"\\\"\\\\,()\\t\"]"}', NULL, '\xacc1a1c5476c501b310f2b7041319c7da56086827e90ef8df0a53d1486cfaf5c', '36cf9b93-30f4-44ec-89e4-264ca36a7b5e', NULL, NULL, false),
	(101, 154, '2026-11-27 02:12:01.966686+00', 2, 27, 3, '{28}', '{"(101,28,https://example.org/second/7,\"\\\\xe58cc7cd47a4f4ba36473c6b2dffe7751610f016e74112f6b5f77507f321d79c\",example.org,1,f,,,\"2026-11-27 02:11:59+00\",,,,,,,,,,,,,,,,,)"}', NULL, '\xb4f9f96fbaf11751f52294c1c3c450bb15e860878ef26df169a45c927f041a46', '1f9f1027-a20f-4bc3-a8a3-85f29a648b63', NULL, NULL, false),
	(101, 162, '2026-11-27 02:12:01.972502+00', 4, 23, 2, '{1,2,3,4,9,10,11,12}', '{",\"tags\":[[\"a\",\"b, c\"], [\"x\",\"y z\"]],\"revision\":[2, 3]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[4, 5]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[3, 4]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[1, 2]",",\"tags\":[[\"a\",\"b, c\"], [\"x\",\"y z\"]],\"revision\":[2, 3]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[4, 5]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[3, 4]",",\"tags\":[[], [\"x\",\"y z\"]],\"revision\":[1, 2]"}', NULL, '\x35fe2a03d1dee7b34b4896571a3bccffb49c8cfe1c4cfbc9faa692356ece2169', 'eda384a3-d580-499d-b262-ecd85b09cc39', NULL, NULL, false);


--
-- Data for Name: changes_y2026m12; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: compliance_case_counts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_case_counts VALUES
	(101, 'id_coarsest', 0, 6, 0, 20784, 20784),
	(101, 'created_date', 20784, 2, 2, 20784, 20784),
	(101, 'all', 0, 6, 0, 20784, 20784),
	(101, 'all', 0, 2, 2, 20784, 20784),
	(101, 'id_coarse', 0, 6, 0, 20784, 20784),
	(101, 'id_coarse', 0, 2, 2, 20784, 20784),
	(101, 'id', 0, 6, 0, 20784, 20784),
	(101, 'created_date_coarse', 649, 6, 0, 20784, 20784),
	(101, 'created_date', 20784, 6, 0, 20784, 20784),
	(101, 'created_date_coarse', 649, 2, 2, 20784, 20784),
	(101, 'all', 0, 5, 2, 20784, 20784),
	(101, 'id_coarse', 0, 5, 2, 20784, 20784),
	(101, 'id', 0, 2, 2, 20784, 20784),
	(101, 'created_date', 20784, 5, 2, 20784, 20784),
	(101, 'id_coarsest', 0, 2, 2, 20784, 20784),
	(102, 'id_coarse', 0, 1, 2, 20784, 20784),
	(102, 'created_date_coarse', 649, 1, 2, 20784, 20784),
	(102, 'id_coarsest', 0, 1, 2, 20784, 20784),
	(102, 'all', 0, 1, 2, 20784, 20784),
	(101, 'created_date_coarse', 649, 5, 2, 20784, 20784),
	(101, 'id', 0, 5, 2, 20784, 20784),
	(101, 'id_coarsest', 0, 5, 2, 20784, 20784),
	(101, 'id_coarse', 0, 1, 4, 20784, 20784),
	(101, 'all', 0, 1, 4, 20784, 20784),
	(101, 'created_date_coarse', 649, 1, 4, 20784, 20784),
	(101, 'created_date', 20784, 1, 4, 20784, 20784),
	(101, 'id', 0, 1, 4, 20784, 20784),
	(101, 'id_coarsest', 0, 1, 4, 20784, 20784),
	(102, 'created_date', 20784, 5, 1, 20784, 20784),
	(102, 'id_coarse', 0, 5, 1, 20784, 20784),
	(102, 'id_coarsest', 0, 5, 1, 20784, 20784),
	(102, 'id', 0, 5, 1, 20784, 20784),
	(102, 'all', 0, 5, 1, 20784, 20784),
	(102, 'created_date_coarse', 649, 5, 1, 20784, 20784),
	(102, 'created_date', 20784, 1, 2, 20784, 20784),
	(102, 'id', 0, 1, 2, 20784, 20784),
	(102, 'all', 0, 6, 0, 20784, 20784),
	(102, 'created_date_coarse', 649, 6, 0, 20784, 20784),
	(102, 'created_date_coarse', 649, 2, 1, 20784, 20784),
	(102, 'id_coarse', 0, 6, 0, 20784, 20784),
	(102, 'created_date', 20784, 2, 1, 20784, 20784),
	(102, 'id_coarsest', 0, 2, 1, 20784, 20784),
	(102, 'all', 0, 2, 1, 20784, 20784),
	(102, 'created_date', 20784, 6, 0, 20784, 20784),
	(102, 'id_coarse', 0, 2, 1, 20784, 20784),
	(102, 'id', 0, 2, 1, 20784, 20784),
	(102, 'id', 0, 6, 0, 20784, 20784),
	(102, 'id_coarsest', 0, 6, 0, 20784, 20784);


--
-- Data for Name: compliance_cases; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_cases VALUES
	(102, 8, 11, NULL, '{}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 3', 1, '\x01899d03688312b3a32c'),
	(102, 5, 8, NULL, '{a,"b, c"}', 1, NULL, NULL, NULL, 1003, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 0', 2, '\x01ec0ad6cf833efef39c'),
	(102, 6, 9, NULL, '{}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 1', 4, '\x01ea8d47f2839ced1a33'),
	(102, 7, 10, NULL, '{}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 2', 3, '\x01177f3d1e8300e300ba'),
	(101, 1, 2, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, 1000, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 0', 3, '\x01ec0ad6cf833efef39c'),
	(101, 2, 3, NULL, '{x,"y z"}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 1', 5, '\x01ea8d47f2839ced1a33'),
	(101, 3, 4, NULL, '{x,"y z"}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', '2026-11-27 02:11:57+00', NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 2', 4, '\x01177f3d1e8300e300ba'),
	(101, 4, 5, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:57+00', 'first 3', 2, '\x01899d03688312b3a32c'),
	(101, 9, 14, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, 1006, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:59+00', 'second 0', 3, '\x018a7f576d839099d97f'),
	(101, 10, 15, NULL, '{x,"y z"}', 5, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:59+00', '2026-11-27 02:11:59+00', '2026-11-27 02:11:59+00', '2026-11-27 02:11:59+00', NULL, NULL, NULL, '2026-11-27 02:11:59+00', 'second 1', 5, '\x0131b0039683a287aeb2'),
	(101, 11, 16, NULL, '{x,"y z"}', 2, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:59+00', '2026-11-27 02:11:59+00', NULL, '2026-11-27 02:11:59+00', NULL, NULL, NULL, '2026-11-27 02:11:59+00', 'second 2', 4, '\x0116275f9f8351f2da48'),
	(101, 12, 17, NULL, '{x,"y z"}', 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, NULL, NULL, NULL, NULL, '2026-11-27 02:11:59+00', 'second 3', 2, '\x01ec14364983dfe63cbe');


--
-- Data for Name: compliance_url_counts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_url_counts VALUES
	(101, 'discovery_date_coarse', 649, 3, false, 4, 0, 0, 20784, 20784),
	(101, 'discovery_date', 20784, 1, true, 2, 0, 0, 20784, 20784),
	(101, 'discovery_date_coarse', 649, 3, true, 2, 0, 0, 20784, 20784),
	(102, 'id', 0, 1, false, 6, 6, 6, 20784, 20784),
	(102, 'discovery_date', 20784, 1, false, 6, 0, 0, 20784, 20784),
	(102, 'id', 0, 3, false, 2, 2, 2, 20784, 20784),
	(102, 'id_coarse', 0, 1, false, 6, 6, 6, 20784, 20784),
	(102, 'id_coarse', 0, 3, false, 2, 2, 2, 20784, 20784),
	(102, 'all', 0, 3, false, 2, 0, 0, 20784, 20784),
	(102, 'discovery_date_coarse', 649, 3, false, 2, 0, 0, 20784, 20784),
	(102, 'discovery_date', 20784, 1, true, 1, 0, 0, 20784, 20784),
	(102, 'id', 0, 3, true, 1, 1, 1, 20784, 20784),
	(102, 'all', 0, 3, true, 1, 0, 0, 20784, 20784),
	(102, 'discovery_date', 20784, 3, true, 1, 0, 0, 20784, 20784),
	(102, 'id_coarsest', 0, 3, false, 2, 2, 2, 20784, 20784),
	(102, 'discovery_date_coarse', 649, 1, true, 1, 0, 0, 20784, 20784),
	(102, 'discovery_date_coarse', 649, 1, false, 6, 0, 0, 20784, 20784),
	(102, 'all', 0, 1, true, 1, 0, 0, 20784, 20784),
	(102, 'all', 0, 1, false, 6, 0, 0, 20784, 20784),
	(102, 'discovery_date', 20784, 3, false, 2, 0, 0, 20784, 20784),
	(102, 'id_coarsest', 0, 1, false, 6, 6, 6, 20784, 20784),
	(101, 'id', 0, 3, false, 4, 4, 3, 20784, 20784),
	(101, 'id_coarsest', 0, 1, true, 2, 2, 1, 20784, 20784),
	(101, 'id_coarse', 0, 3, false, 4, 4, 3, 20784, 20784),
	(101, 'id_coarse', 0, 1, true, 2, 2, 1, 20784, 20784),
	(101, 'all', 0, 1, true, 2, 0, 0, 20784, 20784),
	(101, 'discovery_date', 20784, 3, true, 2, 0, 0, 20784, 20784),
	(101, 'discovery_date_coarse', 649, 1, true, 2, 0, 0, 20784, 20784),
	(101, 'discovery_date', 20784, 3, false, 4, 0, 0, 20784, 20784),
	(101, 'all', 0, 3, false, 4, 0, 0, 20784, 20784),
	(101, 'all', 0, 3, true, 2, 0, 0, 20784, 20784),
	(101, 'id', 0, 3, true, 2, 2, 1, 20784, 20784),
	(101, 'id_coarsest', 0, 3, false, 4, 4, 3, 20784, 20784),
	(101, 'id_coarse', 0, 3, true, 2, 2, 1, 20784, 20784),
	(101, 'id_coarsest', 0, 3, true, 2, 2, 1, 20784, 20784),
	(101, 'id', 0, 1, true, 2, 2, 1, 20784, 20784),
	(101, 'id_coarse', 0, 1, false, 11, 11, 7, 20784, 20784),
	(101, 'all', 0, 1, false, 11, 0, 0, 20784, 20784),
	(101, 'id', 0, 1, false, 11, 11, 7, 20784, 20784),
	(101, 'discovery_date', 20784, 1, false, 11, 0, 0, 20784, 20784),
	(101, 'id_coarsest', 0, 1, false, 11, 11, 7, 20784, 20784),
	(101, 'discovery_date_coarse', 649, 1, false, 11, 0, 0, 20784, 20784),
	(102, 'id_coarsest', 0, 1, true, 1, 1, 1, 20784, 20784),
	(102, 'discovery_date_coarse', 649, 3, true, 1, 0, 0, 20784, 20784),
	(102, 'id', 0, 1, true, 1, 1, 1, 20784, 20784),
	(102, 'id_coarse', 0, 3, true, 1, 1, 1, 20784, 20784),
	(102, 'id_coarsest', 0, 3, true, 1, 1, 1, 20784, 20784),
	(102, 'id_coarse', 0, 1, true, 1, 1, 1, 20784, 20784),
	(101, 'last_seen_coarse', 640, 3, true, 1, 0, 0, 20784, 20784),
	(101, 'last_seen_coarse', 640, 1, true, 1, 0, 0, 20784, 20784),
	(101, 'last_seen_coarse', 640, 3, false, 1, 0, 0, 20784, 20784),
	(101, 'last_seen', 20484, 1, false, 4, 0, 0, 20784, 20784),
	(101, 'last_seen', 20484, 1, true, 1, 0, 0, 20784, 20784),
	(101, 'last_seen', 20484, 3, false, 1, 0, 0, 20784, 20784),
	(101, 'last_seen', 20484, 3, true, 1, 0, 0, 20784, 20784),
	(101, 'last_seen_coarse', 640, 1, false, 4, 0, 0, 20784, 20784);


--
-- Data for Name: compliance_urls; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.compliance_urls VALUES
	(101, 8, 'https://example.org/first/7', '\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 10, 'https://example.org/first/9', '\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 7, 'https://example.org/first/6', '\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 1, 'https://example.org/first/0', '\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b', 'example.org', 3, true, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL),
	(101, 2, 'https://example.org/first/1', '\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL),
	(101, 4, 'https://example.org/first/3', '\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de', 'example.org', 1, true, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, NULL, NULL, NULL, NULL),
	(101, 5, 'https://example.org/first/4', '\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL),
	(102, 18, 'https://example.org/first/7', '\x2fd9a5a285bf14ceeaaf4291ad0ad3ab7c5356a154e4106745d8e4bdaba71cf5', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 19, 'https://example.org/first/8', '\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 20, 'https://example.org/first/9', '\xa7d0a62a1c4b6797d874170cec6863a898d314cfbc951d633c8910bb7fae55f8', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 17, 'https://example.org/first/6', '\xdb60497cf0eaa8cc40447bcc877a405d0febb569318742b2999cdb7fa28684be', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(102, 11, 'https://example.org/first/0', '\x6cdee21bd819c0dc65825e25aa8a9518df7b1caa4f66bdf0d12d2671d591ba5b', 'example.org', 3, true, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL, NULL, NULL, NULL),
	(102, 12, 'https://example.org/first/1', '\x41aabd1183913ec171fcfc64db82be237e57c124eeaca3cfd02b0869d253f377', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(102, 13, 'https://example.org/first/2', '\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL),
	(102, 14, 'https://example.org/first/3', '\xa8019c23dde72c80dfc814f3399fb098156dfee3a2d2b4e604ee5b0181e1a9de', 'example.org', 1, true, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 8, NULL, NULL, NULL, NULL),
	(102, 15, 'https://example.org/first/4', '\x34ac19488e227fae050db1da7ec0b96ab5c6cfb0e8aae70d331de75f9fd9e9e2', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(102, 16, 'https://example.org/first/5', '\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450', 'example.org', 1, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, NULL, 9, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, NULL, NULL, NULL, NULL),
	(101, 29, 'https://example.org/second/8', '\xace7b132aa0f706a94fb3023e84b5565b617d480b4c7dec79aff5e7bda79fcd9', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(101, 23, 'https://example.org/second/2', '\x4a91280033e49396405bda690e54a54fd6fcd80e213f040c0a03040f3137dc7a', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:59+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 11, NULL, NULL, NULL, NULL),
	(101, 25, 'https://example.org/second/4', '\x1fdeb43f7c463e15de380be97ff83b3ce0398aea59fc306e133140675d52e8df', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:59+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 26, 'https://example.org/second/5', '\x3e54404475864393abdd4952918c70dee61d146c985d0e35d4946d12e86479c4', 'example.org', 1, false, NULL, 276, '2026-11-27 02:11:59+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 3, 'https://example.org/first/2', '\xf10384878ed7fb6a8bebd57297352e42577d65f6b4167980ff7058ad68f9498f', 'example.org', 3, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, '2026-01-31 12:00:00+00', 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, '"\,()	', NULL, NULL, NULL),
	(101, 6, 'https://example.org/first/5', '\x1d5ebfc0f4789ee8d7577397b69910da1aef4e9861283736fae5b9a494e4a450', 'example.org', 1, false, NULL, 276, '2026-11-27 02:11:57+00', NULL, NULL, '2026-01-31 12:00:00+00', 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, '"\,()	', NULL, NULL, NULL),
	(101, 9, 'https://example.org/first/8', '\x89bb37e6441fa864b62877c57ef221b9a81a6ecd3fedf63bc616c2e474291931', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:57+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL),
	(101, 21, 'https://example.org/second/0', '\x6104e19210e7f08fdcdb1cf13f19da7716a3364ca85b0289b2debca3f0cb1d18', 'example.org', 3, true, NULL, 276, '2026-11-27 02:11:59+00', NULL, NULL, '2026-01-31 12:00:00+00', 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 9, '"\,()	', NULL, NULL, NULL),
	(101, 24, 'https://example.org/second/3', '\x7554122353c3102bb1dc883d1e7e7cabb530e9896e88f43ab0822d20f1e2fc73', 'example.org', 1, true, NULL, 276, '2026-11-27 02:11:59+00', NULL, NULL, '2026-01-31 12:00:00+00', 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 12, '"\,()	', NULL, NULL, NULL),
	(101, 27, 'https://example.org/second/6', '\x5a0bda6b0b6c9abb03084824d7414d0be6b8c4915eae9b10d709e9b61b59066a', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL),
	(101, 22, 'https://example.org/second/1', '\xf80dc8553ef2869dafbc145857bb74bca266041808b6f5802d857b4791fa75cb', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, NULL, 15, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, NULL, NULL, NULL, NULL),
	(101, 30, 'https://example.org/second/9', '\xd9f77f024fe460243c2ba20a85a825a80e024e711fe3165990654236e1eff791', 'example.org', 1, false, NULL, NULL, '2026-11-27 02:11:59+00', NULL, NULL, '2026-01-31 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '"\,()	', NULL, NULL, NULL);


--
-- Data for Name: database_identity; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.database_identity VALUES
	(true, '7712668263889031196 00000001 16887 16603', 0, NULL);


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
	(101, 1, 6, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 2, 6, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 3, 5, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 4, 5, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 5, 2, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 6, 2, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 7, 1, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 8, 1, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 9, 4, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 10, 4, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 11, 3, 1001, 1002, '2026-11-27 02:11:57+00'),
	(101, 12, 3, 4, 11, '2026-11-27 02:11:57+00'),
	(101, 13, 9, 1001, 1002, '2026-11-27 02:11:57+00'),
	(102, 15, 16, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 16, 16, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 17, 15, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 18, 15, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 19, 12, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 20, 12, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 21, 11, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 22, 11, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 23, 14, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 24, 14, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 25, 13, 1004, 1005, '2026-11-27 02:11:57+00'),
	(102, 26, 13, 4, 11, '2026-11-27 02:11:57+00'),
	(102, 27, 19, 1004, 1005, '2026-11-27 02:11:57+00'),
	(101, 29, 25, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 30, 25, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 31, 26, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 32, 26, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 33, 23, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 34, 23, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 35, 21, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 36, 21, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 37, 24, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 38, 24, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 39, 22, 1007, 1008, '2026-11-27 02:11:59+00'),
	(101, 40, 22, 4, 11, '2026-11-27 02:11:59+00'),
	(101, 41, 29, 1007, 1008, '2026-11-27 02:11:59+00');


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
	(101, 1, 1, 'msg_1', 0, 2, 1, '2026-11-27 02:12:02.065943+00', 12, 200, NULL),
	(101, 1, 2, 'msg_2', 2, 4, 1, '2026-11-27 02:12:02.065943+00', 15000, NULL, 'no response'),
	(102, 2, 1, 'msg_1', 0, 2, 1, '2026-11-27 02:12:02.078667+00', 12, 200, NULL),
	(102, 2, 2, 'msg_2', 2, 4, 1, '2026-11-27 02:12:02.078667+00', 15000, NULL, 'no response');


--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.webhooks VALUES
	(101, 1, 'https://receiver.example/hook', '{affiliate,case}', 'Copy', 'whsec_spjYSI8vUn0zdrqeezs8HcAQkXlvgSyhZIvSQ9NItPM=', '{}', '{}', 162, 162, NULL, NULL, 0, NULL, false, '2026-11-27 02:12:02.041011+00', '1970-01-01 00:00:00+00', 0, NULL, '2026-11-27 02:12:02.041011+00', '\x00c91d627d6a0c065ca9c0300f375c521a87cc7c81acea715fd2be0fafc998cc', NULL, NULL, NULL, 0),
	(102, 2, 'https://receiver.example/hook', '{affiliate,case}', 'Copy', 'whsec_aIahVFxRMFWzVJPum/Q8e69ufeqZLn9JFtmZRsLKwa8=', '{}', '{}', 70, 70, NULL, NULL, 0, NULL, false, '2026-11-27 02:12:02.073865+00', '1970-01-01 00:00:00+00', 0, NULL, '2026-11-27 02:12:02.073865+00', '\x00c91d627d6a0c065ca9c0300f375c521a87cc7c81acea715fd2be0fafc998cc', NULL, NULL, NULL, 0);


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
-- Name: change_drops change_drops_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.change_drops
    ADD CONSTRAINT change_drops_pkey PRIMARY KEY (company_id, "position");


--
-- Name: change_positions change_positions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.change_positions
    ADD CONSTRAINT change_positions_pkey PRIMARY KEY (company_id);


--
-- Name: change_retention change_retention_dates_check; Type: CHECK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE public.change_retention
    ADD CONSTRAINT change_retention_dates_check CHECK (((set_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (set_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (last_run_at >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (last_run_at < '10000-01-01 00:00:00+00'::timestamp with time zone) AND (steady_since >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND (steady_since < '10000-01-01 00:00:00+00'::timestamp with time zone))) NOT VALID;


--
-- Name: change_retention change_retention_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.change_retention
    ADD CONSTRAINT change_retention_pkey PRIMARY KEY (is_set);


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
-- Name: database_identity database_identity_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.database_identity
    ADD CONSTRAINT database_identity_pkey PRIMARY KEY (is_only);


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
-- Name: changes_set_back_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_set_back_idx ON ONLY public.changes USING btree (company_id, "position") WHERE is_set_back;


--
-- Name: changes_default_company_id_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_position_idx ON public.changes_default USING btree (company_id, "position") WHERE is_set_back;


--
-- Name: changes_record_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_record_idx ON ONLY public.changes USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_default_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_ids_position_idx ON public.changes_default USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_parent_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_parent_idx ON ONLY public.changes USING btree (company_id, resource, (parents[1]), "position") WHERE (cardinality(parents) = 1);


--
-- Name: changes_default_company_id_resource_parents_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_parents_position_idx ON public.changes_default USING btree (company_id, resource, (parents[1]), "position") WHERE (cardinality(parents) = 1);


--
-- Name: changes_default_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_position_changed_at_idx ON public.changes_default USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_parents_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_parents_idx ON ONLY public.changes USING btree (company_id, resource, "position", changed_at) WHERE ((resource = ANY (ARRAY[3, 5])) AND (COALESCE(cardinality(parents), 0) <> 1));


--
-- Name: changes_default_company_id_resource_position_changed_at_idx1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_default_company_id_resource_position_changed_at_idx1 ON public.changes_default USING btree (company_id, resource, "position", changed_at) WHERE ((resource = ANY (ARRAY[3, 5])) AND (COALESCE(cardinality(parents), 0) <> 1));


--
-- Name: changes_y2026m11_company_id_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_position_idx ON public.changes_y2026m11 USING btree (company_id, "position") WHERE is_set_back;


--
-- Name: changes_y2026m11_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_ids_position_idx ON public.changes_y2026m11 USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_y2026m11_company_id_resource_parents_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_parents_position_idx ON public.changes_y2026m11 USING btree (company_id, resource, (parents[1]), "position") WHERE (cardinality(parents) = 1);


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_position_changed_at_idx ON public.changes_y2026m11 USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m11_company_id_resource_position_changed_at_idx1 ON public.changes_y2026m11 USING btree (company_id, resource, "position", changed_at) WHERE ((resource = ANY (ARRAY[3, 5])) AND (COALESCE(cardinality(parents), 0) <> 1));


--
-- Name: changes_y2026m12_company_id_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_position_idx ON public.changes_y2026m12 USING btree (company_id, "position") WHERE is_set_back;


--
-- Name: changes_y2026m12_company_id_resource_ids_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_ids_position_idx ON public.changes_y2026m12 USING btree (company_id, resource, (ids[1]), "position") WHERE (cardinality(ids) = 1);


--
-- Name: changes_y2026m12_company_id_resource_parents_position_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_parents_position_idx ON public.changes_y2026m12 USING btree (company_id, resource, (parents[1]), "position") WHERE (cardinality(parents) = 1);


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_position_changed_at_idx ON public.changes_y2026m12 USING btree (company_id, resource, "position", changed_at) WHERE (cardinality(ids) > 1);


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx1; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX changes_y2026m12_company_id_resource_position_changed_at_idx1 ON public.changes_y2026m12 USING btree (company_id, resource, "position", changed_at) WHERE ((resource = ANY (ARRAY[3, 5])) AND (COALESCE(cardinality(parents), 0) <> 1));


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
-- Name: changes_default_company_id_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_set_back_idx ATTACH PARTITION public.changes_default_company_id_position_idx;


--
-- Name: changes_default_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_default_company_id_resource_ids_position_idx;


--
-- Name: changes_default_company_id_resource_parents_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parent_idx ATTACH PARTITION public.changes_default_company_id_resource_parents_position_idx;


--
-- Name: changes_default_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_default_company_id_resource_position_changed_at_idx;


--
-- Name: changes_default_company_id_resource_position_changed_at_idx1; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parents_idx ATTACH PARTITION public.changes_default_company_id_resource_position_changed_at_idx1;


--
-- Name: changes_default_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_pkey ATTACH PARTITION public.changes_default_pkey;


--
-- Name: changes_y2026m11_company_id_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_set_back_idx ATTACH PARTITION public.changes_y2026m11_company_id_position_idx;


--
-- Name: changes_y2026m11_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_ids_position_idx;


--
-- Name: changes_y2026m11_company_id_resource_parents_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parent_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_parents_position_idx;


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_position_changed_at_idx;


--
-- Name: changes_y2026m11_company_id_resource_position_changed_at_idx1; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parents_idx ATTACH PARTITION public.changes_y2026m11_company_id_resource_position_changed_at_idx1;


--
-- Name: changes_y2026m11_pkey; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_pkey ATTACH PARTITION public.changes_y2026m11_pkey;


--
-- Name: changes_y2026m12_company_id_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_set_back_idx ATTACH PARTITION public.changes_y2026m12_company_id_position_idx;


--
-- Name: changes_y2026m12_company_id_resource_ids_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_record_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_ids_position_idx;


--
-- Name: changes_y2026m12_company_id_resource_parents_position_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parent_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_parents_position_idx;


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_batch_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_position_changed_at_idx;


--
-- Name: changes_y2026m12_company_id_resource_position_changed_at_idx1; Type: INDEX ATTACH; Schema: public; Owner: -
--

ALTER INDEX public.changes_parents_idx ATTACH PARTITION public.changes_y2026m12_company_id_resource_position_changed_at_idx1;


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
-- Name: webhooks a_record_deleted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_deleted AFTER DELETE ON public.webhooks FOR EACH ROW EXECUTE FUNCTION public.record_webhook();


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
-- Name: webhooks a_record_inserted; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_inserted AFTER INSERT ON public.webhooks FOR EACH ROW EXECUTE FUNCTION public.record_webhook();


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
-- Name: webhooks a_record_updated; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER a_record_updated AFTER UPDATE OF url, types, description, disabled_reason, secret_rotated_at, tested_at, moves, "position", secret ON public.webhooks FOR EACH ROW WHEN (((new."position" < old."position") OR ((((((((old.url IS DISTINCT FROM new.url) OR (old.types IS DISTINCT FROM new.types)) OR (old.description IS DISTINCT FROM new.description)) OR (old.disabled_reason IS DISTINCT FROM new.disabled_reason)) OR (old.secret_rotated_at IS DISTINCT FROM new.secret_rotated_at)) OR (old.tested_at IS DISTINCT FROM new.tested_at)) OR (old.moves IS DISTINCT FROM new.moves)) OR (old.secret IS DISTINCT FROM new.secret)))) EXECUTE FUNCTION public.record_webhook();


--
-- Name: affiliates affiliates_revised; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER affiliates_revised BEFORE UPDATE ON public.affiliates FOR EACH ROW WHEN ((new.revision = old.revision)) EXECUTE FUNCTION public.count_revision();


--
-- Name: affiliates affiliates_revised_after_restore; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER affiliates_revised_after_restore BEFORE UPDATE ON public.affiliates FOR EACH ROW WHEN (((new.revision > old.revision) AND (new.revision <= public.first_position()))) EXECUTE FUNCTION public.skip_lost_revisions();


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
-- Name: compliance_cases compliance_cases_revised_after_restore; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER compliance_cases_revised_after_restore BEFORE UPDATE ON public.compliance_cases FOR EACH ROW WHEN (((new.revision > old.revision) AND (new.revision <= public.first_position()))) EXECUTE FUNCTION public.skip_lost_revisions();


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
-- Name: affiliates dates_are_mended; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dates_are_mended BEFORE UPDATE ON public.affiliates FOR EACH ROW WHEN ((old.start_date IS DISTINCT FROM public.shown(old.start_date))) EXECUTE FUNCTION public.mend_dates_of_affiliates();


--
-- Name: compliance_cases dates_are_mended; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dates_are_mended BEFORE UPDATE ON public.compliance_cases FOR EACH ROW WHEN (((old.reviewed_date IS DISTINCT FROM public.shown(old.reviewed_date)) OR (old.resolved_date IS DISTINCT FROM public.shown(old.resolved_date)) OR (old.first_action_date IS DISTINCT FROM public.shown(old.first_action_date)) OR (old.flagged_date IS DISTINCT FROM public.shown(old.flagged_date)) OR (old.follow_up_date IS DISTINCT FROM public.shown(old.follow_up_date)) OR (old.closed_date IS DISTINCT FROM public.shown(old.closed_date)) OR (old.last_updated_date IS DISTINCT FROM public.shown(old.last_updated_date)) OR (old.created_date IS DISTINCT FROM public.nearest_shown(old.created_date)))) EXECUTE FUNCTION public.mend_dates_of_compliance_cases();


--
-- Name: compliance_urls dates_are_mended; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dates_are_mended BEFORE UPDATE ON public.compliance_urls FOR EACH ROW WHEN (((old.last_review_date IS DISTINCT FROM public.shown(old.last_review_date)) OR (old.last_crawl_date IS DISTINCT FROM public.shown(old.last_crawl_date)) OR (old.last_seen IS DISTINCT FROM public.shown(old.last_seen)) OR (old.discovery_date IS DISTINCT FROM public.nearest_shown(old.discovery_date)))) EXECUTE FUNCTION public.mend_dates_of_compliance_urls();


--
-- Name: infractions dates_are_mended; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dates_are_mended BEFORE UPDATE ON public.infractions FOR EACH ROW WHEN ((old.created_date IS DISTINCT FROM public.nearest_shown(old.created_date))) EXECUTE FUNCTION public.mend_dates_of_infractions();


--
-- Name: webhooks dates_are_mended; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER dates_are_mended BEFORE UPDATE ON public.webhooks FOR EACH ROW WHEN (((old.failing_since IS DISTINCT FROM public.shown(old.failing_since)) OR (old.secret_rotated_at IS DISTINCT FROM public.shown(old.secret_rotated_at)) OR (old.tested_at IS DISTINCT FROM public.shown(old.tested_at)) OR (old.previous_secret_until IS DISTINCT FROM public.shown(old.previous_secret_until)) OR (old.next_attempt_at IS DISTINCT FROM public.nearest_shown(old.next_attempt_at)) OR (old.leased_until IS DISTINCT FROM public.nearest_shown(old.leased_until)) OR (old.created_at IS DISTINCT FROM public.nearest_shown(old.created_at)))) EXECUTE FUNCTION public.mend_dates_of_webhooks();


--
-- Name: incidents incidents_attached; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER incidents_attached AFTER INSERT ON public.incidents REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.set_case_of_urls();


--
-- Name: incidents incidents_detached; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER incidents_detached AFTER DELETE ON public.incidents REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION public.set_case_of_urls();


--
-- Name: affiliates key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.affiliates FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: compliance_cases key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.compliance_cases FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: compliance_urls key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.compliance_urls FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: incidents key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.incidents FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: infractions key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.infractions FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: vocabulary_entries key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.vocabulary_entries FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: webhooks key_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER key_is_kept BEFORE UPDATE OF company_id, id ON public.webhooks FOR EACH ROW WHEN (((old.company_id <> new.company_id) OR (old.id <> new.id))) EXECUTE FUNCTION public.refuse_new_key();


--
-- Name: incidents parent_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER parent_is_kept BEFORE UPDATE OF case_id ON public.incidents FOR EACH ROW WHEN ((old.case_id <> new.case_id)) EXECUTE FUNCTION public.refuse_new_key('case_id');


--
-- Name: infractions parent_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER parent_is_kept BEFORE UPDATE OF url_id ON public.infractions FOR EACH ROW WHEN ((old.url_id <> new.url_id)) EXECUTE FUNCTION public.refuse_new_key('url_id');


--
-- Name: affiliates released_name_is_replaced; Type: TRIGGER; Schema: public; Owner: -
--

CREATE CONSTRAINT TRIGGER released_name_is_replaced AFTER INSERT OR UPDATE OF affiliate_name ON public.affiliates DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (starts_with(new.affiliate_name, (repeat('.'::text, 200) || ':'::text))) EXECUTE FUNCTION public.refuse_released_name();


--
-- Name: vocabulary_entries vocabulary_is_kept; Type: TRIGGER; Schema: public; Owner: -
--

CREATE TRIGGER vocabulary_is_kept BEFORE UPDATE OF vocabulary ON public.vocabulary_entries FOR EACH ROW WHEN ((old.vocabulary <> new.vocabulary)) EXECUTE FUNCTION public.refuse_new_key('vocabulary');


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
-- Name: FUNCTION advance_ids(of_table text); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.advance_ids(of_table text) FROM PUBLIC;
GRANT ALL ON FUNCTION public.advance_ids(of_table text) TO compliance_service;


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
-- Name: FUNCTION change_time(previous timestamp with time zone, clock timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.change_time(previous timestamp with time zone, clock timestamp with time zone) TO compliance_service;


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
-- Name: FUNCTION current_identity(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.current_identity() TO compliance_service;


--
-- Name: FUNCTION drop_change_month(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.drop_change_month() FROM PUBLIC;
GRANT ALL ON FUNCTION public.drop_change_month() TO compliance_service;


--
-- Name: FUNCTION erase_changes(company bigint, erased_kind smallint, erased_id bigint, looked_at bigint[], looked_after bigint, kinds smallint[], record_ids bigint[], seed bytea, author jsonb); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.erase_changes(company bigint, erased_kind smallint, erased_id bigint, looked_at bigint[], looked_after bigint, kinds smallint[], record_ids bigint[], seed bytea, author jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION public.erase_changes(company bigint, erased_kind smallint, erased_id bigint, looked_at bigint[], looked_after bigint, kinds smallint[], record_ids bigint[], seed bytea, author jsonb) TO compliance_service;


--
-- Name: FUNCTION erased_record(resource smallint, columns smallint, operation smallint, record text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.erased_record(resource smallint, columns smallint, operation smallint, record text) TO compliance_service;


--
-- Name: FUNCTION filled_record(resource smallint, columns smallint, operation smallint, record text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.filled_record(resource smallint, columns smallint, operation smallint, record text) TO compliance_service;


--
-- Name: FUNCTION first_position(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.first_position() TO compliance_service;


--
-- Name: FUNCTION id_reached(id_sequence regclass, of_table regclass, of_column name, OUT last_id bigint, OUT greatest_id bigint); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.id_reached(id_sequence regclass, of_table regclass, of_column name, OUT last_id bigint, OUT greatest_id bigint) TO compliance_service;


--
-- Name: FUNCTION id_sequences(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.id_sequences() TO compliance_service;


--
-- Name: FUNCTION is_database_known(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.is_database_known() FROM PUBLIC;
GRANT ALL ON FUNCTION public.is_database_known() TO compliance_service;


--
-- Name: FUNCTION jump_ahead(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.jump_ahead() TO compliance_service;


--
-- Name: FUNCTION keep_changes(days integer); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.keep_changes(days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.keep_changes(days integer) TO compliance_service;


--
-- Name: FUNCTION leave_to_owner(owned regclass, is_part boolean); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.leave_to_owner(owned regclass, is_part boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION public.leave_to_owner(owned regclass, is_part boolean) TO compliance_service;


--
-- Name: FUNCTION make_change_months(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.make_change_months() FROM PUBLIC;
GRANT ALL ON FUNCTION public.make_change_months() TO compliance_service;


--
-- Name: FUNCTION mend_dates_of_affiliates(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.mend_dates_of_affiliates() TO compliance_service;


--
-- Name: FUNCTION mend_dates_of_compliance_cases(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.mend_dates_of_compliance_cases() TO compliance_service;


--
-- Name: FUNCTION mend_dates_of_compliance_urls(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.mend_dates_of_compliance_urls() TO compliance_service;


--
-- Name: FUNCTION mend_dates_of_infractions(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.mend_dates_of_infractions() TO compliance_service;


--
-- Name: FUNCTION mend_dates_of_webhooks(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.mend_dates_of_webhooks() TO compliance_service;


--
-- Name: FUNCTION nearest_shown(instant timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.nearest_shown(instant timestamp with time zone) TO compliance_service;


--
-- Name: FUNCTION new_value(cleared text[], name text, given anyelement, other anyelement); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.new_value(cleared text[], name text, given anyelement, other anyelement) TO compliance_service;


--
-- Name: FUNCTION notice_restore(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.notice_restore() FROM PUBLIC;
GRANT ALL ON FUNCTION public.notice_restore() TO compliance_service;


--
-- Name: FUNCTION placed_digest(digest bytea, company_id bigint, parents bigint[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.placed_digest(digest bytea, company_id bigint, parents bigint[]) TO compliance_service;


--
-- Name: FUNCTION position_before(resource smallint, operation smallint, "position" bigint, ids bigint[], records text[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.position_before(resource smallint, operation smallint, "position" bigint, ids bigint[], records text[]) TO compliance_service;


--
-- Name: FUNCTION published_name(name text); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.published_name(name text) TO compliance_service;


--
-- Name: FUNCTION published_value(alias text, "column" name); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.published_value(alias text, "column" name) TO compliance_service;


--
-- Name: FUNCTION record_affiliates(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_affiliates() FROM PUBLIC;


--
-- Name: FUNCTION record_change_drops(part name, before timestamp with time zone, bound timestamp with time zone, days integer); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_change_drops(part name, before timestamp with time zone, bound timestamp with time zone, days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION public.record_change_drops(part name, before timestamp with time zone, bound timestamp with time zone, days integer) TO compliance_service;


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

REVOKE ALL ON FUNCTION public.record_compliance_cases() FROM PUBLIC;


--
-- Name: FUNCTION record_compliance_urls(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_compliance_urls() FROM PUBLIC;


--
-- Name: FUNCTION record_incidents(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_incidents() FROM PUBLIC;


--
-- Name: FUNCTION record_infractions(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_infractions() FROM PUBLIC;


--
-- Name: FUNCTION record_vocabulary_entries(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_vocabulary_entries() FROM PUBLIC;


--
-- Name: FUNCTION record_webhook(); Type: ACL; Schema: public; Owner: -
--

REVOKE ALL ON FUNCTION public.record_webhook() FROM PUBLIC;


--
-- Name: FUNCTION refuse_new_key(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.refuse_new_key() TO compliance_service;


--
-- Name: FUNCTION refuse_released_name(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.refuse_released_name() TO compliance_service;


--
-- Name: FUNCTION restore_distance(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.restore_distance() TO compliance_service;


--
-- Name: FUNCTION set_case_of_urls(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.set_case_of_urls() TO compliance_service;


--
-- Name: FUNCTION shown(instants timestamp with time zone[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.shown(instants timestamp with time zone[]) TO compliance_service;


--
-- Name: FUNCTION shown(day date); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.shown(day date) TO compliance_service;


--
-- Name: FUNCTION shown(instant timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.shown(instant timestamp with time zone) TO compliance_service;


--
-- Name: FUNCTION skip_lost_revisions(); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.skip_lost_revisions() TO compliance_service;


--
-- Name: FUNCTION utc_day(instant timestamp with time zone); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.utc_day(instant timestamp with time zone) TO compliance_service;


--
-- Name: FUNCTION write_changes(entries public.change_row[]); Type: ACL; Schema: public; Owner: -
--

GRANT ALL ON FUNCTION public.write_changes(entries public.change_row[]) TO compliance_service;


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
-- Name: TABLE change_drops; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.change_drops TO compliance_service;


--
-- Name: TABLE change_positions; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.change_positions TO compliance_service;


--
-- Name: TABLE change_retention; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.change_retention TO compliance_service;


--
-- Name: TABLE changes; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.changes TO compliance_service;


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
-- Name: TABLE database_identity; Type: ACL; Schema: public; Owner: -
--

GRANT SELECT ON TABLE public.database_identity TO compliance_service;


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
-- Name: DEFAULT PRIVILEGES FOR TABLES; Type: DEFAULT ACL; Schema: public; Owner: -
--

ALTER DEFAULT PRIVILEGES FOR ROLE compliance IN SCHEMA public GRANT SELECT,INSERT,DELETE,UPDATE ON TABLES  TO compliance_service;


--
-- PostgreSQL database dump complete
--

\unrestrict 8CJwMErBl4cLcKGqQExwsF3bAiNtgZ5tR7OVelzts3XcxTPK82ZAG0xarHkDIOW


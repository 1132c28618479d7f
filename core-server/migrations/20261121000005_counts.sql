-- How many records are in each bucket of each list, kept in the same statement as the records themselves.
--
-- An exact total, and the position where page 5,000 begins, are sums over these few rows instead of scans of a million
-- records. A dimension is one way to cut a company's records into buckets: fine ones that are short enough to scan, and
-- coarse ones of 32 fine ones each that are few enough to add up. A filter that lists offer has a column here.
-- `first_day` and `last_day` bound the day of discovery (of creation, for cases) of what a bucket has ever held, so that
-- a filter on days can take whole buckets or leave them. They may be too wide, never too narrow.

-- A sort key's dimensions have the name of its column: the fine buckets the name alone, the coarse ones with `_coarse`.
-- IDs have 1,024 to a fine bucket, timestamps a day, UTC. Records without a timestamp are counted by ID (`no_…`).
create type count_dimension as enum (
    'all', -- one bucket, 0
    'id', 'id_coarse',
    'discovery_date', 'discovery_date_coarse',
    'last_review_date', 'last_review_date_coarse', 'no_last_review_date', 'no_last_review_date_coarse',
    'last_seen', 'last_seen_coarse', 'no_last_seen', 'no_last_seen_coarse',
    'created_date', 'created_date_coarse'
);

create table compliance_url_counts (
    company_id bigint not null,
    dimension count_dimension not null,
    bucket bigint not null,
    incident_status_id integer not null,
    disabled boolean not null,
    n bigint not null,
    first_day integer not null, -- days since 1970-01-01, UTC
    last_day integer not null,
    constraint compliance_url_counts_pkey primary key (company_id, dimension, bucket, incident_status_id, disabled)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

create table compliance_case_counts (
    company_id bigint not null,
    dimension count_dimension not null,
    bucket bigint not null,
    case_status_id integer not null,
    n bigint not null,
    first_day integer not null,
    last_day integer not null,
    constraint compliance_case_counts_pkey primary key (company_id, dimension, bucket, case_status_id)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

-- Days since 1970-01-01, UTC.
create function utc_day(instant timestamptz) returns integer
    language sql immutable parallel safe
    return (instant at time zone 'UTC')::date - date '1970-01-01';

-- The bucket of each dimension that a URL is in.
create function compliance_url_buckets(
    id bigint, discovery_date timestamptz, last_review_date timestamptz, last_seen timestamptz
) returns table (dimension count_dimension, bucket bigint) language sql immutable parallel safe as $$
    select b.dimension, b.bucket
    from (values
        ('all'::count_dimension, 0::bigint),
        ('id', id >> 10),
        ('id_coarse', id >> 15),
        ('discovery_date', utc_day(discovery_date)::bigint),
        ('discovery_date_coarse', utc_day(discovery_date)::bigint >> 5),
        (case when last_review_date is null then 'no_last_review_date' else 'last_review_date' end::count_dimension,
            case when last_review_date is null then id >> 10 else utc_day(last_review_date)::bigint end),
        (case when last_review_date is null then 'no_last_review_date_coarse' else 'last_review_date_coarse'
            end::count_dimension,
            case when last_review_date is null then id >> 15 else utc_day(last_review_date)::bigint >> 5 end),
        (case when last_seen is null then 'no_last_seen' else 'last_seen' end::count_dimension,
            case when last_seen is null then id >> 10 else utc_day(last_seen)::bigint end),
        (case when last_seen is null then 'no_last_seen_coarse' else 'last_seen_coarse' end::count_dimension,
            case when last_seen is null then id >> 15 else utc_day(last_seen)::bigint >> 5 end)
    ) b (dimension, bucket)
$$;

-- The bucket of each dimension that a case is in.
create function compliance_case_buckets(id bigint, created_date timestamptz)
    returns table (dimension count_dimension, bucket bigint) language sql immutable parallel safe as $$
    select b.dimension, b.bucket
    from (values
        ('all'::count_dimension, 0::bigint),
        ('id', id >> 10),
        ('id_coarse', id >> 15),
        ('created_date', utc_day(created_date)::bigint),
        ('created_date_coarse', utc_day(created_date)::bigint >> 5)
    ) b (dimension, bucket)
$$;

-- One writer of a company's counts at a time. Every write of records changes the same counts anyway; the lock keeps two
-- writers from deadlocking on them.
create function count_compliance_urls() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        perform pg_advisory_xact_lock(company_id << 2 | 1)
            from (select distinct company_id from new_rows order by company_id) companies;
        insert into compliance_url_counts as c
            (company_id, dimension, bucket, incident_status_id, disabled, n, first_day, last_day)
        select r.company_id, p.dimension, p.bucket, r.incident_status_id, r.disabled,
            count(*), min(utc_day(r.discovery_date)), max(utc_day(r.discovery_date))
        from new_rows r
        cross join lateral compliance_url_buckets(r.id, r.discovery_date, r.last_review_date, r.last_seen) p
        group by 1, 2, 3, 4, 5
        on conflict on constraint compliance_url_counts_pkey do update set
            n = c.n + excluded.n,
            first_day = least(c.first_day, excluded.first_day),
            last_day = greatest(c.last_day, excluded.last_day);
    elsif tg_op = 'UPDATE' then
        perform 1 from old_rows o join new_rows n using (company_id, id)
            where (o.incident_status_id, o.disabled, o.discovery_date, o.last_review_date, o.last_seen)
                is distinct from (n.incident_status_id, n.disabled, n.discovery_date, n.last_review_date, n.last_seen)
            limit 1;
        if not found then
            return null;
        end if;
        perform pg_advisory_xact_lock(company_id << 2 | 1)
            from (select distinct company_id from new_rows order by company_id) companies;
        insert into compliance_url_counts as c
            (company_id, dimension, bucket, incident_status_id, disabled, n, first_day, last_day)
        select r.company_id, p.dimension, p.bucket, r.incident_status_id, r.disabled,
            sum(r.change), min(utc_day(r.discovery_date)), max(utc_day(r.discovery_date))
        from (
            select -1 as change, o.* from old_rows o
            union all
            select 1, n.* from new_rows n
        ) r
        cross join lateral compliance_url_buckets(r.id, r.discovery_date, r.last_review_date, r.last_seen) p
        group by 1, 2, 3, 4, 5
        -- A record that stays in its bucket changes nothing, unless its day is outside of the old bounds.
        having sum(r.change) <> 0
            or min(utc_day(r.discovery_date)) filter (where r.change > 0)
                < min(utc_day(r.discovery_date)) filter (where r.change < 0)
            or max(utc_day(r.discovery_date)) filter (where r.change > 0)
                > max(utc_day(r.discovery_date)) filter (where r.change < 0)
        on conflict on constraint compliance_url_counts_pkey do update set
            n = c.n + excluded.n,
            first_day = least(c.first_day, excluded.first_day),
            last_day = greatest(c.last_day, excluded.last_day);
    else
        perform pg_advisory_xact_lock(company_id << 2 | 1)
            from (select distinct company_id from old_rows order by company_id) companies;
        update compliance_url_counts c set n = c.n - gone.n
        from (
            select r.company_id, p.dimension, p.bucket, r.incident_status_id, r.disabled, count(*) as n
            from old_rows r
            cross join lateral compliance_url_buckets(r.id, r.discovery_date, r.last_review_date, r.last_seen) p
            group by 1, 2, 3, 4, 5
        ) gone
        where (c.company_id, c.dimension, c.bucket, c.incident_status_id, c.disabled)
            = (gone.company_id, gone.dimension, gone.bucket, gone.incident_status_id, gone.disabled);
    end if;
    return null;
end
$$;

create trigger compliance_urls_count_inserted after insert on compliance_urls
    referencing new table as new_rows for each statement execute function count_compliance_urls();
create trigger compliance_urls_count_updated after update on compliance_urls
    referencing old table as old_rows new table as new_rows
    for each statement execute function count_compliance_urls();
create trigger compliance_urls_count_deleted after delete on compliance_urls
    referencing old table as old_rows for each statement execute function count_compliance_urls();

create function count_compliance_cases() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        perform pg_advisory_xact_lock(company_id << 2 | 2)
            from (select distinct company_id from new_rows order by company_id) companies;
        insert into compliance_case_counts as c
            (company_id, dimension, bucket, case_status_id, n, first_day, last_day)
        select r.company_id, p.dimension, p.bucket, r.case_status_id,
            count(*), min(utc_day(r.created_date)), max(utc_day(r.created_date))
        from new_rows r
        cross join lateral compliance_case_buckets(r.id, r.created_date) p
        group by 1, 2, 3, 4
        on conflict on constraint compliance_case_counts_pkey do update set
            n = c.n + excluded.n,
            first_day = least(c.first_day, excluded.first_day),
            last_day = greatest(c.last_day, excluded.last_day);
    elsif tg_op = 'UPDATE' then
        perform 1 from old_rows o join new_rows n using (company_id, id)
            where (o.case_status_id, o.created_date) is distinct from (n.case_status_id, n.created_date)
            limit 1;
        if not found then
            return null;
        end if;
        perform pg_advisory_xact_lock(company_id << 2 | 2)
            from (select distinct company_id from new_rows order by company_id) companies;
        insert into compliance_case_counts as c
            (company_id, dimension, bucket, case_status_id, n, first_day, last_day)
        select r.company_id, p.dimension, p.bucket, r.case_status_id,
            sum(r.change), min(utc_day(r.created_date)), max(utc_day(r.created_date))
        from (
            select -1 as change, o.* from old_rows o
            union all
            select 1, n.* from new_rows n
        ) r
        cross join lateral compliance_case_buckets(r.id, r.created_date) p
        group by 1, 2, 3, 4
        having sum(r.change) <> 0
            or min(utc_day(r.created_date)) filter (where r.change > 0)
                < min(utc_day(r.created_date)) filter (where r.change < 0)
            or max(utc_day(r.created_date)) filter (where r.change > 0)
                > max(utc_day(r.created_date)) filter (where r.change < 0)
        on conflict on constraint compliance_case_counts_pkey do update set
            n = c.n + excluded.n,
            first_day = least(c.first_day, excluded.first_day),
            last_day = greatest(c.last_day, excluded.last_day);
    else
        perform pg_advisory_xact_lock(company_id << 2 | 2)
            from (select distinct company_id from old_rows order by company_id) companies;
        update compliance_case_counts c set n = c.n - gone.n
        from (
            select r.company_id, p.dimension, p.bucket, r.case_status_id, count(*) as n
            from old_rows r
            cross join lateral compliance_case_buckets(r.id, r.created_date) p
            group by 1, 2, 3, 4
        ) gone
        where (c.company_id, c.dimension, c.bucket, c.case_status_id)
            = (gone.company_id, gone.dimension, gone.bucket, gone.case_status_id);
    end if;
    return null;
end
$$;

create trigger compliance_cases_count_inserted after insert on compliance_cases
    referencing new table as new_rows for each statement execute function count_compliance_cases();
create trigger compliance_cases_count_updated after update on compliance_cases
    referencing old table as old_rows new table as new_rows
    for each statement execute function count_compliance_cases();
create trigger compliance_cases_count_deleted after delete on compliance_cases
    referencing old table as old_rows for each statement execute function count_compliance_cases();

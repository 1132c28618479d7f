-- How many records are in each bucket of each list, kept in the same statement as the records themselves.
--
-- An exact total, and the position where page 5,000 begins, are sums over these few rows instead of scans of a million
-- records. A dimension is one way to cut a company's records into buckets: fine ones that are short enough to scan, and
-- coarse ones of 32 fine ones each that are few enough to add up. A filter that lists offer has a column here.
-- `first_day` and `last_day` bound the day of discovery (of creation, for cases) of what a bucket has ever held, so that
-- a filter on days can take whole buckets or leave them. They may be too wide, never too narrow.

-- A sort key's dimensions have the name of its column: the fine buckets the name alone, the coarse ones with `_coarse`.
-- IDs have 1,024 to a fine bucket, timestamps a day, UTC. Records without a timestamp are counted in the buckets of their IDs.
create type count_dimension as enum (
    'all', -- one bucket, 0
    'id', 'id_coarse',
    'discovery_date', 'discovery_date_coarse',
    'last_review_date', 'last_review_date_coarse',
    'last_seen', 'last_seen_coarse',
    'created_date', 'created_date_coarse'
);

create table compliance_url_counts (
    company_id bigint not null,
    dimension count_dimension not null,
    bucket bigint not null,
    incident_status_id integer not null,
    disabled boolean not null,
    n bigint not null,
    -- Of the `n`. Counted by ID alone, and 0 in other dimensions.
    n_without_last_review_date bigint not null,
    n_without_last_seen bigint not null,
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

-- URLs that are in the same buckets, and how many more (or, if negative, fewer) there are now.
create type compliance_url_count_change as (
    company_id bigint,
    id_bucket bigint, -- of 1,024 IDs
    incident_status_id integer,
    disabled boolean,
    discovery_day integer, -- days since 1970-01-01, UTC
    last_review_day integer,
    last_seen_day integer,
    n bigint
);

-- The bucket of each dimension that URLs are in. One without a timestamp is in no bucket of it.
create function compliance_url_buckets(
    id_bucket bigint, discovery_day integer, last_review_day integer, last_seen_day integer
) returns table (dimension count_dimension, bucket bigint, by_id boolean) language sql immutable parallel safe as $$
    select b.dimension, b.bucket, b.by_id
    from (values
        ('all'::count_dimension, 0::bigint, false),
        ('id', id_bucket, true),
        ('id_coarse', id_bucket >> 5, true),
        ('discovery_date', discovery_day::bigint, false),
        ('discovery_date_coarse', discovery_day::bigint >> 5, false),
        ('last_review_date', last_review_day::bigint, false),
        ('last_review_date_coarse', last_review_day::bigint >> 5, false),
        ('last_seen', last_seen_day::bigint, false),
        ('last_seen_coarse', last_seen_day::bigint >> 5, false)
    ) b (dimension, bucket, by_id)
    where b.bucket is not null
$$;

-- One writer of a company's counts at a time. Every write of records changes the same counts anyway; the lock keeps two
-- writers from deadlocking on them.
create function change_compliance_url_counts(changes compliance_url_count_change[]) returns void language plpgsql as $$
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

-- What a statement changes is summed up by bucket of IDs and by days first, and put into the dimensions after that.
create function count_compliance_urls() returns trigger language plpgsql as $$
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

create trigger compliance_urls_count_inserted after insert on compliance_urls
    referencing new table as new_rows for each statement execute function count_compliance_urls();
create trigger compliance_urls_count_updated after update on compliance_urls
    referencing old table as old_rows new table as new_rows
    for each statement execute function count_compliance_urls();
create trigger compliance_urls_count_deleted after delete on compliance_urls
    referencing old table as old_rows for each statement execute function count_compliance_urls();

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

-- A session plans the statements of a trigger once, often for a statement that wrote nothing: every statement fires its
-- triggers. A join of the rows before with the rows after would then be a loop over both, which takes a minute for ten thousand
-- rows. `except` sorts them or hashes them, however few are expected.
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
        perform from (
            select company_id, id, case_status_id, created_date from old_rows
            except
            select company_id, id, case_status_id, created_date from new_rows
        ) changed limit 1;
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

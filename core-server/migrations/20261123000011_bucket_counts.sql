-- Fewer counts for each URL. A URL without a timestamp is counted in the bucket of its ID already, so that bucket says how
-- many of its records have none, and the dimensions `no_…` are not needed. A new URL is in five buckets instead of nine.
--
-- What a statement changes is summed up by bucket of IDs and by days first, and put into the dimensions after that.

-- Nobody writes URLs meanwhile: their counts move.
lock table compliance_urls in share row exclusive mode;

create table compliance_url_bucket_counts (
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
    constraint compliance_url_bucket_counts_pkey primary key (company_id, dimension, bucket, incident_status_id, disabled)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

insert into compliance_url_bucket_counts
select c.company_id, c.dimension, c.bucket, c.incident_status_id, c.disabled, c.n,
    coalesce(unreviewed.n, 0), coalesce(unseen.n, 0), c.first_day, c.last_day
from compliance_url_counts c
left join compliance_url_counts unreviewed
    on (unreviewed.company_id, unreviewed.bucket, unreviewed.incident_status_id, unreviewed.disabled)
        = (c.company_id, c.bucket, c.incident_status_id, c.disabled)
    and unreviewed.dimension = case c.dimension
        when 'id' then 'no_last_review_date'::count_dimension
        when 'id_coarse' then 'no_last_review_date_coarse' end
left join compliance_url_counts unseen
    on (unseen.company_id, unseen.bucket, unseen.incident_status_id, unseen.disabled)
        = (c.company_id, c.bucket, c.incident_status_id, c.disabled)
    and unseen.dimension = case c.dimension
        when 'id' then 'no_last_seen'::count_dimension
        when 'id_coarse' then 'no_last_seen_coarse' end
where c.dimension not in
    ('no_last_review_date', 'no_last_review_date_coarse', 'no_last_seen', 'no_last_seen_coarse');

-- The counts as the previous version reads them, with its function of four arguments, `compliance_url_buckets(bigint, timestamptz, …)`.
-- The next version can drop both.
drop table compliance_url_counts;
create view compliance_url_counts as
    select company_id, dimension, bucket, incident_status_id, disabled, n, first_day, last_day
    from compliance_url_bucket_counts
    union all
    select company_id, 'no_last_review_date', bucket, incident_status_id, disabled, n_without_last_review_date,
        first_day, last_day
    from compliance_url_bucket_counts where dimension = 'id' and n_without_last_review_date <> 0
    union all
    select company_id, 'no_last_review_date_coarse', bucket, incident_status_id, disabled, n_without_last_review_date,
        first_day, last_day
    from compliance_url_bucket_counts where dimension = 'id_coarse' and n_without_last_review_date <> 0
    union all
    select company_id, 'no_last_seen', bucket, incident_status_id, disabled, n_without_last_seen, first_day, last_day
    from compliance_url_bucket_counts where dimension = 'id' and n_without_last_seen <> 0
    union all
    select company_id, 'no_last_seen_coarse', bucket, incident_status_id, disabled, n_without_last_seen,
        first_day, last_day
    from compliance_url_bucket_counts where dimension = 'id_coarse' and n_without_last_seen <> 0;

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
    insert into compliance_url_bucket_counts as c (company_id, dimension, bucket, incident_status_id, disabled,
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
    on conflict on constraint compliance_url_bucket_counts_pkey do update set
        n = c.n + excluded.n,
        n_without_last_review_date = c.n_without_last_review_date + excluded.n_without_last_review_date,
        n_without_last_seen = c.n_without_last_seen + excluded.n_without_last_seen,
        first_day = least(c.first_day, excluded.first_day),
        last_day = greatest(c.last_day, excluded.last_day);
end
$$;

create or replace function count_compliance_urls() returns trigger language plpgsql as $$
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

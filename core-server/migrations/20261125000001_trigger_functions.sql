-- What the triggers of cases and incidents write, as functions of arrays. A trigger reads its transition tables in a statement that
-- names nothing else, and passes on what it found: on Citus, a statement over a transition table can name no distributed table, and
-- one that names a distributed table must find the shard of one company.

-- Cases that are in the same buckets, and how many more (or, if negative, fewer) there are now.
create type compliance_case_count_change as (
    company_id bigint,
    id_bucket bigint, -- of 1,024 IDs
    case_status_id integer,
    created_day integer, -- days since 1970-01-01, UTC
    n bigint
);

create function compliance_case_buckets(id_bucket bigint, created_day integer)
    returns table (dimension count_dimension, bucket bigint) language sql immutable parallel safe as $$
    select b.dimension, b.bucket
    from (values
        ('all'::count_dimension, 0::bigint),
        ('id', id_bucket),
        ('id_coarse', id_bucket >> 5),
        ('created_date', created_day::bigint),
        ('created_date_coarse', created_day::bigint >> 5)
    ) b (dimension, bucket)
$$;

create or replace function compliance_case_buckets(id bigint, created_date timestamptz)
    returns table (dimension count_dimension, bucket bigint) language sql immutable parallel safe as $$
    select b.dimension, b.bucket from compliance_case_buckets(id >> 10, utc_day(created_date)) b
$$;

-- One writer of a company's counts at a time, as for URLs.
create function change_compliance_case_counts(changes compliance_case_count_change[]) returns void language plpgsql as $$
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

-- What a statement changes is summed up by bucket of IDs and by days first, and put into the dimensions after that. Nothing is
-- joined: a session plans these statements once, often for a statement that wrote nothing, and a join would then be a loop.
create or replace function count_compliance_cases() returns trigger language plpgsql as $$
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

-- A URL reads the case of its newest incident. The rows are found and written by their keys: as the conflicts of an insert, which no
-- plan can turn into a join with all URLs.
create function change_case_of_urls(company bigint, url_ids bigint[]) returns void language plpgsql as $$
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

create or replace function set_case_of_urls() returns trigger language plpgsql as $$
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

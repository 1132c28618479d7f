-- Triggers whose plans do not hang on the number of rows of the statement that is planned first.
--
-- A session plans the statements of a trigger once, often for a statement that wrote nothing: every statement fires its
-- triggers. A join of the rows before with the rows after is then a loop over both, which takes a minute for ten thousand
-- rows. `except` sorts them or hashes them, however few are expected.

create or replace function count_compliance_urls() returns trigger language plpgsql as $$
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
        perform from (
            select company_id, id, incident_status_id, disabled, discovery_date, last_review_date, last_seen from old_rows
            except
            select company_id, id, incident_status_id, disabled, discovery_date, last_review_date, last_seen from new_rows
        ) changed limit 1;
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

create or replace function count_compliance_cases() returns trigger language plpgsql as $$
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

-- The rows are found and written by their keys: as the conflicts of an insert, which no plan can turn into a join with all URLs.
create or replace function set_case_of_urls() returns trigger language plpgsql as $$
begin
    insert into compliance_urls (company_id, id, url, url_hash, case_id)
    select n.company_id, n.url_id, u.url, u.url_hash, n.case_id
    from (
        select r.company_id, r.url_id, (
            select i.case_id from incidents i
            where i.company_id = r.company_id and i.url_id = r.url_id order by i.id desc limit 1
        ) as case_id
        from (select distinct company_id, url_id from changed_rows where url_id is not null) r
    ) n
    cross join lateral (
        select u.url, u.url_hash, u.case_id from compliance_urls u
        where u.company_id = n.company_id and u.id = n.url_id
        limit 1
    ) u
    where u.case_id is distinct from n.case_id
    on conflict on constraint compliance_urls_pkey do update set case_id = excluded.case_id;
    return null;
end
$$;

-- Figures of the company $1 at the time $2, in one row. A case is open unless its status is Resolved, Closed, Rejected, Invalid or
-- Duplicate (5 to 9). The last of the twelve weeks ends today, UTC.
--
-- Figures without an index are read in primary key order. The limit exceeds every table, but the planner expects only a part of the rows.
-- So it reads along the key, regardless of statistics.
with days as materialized (
    select utc_day($2) as today, utc_day($2) - 83 as first_day
), times as materialized (
    select array(
        select to_timestamp(86400::float8 * (d.first_day + 7 * week)) from generate_series(0, 12) week order by week
    ) as starts
    from days d
), cases as materialized (
    select c.id, c.affiliate_id, c.case_status_id, c.risk_level_id, c.follow_up_date, c.closed_date,
        c.case_status_id not between 5 and 9 as is_open
    from compliance_cases c
    where c.company_id = $1
        and (c.case_status_id not between 5 and 9 or c.closed_date >= (select starts[1] from times))
    order by c.id
    limit (select 1::bigint << 62)
), risk_levels as (
    select r.id, r.n, v.name
    from (select c.risk_level_id as id, count(*) as n from cases c where c.is_open group by c.risk_level_id) r
    left join lateral (
        select v.name from vocabulary_entries v
        where v.company_id = $1 and v.vocabulary = 4 and v.id = r.id limit 1
    ) v on true
), overdue as (
    select c.*, a.affiliate_name, a.client_affiliate_id, r.name as own_risk_level, s.name as own_case_status
    from (
        select c.* from cases c where c.is_open and c.follow_up_date < $2 order by c.follow_up_date, c.id limit 20
    ) c
    left join lateral (
        select a.affiliate_name, a.client_affiliate_id from affiliates a
        where a.company_id = $1 and a.id = c.affiliate_id limit 1
    ) a on true
    left join lateral (
        select v.name from vocabulary_entries v
        where v.company_id = $1 and v.vocabulary = 4 and v.id = c.risk_level_id limit 1
    ) r on true
    left join lateral (
        select v.name from vocabulary_entries v
        where v.company_id = $1 and v.vocabulary = 1 and v.id = c.case_status_id limit 1
    ) s on true
), opened as materialized (
    select n.bucket as day, sum(n.n) as n, sum(n.n) filter (where n.case_status_id not between 5 and 9) as still_open
    from compliance_case_counts n
    where n.company_id = $1 and n.dimension = 'created_date'
        and n.bucket between (select today - 90 from days) and (select 1::bigint << 40)
    group by n.bucket
), new_cases as (
    select (o.day - d.first_day) / 7 + 1 as week, sum(o.n) as n
    from opened o cross join days d where o.day between d.first_day and d.today group by 1
), closed_cases as (
    select width_bucket(c.closed_date, t.starts) as week, count(*) as n
    from cases c cross join times t where c.closed_date >= t.starts[1] and c.closed_date < t.starts[13] group by 1
), new_urls as (
    select (n.bucket - (select first_day from days)) / 7 + 1 as week, sum(n.n) as n
    from compliance_url_counts n
    where n.company_id = $1 and n.dimension = 'discovery_date'
        and n.bucket between (select first_day from days) and (select today from days)
    group by 1
), new_infractions as (
    select width_bucket(i.created_date, t.starts) as week, count(*) as n, count(distinct i.url_id) as urls
    from (
        select i.created_date, i.url_id from infractions i
        where i.company_id = $1
            -- The planner expects half of the records to match this. For a range, it would expect few records and sort them.
            and coalesce(
                i.created_date >= (select starts[1] from times) and i.created_date < (select starts[13] from times), false)
        order by i.url_id, i.id
        limit (select 1::bigint << 62)
    ) i
    cross join times t
    group by 1
)
select
    (
        select coalesce(sum(n.n), 0)::bigint from compliance_case_counts n
        where n.company_id = $1 and n.dimension = 'all' and n.bucket = 0 and n.case_status_id not between 5 and 9
    ) as "open!",
    a.up_to_7 as "up_to_7_days!", a.up_to_30 as "up_to_30_days!", a.up_to_90 as "up_to_90_days!",
    r.ids as "risk_level_ids!: Vec<Option<i32>>", r.names as "own_risk_levels!: Vec<Option<String>>",
    r.counts as "open_by_risk!",
    (select count(*) from cases c where c.is_open and c.follow_up_date < $2) as "overdue!",
    o.ids as "overdue_ids!", o.dates as "follow_up_dates!: Vec<ValidTimestamp>",
    o.risk_level_ids as "overdue_risk_level_ids!: Vec<Option<i32>>",
    o.own_risk_levels as "overdue_own_risk_levels!: Vec<Option<String>>",
    o.status_ids as "overdue_status_ids!", o.own_statuses as "overdue_own_statuses!: Vec<Option<String>>",
    o.names as "affiliate_names!: Vec<Option<String>>", o.client_ids as "client_affiliate_ids!: Vec<Option<String>>",
    (
        select coalesce(sum(n.n), 0)::bigint from compliance_url_counts n
        where n.company_id = $1 and n.dimension = 'all' and n.bucket = 0
    ) as "urls!",
    d.first_day as "first_day!",
    w.new_urls as "new_urls!", w.new_infractions as "new_infractions!", w.new_cases as "new_cases!",
    w.closed_cases as "closed_cases!", w.infraction_urls as "infraction_urls!"
from days d
cross join (
    select
        coalesce(sum(o.still_open) filter (where d.today - o.day <= 7), 0)::bigint as up_to_7,
        coalesce(sum(o.still_open) filter (where d.today - o.day between 8 and 30), 0)::bigint as up_to_30,
        coalesce(sum(o.still_open) filter (where d.today - o.day between 31 and 90), 0)::bigint as up_to_90
    from opened o cross join days d
) a
cross join (
    select coalesce(array_agg(r.id), '{}') as ids, coalesce(array_agg(r.name), '{}') as names,
        coalesce(array_agg(r.n), '{}') as counts
    from risk_levels r
) r
cross join (
    select coalesce(array_agg(o.id), '{}') as ids, coalesce(array_agg(o.follow_up_date), '{}') as dates,
        coalesce(array_agg(o.risk_level_id), '{}') as risk_level_ids,
        coalesce(array_agg(o.own_risk_level), '{}') as own_risk_levels,
        coalesce(array_agg(o.case_status_id), '{}') as status_ids,
        coalesce(array_agg(o.own_case_status), '{}') as own_statuses,
        coalesce(array_agg(o.affiliate_name), '{}') as names, coalesce(array_agg(o.client_affiliate_id), '{}') as client_ids
    from (select o.* from overdue o order by o.follow_up_date, o.id) o
) o
cross join (
    select array_agg(coalesce(u.n, 0)::bigint) as new_urls, array_agg(coalesce(i.n, 0)::bigint) as new_infractions,
        array_agg(coalesce(n.n, 0)::bigint) as new_cases, array_agg(coalesce(c.n, 0)::bigint) as closed_cases,
        array_agg(coalesce(i.urls, 0)::bigint) as infraction_urls
    from (select week from generate_series(1, 12) week order by week) w
    left join new_urls u using (week)
    left join new_infractions i using (week)
    left join new_cases n using (week)
    left join closed_cases c using (week)
) w

with counted as materialized (
    select coalesce(sum(c.n), 0)::bigint as total
    from compliance_url_counts c
    where c.company_id = $1
        and c.dimension = 'all'
        and c.bucket = 0
        and c.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
        and c.disabled between coalesce($8, false) and coalesce($8, true)
),
groups as materialized (
    select incident_status_id, disabled, sum(n) as n
    from compliance_url_counts c
    where c.company_id = $1
        and c.dimension = 'all'
        and c.bucket = 0
        and c.n > 0
        and c.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
        and c.disabled between coalesce($8, false) and coalesce($8, true)
    group by incident_status_id, disabled
),
all0 as materialized (
    select c.bucket, coalesce(sum(c.n), 0)::bigint as n
    from compliance_url_counts c
    where c.company_id = $1
        and c.dimension = 'last_seen_coarse'
        and c.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
        and c.disabled between coalesce($8, false) and coalesce($8, true)
    group by c.bucket
),
at0_0 as materialized (
    select bucket, before
    from (select b.bucket, b.n, 0 + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before from all0 b) s
    where before <= $3 and $3 < before + n
),
at0_1 as materialized (
    select bucket, before
    from (
        select b.bucket, b.n, a.before + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before
        from at0_0 a
        cross join lateral (
            select d.bucket, coalesce(sum(d.n), 0)::bigint as n
            from compliance_url_counts d
            where d.company_id = $1
                and d.dimension = 'last_seen'
                and d.bucket between (a.bucket << 5) and (a.bucket << 5) + 31
                and d.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
                and d.disabled between coalesce($8, false) and coalesce($8, true)
            group by d.bucket
        ) b
    ) s
    where before <= $3 and $3 < before + n
),
all1 as materialized (
    select c.bucket, coalesce(sum(c.n_without_last_seen), 0)::bigint as n
    from compliance_url_counts c
    where c.company_id = $1
        and c.dimension = 'id_coarsest'
        and c.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
        and c.disabled between coalesce($8, false) and coalesce($8, true)
    group by c.bucket
),
at1_0 as materialized (
    select bucket, before
    from (select b.bucket, b.n, 0 + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before from all1 b) s
    where before <= greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0)
        and greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0) < before + n
),
at1_1 as materialized (
    select bucket, before
    from (
        select b.bucket, b.n, a.before + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before
        from at1_0 a
        cross join lateral (
            select d.bucket, coalesce(sum(d.n_without_last_seen), 0)::bigint as n
            from compliance_url_counts d
            where d.company_id = $1
                and d.dimension = 'id_coarse'
                and d.bucket between (a.bucket << 5) and (a.bucket << 5) + 31
                and d.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
                and d.disabled between coalesce($8, false) and coalesce($8, true)
            group by d.bucket
        ) b
    ) s
    where before <= greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0)
        and greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0) < before + n
),
at1_2 as materialized (
    select bucket, before
    from (
        select b.bucket, b.n, a.before + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before
        from at1_1 a
        cross join lateral (
            select f.bucket, coalesce(sum(f.n_without_last_seen), 0)::bigint as n
            from compliance_url_counts f
            where f.company_id = $1
                and f.dimension = 'id'
                and f.bucket between (a.bucket << 5) and (a.bucket << 5) + 31
                and f.incident_status_id between coalesce($7, -2147483648) and coalesce($7, 2147483647)
                and f.disabled between coalesce($8, false) and coalesce($8, true)
            group by f.bucket
        ) b
    ) s
    where before <= greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0)
        and greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0) < before + n
),
start as materialized (
    select 0 as part, bucket, $3 - before as skip
    from at0_1
    union all
    select 1 as part, bucket, greatest($3 - (select coalesce(sum(n), 0)::bigint from all0), 0) - before as skip
    from at1_2
    order by part
    limit 1
),
strategy as materialized (
    select (
        select coalesce(sum(c.n), 0) from compliance_url_counts c where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0
    ) <= coalesce(sum(n), 0) * count(*) as ordered
    from groups
),
page as (
    select id, k
    from (
        (
            select u.*
            from groups g
            cross join lateral (
                select u.id, u.last_seen as k
                from compliance_urls u
                where u.company_id = $1
                    and u.incident_status_id = g.incident_status_id
                    and u.disabled = g.disabled
                    and u.last_seen >= '-infinity'
                    and u.last_seen < to_timestamp(
                        (
                            (select case when part = 0 then bucket when part < 0 then 1::bigint << 52 end from start) + 1
                        )::double precision * 86400
                    )
                order by u.last_seen desc nulls first, u.id desc
                limit (select (select skip from start) + $2)
            ) u
            where not (select ordered from strategy)
            order by u.k desc nulls last, u.id desc
            limit (select (select skip from start) + $2)
        )
        union all (
            select u.id, u.last_seen as k
            from compliance_urls u
            where u.company_id = $1
                and u.last_seen >= '-infinity'
                and u.last_seen < to_timestamp(
                    (
                        (select case when part = 0 then bucket when part < 0 then 1::bigint << 52 end from start) + 1
                    )::double precision * 86400
                )
                and (true and coalesce(u.incident_status_id = $7, true) and coalesce(u.disabled = $8, true)) is true
                and (select ordered from strategy)
            order by u.last_seen desc nulls first, u.id desc
            limit (select (select skip from start) + $2)
        )
        union all (
            select u.*
            from groups g
            cross join lateral (
                select u.id, u.last_seen as k
                from compliance_urls u
                where u.company_id = $1
                    and u.incident_status_id = g.incident_status_id
                    and u.disabled = g.disabled
                    and u.last_seen is null
                    and u.id >= 0
                    and u.id < (((select case when part = 1 then bucket when part < 1 then 1::bigint << 52 end from start) + 1) << 10)
                order by u.last_seen desc nulls first, u.id desc
                limit (select (select skip from start) + $2)
            ) u
            where not (select ordered from strategy)
            order by u.k desc nulls last, u.id desc
            limit (select (select skip from start) + $2)
        )
        union all (
            select u.id, u.last_seen as k
            from compliance_urls u
            where u.company_id = $1
                and u.last_seen is null
                and u.id >= 0
                and u.id < (((select case when part = 1 then bucket when part < 1 then 1::bigint << 52 end from start) + 1) << 10)
                and (true and coalesce(u.incident_status_id = $7, true) and coalesce(u.disabled = $8, true)) is true
                and (select ordered from strategy)
            order by u.last_seen desc nulls first, u.id desc
            limit (select (select skip from start) + $2)
        )
    ) u
    offset (select skip from start)
    limit $2
)
select t.total, p.id as found, r.*
from counted t
left join (
    page p
    cross join lateral (
        select u.id as id, u.url as url, u.domain as domain, u.incident_status_id as incident_status,
            case
                when u.incident_status_id >= 1000 then (
                    select v.name from vocabulary_entries v where v.company_id = $1 and v.vocabulary = 5 and v.id = u.incident_status_id
                )
            end as own_incident_status,
            u.disabled as disabled, u.false_positive as false_positive, u.country as country, u.discovery_date as discovery_date,
            u.last_review_date as last_review_date, u.last_crawl_date as last_crawl_date, u.last_seen as last_seen,
            a.affiliate_name as affiliate_name, a.client_affiliate_id as affiliate_id, u.sub_affiliate_id as sub_affiliate_id,
            u.owner_email as owner_email, u.social_one as social_one, u.social_two as social_two, u.social_three as social_three,
            u.phone_one as phone_one, u.phone_two as phone_two, u.landing_page as landing_page, u.case_id as case_id, u.note as note,
            u.video_path as video_path, u.transcription_text as transcription_text, u.transcription_status_id as transcription_status,
            case
                when u.transcription_status_id >= 1000 then (
                    select v.name
                    from vocabulary_entries v
                    where v.company_id = $1 and v.vocabulary = 6 and v.id = u.transcription_status_id
                )
            end as own_transcription_status,
            i.*
        from compliance_urls u
        left join lateral (select a.* from affiliates a where a.company_id = $1 and a.id = u.affiliate_id limit 1) a on true
        left join lateral (
            select array_agg(created_date) as infraction_dates,
                array_agg(type_id) as infraction_types,
                array_agg(own_type) as own_infraction_types,
                array_agg(name_id) as infraction_names,
                array_agg(own_name) as own_infraction_names
            from (
                select i.created_date, i.infraction_type_id as type_id,
                    case
                        when i.infraction_type_id >= 1000 then (
                            select v.name
                            from vocabulary_entries v
                            where v.company_id = $1 and v.vocabulary = 7 and v.id = i.infraction_type_id
                        )
                    end as own_type,
                    i.infraction_name_id as name_id,
                    case
                        when i.infraction_name_id >= 1000 then (
                            select v.name
                            from vocabulary_entries v
                            where v.company_id = $1 and v.vocabulary = 8 and v.id = i.infraction_name_id
                        )
                    end as own_name
                from infractions i
                where i.company_id = $1 and i.url_id = u.id
                order by i.id
            ) i
        ) i on true
        where u.company_id = $1 and u.id = p.id
        limit 1
    ) r
) on true
order by p.k desc nulls last, p.id desc

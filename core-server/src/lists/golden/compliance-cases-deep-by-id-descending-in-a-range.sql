with counted as materialized (
    select coalesce(sum(c.sign * c.n), 0)::bigint as total
    from (
        select 1 as sign, c.*
        from compliance_case_counts c
        where c.company_id = $1
            and c.dimension = 'created_date_coarse'
            and c.bucket between ($4 >> 5) + case when ($4 & 31) < 16 then 0 else 1 end and ($5 >> 5) - case
                when ($5 & 31) >= 16 then 0 else 1
            end
        union all
        select -1, c.*
        from compliance_case_counts c
        where c.company_id = $1 and c.dimension = 'created_date' and ($4 & 31) < 16 and c.bucket between $4 >> 5 << 5 and $4 - 1
        union all
        select 1, c.*
        from compliance_case_counts c
        where c.company_id = $1 and c.dimension = 'created_date' and not ($4 & 31) < 16 and c.bucket between $4 and $4 | 31
        union all
        select -1, c.*
        from compliance_case_counts c
        where c.company_id = $1 and c.dimension = 'created_date' and ($5 & 31) >= 16 and c.bucket between $5 + 1 and $5 | 31
        union all
        select 1, c.*
        from compliance_case_counts c
        where c.company_id = $1 and c.dimension = 'created_date' and not ($5 & 31) >= 16 and c.bucket between $5 >> 5 << 5 and $5
    ) c
    where $4 <= $5
),
all0 as materialized (
    select c.bucket,
        coalesce(
            case
                when min(c.first_day) >= $4 and max(c.last_day) <= $5 then sum(c.n)
                when max(c.last_day) < $4 or min(c.first_day) > $5 then 0
                else (
                    select sum(b.n)
                    from (
                        select d.bucket,
                            coalesce(
                                case
                                    when min(d.first_day) >= $4 and max(d.last_day) <= $5 then sum(d.n)
                                    when max(d.last_day) < $4 or min(d.first_day) > $5 then 0
                                    else (
                                        select sum(b.n)
                                        from (
                                            select f.bucket,
                                                coalesce(
                                                    case
                                                        when min(f.first_day) >= $4 and max(f.last_day) <= $5 then sum(f.n)
                                                        when max(f.last_day) < $4 or min(f.first_day) > $5 then 0
                                                        else (
                                                            select count(*)
                                                            from compliance_cases u
                                                            where u.company_id = $1
                                                                and u.id >= ((f.bucket) << 10)
                                                                and u.id < ((f.bucket + 1) << 10)
                                                                and (
                                                                    true
                                                                    and u.created_date >= (
                                                                        select to_timestamp(($4)::double precision * 86400)
                                                                    )
                                                                    and u.created_date < (
                                                                        select to_timestamp(($5 + 1)::double precision * 86400)
                                                                    )
                                                                ) is true
                                                        )
                                                    end,
                                                    0
                                                )::bigint as n
                                            from compliance_case_counts f
                                            where f.company_id = $1
                                                and f.dimension = 'id'
                                                and f.bucket between (d.bucket << 5) and (d.bucket << 5) + 31
                                            group by f.bucket
                                        ) b
                                    )
                                end,
                                0
                            )::bigint as n
                        from compliance_case_counts d
                        where d.company_id = $1 and d.dimension = 'id_coarse' and d.bucket between (c.bucket << 5) and (c.bucket << 5) + 31
                        group by d.bucket
                    ) b
                )
            end,
            0
        )::bigint as n
    from compliance_case_counts c
    where c.company_id = $1 and c.dimension = 'id_coarsest'
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
            select d.bucket,
                coalesce(
                    case
                        when min(d.first_day) >= $4 and max(d.last_day) <= $5 then sum(d.n)
                        when max(d.last_day) < $4 or min(d.first_day) > $5 then 0
                        else (
                            select sum(b.n)
                            from (
                                select f.bucket,
                                    coalesce(
                                        case
                                            when min(f.first_day) >= $4 and max(f.last_day) <= $5 then sum(f.n)
                                            when max(f.last_day) < $4 or min(f.first_day) > $5 then 0
                                            else (
                                                select count(*)
                                                from compliance_cases u
                                                where u.company_id = $1
                                                    and u.id >= ((f.bucket) << 10)
                                                    and u.id < ((f.bucket + 1) << 10)
                                                    and (
                                                        true
                                                        and u.created_date >= (select to_timestamp(($4)::double precision * 86400))
                                                        and u.created_date < (select to_timestamp(($5 + 1)::double precision * 86400))
                                                    ) is true
                                            )
                                        end,
                                        0
                                    )::bigint as n
                                from compliance_case_counts f
                                where f.company_id = $1 and f.dimension = 'id' and f.bucket between (d.bucket << 5) and (d.bucket << 5) + 31
                                group by f.bucket
                            ) b
                        )
                    end,
                    0
                )::bigint as n
            from compliance_case_counts d
            where d.company_id = $1 and d.dimension = 'id_coarse' and d.bucket between (a.bucket << 5) and (a.bucket << 5) + 31
            group by d.bucket
        ) b
    ) s
    where before <= $3 and $3 < before + n
),
at0_2 as materialized (
    select bucket, before
    from (
        select b.bucket, b.n, a.before + (sum(b.n) over (order by b.bucket desc))::bigint - b.n as before
        from at0_1 a
        cross join lateral (
            select f.bucket,
                coalesce(
                    case
                        when min(f.first_day) >= $4 and max(f.last_day) <= $5 then sum(f.n)
                        when max(f.last_day) < $4 or min(f.first_day) > $5 then 0
                        else (
                            select count(*)
                            from compliance_cases u
                            where u.company_id = $1
                                and u.id >= ((f.bucket) << 10)
                                and u.id < ((f.bucket + 1) << 10)
                                and (
                                    true
                                    and u.created_date >= (select to_timestamp(($4)::double precision * 86400))
                                    and u.created_date < (select to_timestamp(($5 + 1)::double precision * 86400))
                                ) is true
                        )
                    end,
                    0
                )::bigint as n
            from compliance_case_counts f
            where f.company_id = $1 and f.dimension = 'id' and f.bucket between (a.bucket << 5) and (a.bucket << 5) + 31
            group by f.bucket
        ) b
    ) s
    where before <= $3 and $3 < before + n
),
start as materialized (select 0 as part, bucket, $3 - before as skip from at0_2 order by part limit 1),
page as (
    select id, k
    from (
        (
            select u.id, null::timestamptz as k
            from compliance_cases u
            where u.company_id = $1
                and u.id >= (((select min(bucket) from all0 where n > 0) << 10) << 10)
                and u.id < (((select case when part = 0 then bucket when part < 0 then 1::bigint << 52 end from start) + 1) << 10)
                and (
                    true
                    and u.created_date >= (select to_timestamp(($4)::double precision * 86400))
                    and u.created_date < (select to_timestamp(($5 + 1)::double precision * 86400))
                ) is true
            order by u.id desc
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
        select u.id as case_id, u.case_worker as case_worker, u.tags as tags, u.case_status_id as case_status,
            case
                when u.case_status_id >= 1000 then (
                    select v.name from vocabulary_entries v where v.company_id = $1 and v.vocabulary = 1 and v.id = u.case_status_id
                )
            end as own_case_status,
            u.sub_status_id as sub_status,
            case
                when u.sub_status_id >= 1000 then (
                    select v.name from vocabulary_entries v where v.company_id = $1 and v.vocabulary = 2 and v.id = u.sub_status_id
                )
            end as own_sub_status,
            u.submitter as submitter, u.notice_status_id as notice_status,
            case
                when u.notice_status_id >= 1000 then (
                    select v.name from vocabulary_entries v where v.company_id = $1 and v.vocabulary = 3 and v.id = u.notice_status_id
                )
            end as own_notice_status,
            u.risk_level_id as risk_level,
            case
                when u.risk_level_id >= 1000 then (
                    select v.name from vocabulary_entries v where v.company_id = $1 and v.vocabulary = 4 and v.id = u.risk_level_id
                )
            end as own_risk_level,
            u.case_country as case_country, u.sub_affiliate_id as sub_affiliate_id, u.created_date as created_date,
            u.reviewed_date as reviewed_date, u.resolved_date as resolved_date, u.first_action_date as first_action_date,
            u.flagged_date as flagged_date, u.follow_up_date as follow_up_date, u.closed_date as closed_date,
            a.affiliate_name as affiliate_name, a.client_affiliate_id as affiliate_id, a.merchant_type as merchant_type,
            a.first_name as first_name, a.last_name as last_name, a.status as status, a.ranking as ranking,
            a.start_date::text as start_date, a.language_used as language_used, a.territory as territory, a.notes as notes,
            a.email_one as email_one, a.email_two as email_two, a.phone_one as phone_one, a.phone_two as phone_two, a.address as address,
            a.city as city, a.state as state, a.zip as zip, a.country as affiliate_country, a.facebook as facebook, a.youtube as youtube,
            a.twitter as twitter, a.tiktok as tiktok, a.pintrest as pintrest, a.replicated_website as replicated_website,
            a.sponsor_id as sponsor, a.upline as upline,
            (
                select up.affiliate_name
                from affiliates up
                where up.company_id = $1 and up.client_affiliate_id = a.upline
                order by up.id
                limit 1
            ) as upline_name,
            u.last_updated_date as last_updated_date, u.revision as etag, i.*
        from compliance_cases u
        left join lateral (select a.* from affiliates a where a.company_id = $1 and a.id = u.affiliate_id limit 1) a on true
        left join lateral (
            select array_agg(id) as incident_ids,
                array_agg(incident_type) as incident_types,
                array_agg(type_id) as infraction_types,
                array_agg(own_type) as own_infraction_types,
                array_agg(name_id) as infraction_names,
                array_agg(own_name) as own_infraction_names
            from (
                select i.id, i.incident_type, i.infraction_type_id as type_id,
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
                from incidents i
                where i.company_id = $1 and i.case_id = u.id
                order by i.id
            ) i
        ) i on true
        where u.company_id = $1 and u.id = p.id
        limit 1
    ) r
) on true
order by p.k desc nulls last, p.id desc

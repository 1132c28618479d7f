with matches as not materialized (
    select u.id, null::timestamptz as k
    from compliance_urls u
    where u.company_id = $1 and u.affiliate_id = $6
    order by u.affiliate_id desc, u.id desc
),
counted as materialized (select count(*) as total from matches),
page as (select id, k from matches order by k desc nulls last, id desc offset $3 limit $2)
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

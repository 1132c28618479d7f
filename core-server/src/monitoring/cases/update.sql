-- Locks the case $2, works out what it becomes, and writes it unless it is that already. $4 and $5 are the statuses that
-- the case must have, and must not have, for anything to happen; null for any and for none. The dates that follow from a
-- change are described at `CaseInput` in monitoring.proto.
with input as materialized (
    select i.*, a.id as found_affiliate_id, date_trunc('second', now()) as now,
        a.id is not null or (i.affiliate_id is null and i.client_affiliate_id is null) as valid
    from unnest($3::case_input[]) i
    left join lateral (
        (select a.id from affiliates a where a.company_id = $1 and a.id = i.affiliate_id limit 1)
        union all
        (select a.id from affiliates a
            where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
            order by a.id
            limit 1)
    ) a on true
), old as materialized (
    select c.* from compliance_cases c where c.company_id = $1 and c.id = $2 for no key update
), new as materialized (
    select
        coalesce(i.found_affiliate_id, o.affiliate_id) as affiliate_id,
        case when 'case_worker' = any(i.cleared) then null else coalesce(i.case_worker, o.case_worker) end
            as case_worker,
        case when 'tags' = any(i.cleared) then '{}' else coalesce(i.tags, o.tags) end as tags,
        coalesce(i.case_status_id, o.case_status_id) as case_status_id,
        case when 'sub_status_id' = any(i.cleared) then null else coalesce(i.sub_status_id, o.sub_status_id) end
            as sub_status_id,
        case when 'submitter' = any(i.cleared) then null else coalesce(i.submitter, o.submitter) end as submitter,
        case when 'notice_status_id' = any(i.cleared) then null
            else coalesce(i.notice_status_id, o.notice_status_id) end as notice_status_id,
        case when 'risk_level_id' = any(i.cleared) then null else coalesce(i.risk_level_id, o.risk_level_id) end
            as risk_level_id,
        case when 'case_country' = any(i.cleared) then null else coalesce(i.case_country, o.case_country) end
            as case_country,
        case when 'sub_affiliate_id' = any(i.cleared) then null
            else coalesce(i.sub_affiliate_id, o.sub_affiliate_id) end as sub_affiliate_id,
        coalesce(i.created_date, o.created_date) as created_date,
        case when 'follow_up_date' = any(i.cleared) then null else coalesce(i.follow_up_date, o.follow_up_date) end
            as follow_up_date,
        -- The dates that the service sets, so far as they are given.
        case when 'first_action_date' = any(i.cleared) then null
            else coalesce(i.first_action_date, o.first_action_date) end as first_action_date,
        case when 'reviewed_date' = any(i.cleared) then null else coalesce(i.reviewed_date, o.reviewed_date) end
            as reviewed_date,
        case when 'flagged_date' = any(i.cleared) then null else coalesce(i.flagged_date, o.flagged_date) end
            as flagged_date,
        case when 'resolved_date' = any(i.cleared) then null else coalesce(i.resolved_date, o.resolved_date) end
            as resolved_date,
        case when 'closed_date' = any(i.cleared) then null else coalesce(i.closed_date, o.closed_date) end
            as closed_date,
        case when 'last_updated_date' = any(i.cleared) then null
            else coalesce(i.last_updated_date, o.last_updated_date) end as last_updated_date
    from old o cross join input i
    where i.valid
        and ($4::integer[] is null or o.case_status_id = any($4::integer[]))
        and ($5::integer[] is null or o.case_status_id <> all($5::integer[]))
), updated as (
    update compliance_cases c set
        affiliate_id = n.affiliate_id, case_worker = n.case_worker, tags = n.tags, case_status_id = n.case_status_id,
        sub_status_id = n.sub_status_id, submitter = n.submitter, notice_status_id = n.notice_status_id,
        risk_level_id = n.risk_level_id, case_country = n.case_country, sub_affiliate_id = n.sub_affiliate_id,
        created_date = n.created_date, follow_up_date = n.follow_up_date,
        first_action_date = case
            when i.first_action_date is not null or 'first_action_date' = any(i.cleared) then n.first_action_date
            when o.first_action_date is null and (
                (o.case_status_id = 1 and n.case_status_id <> 1)
                or (n.case_worker is not null and n.case_worker is distinct from o.case_worker)
                or (n.notice_status_id is not null and n.notice_status_id is distinct from o.notice_status_id)
            ) then i.now
            else o.first_action_date end,
        reviewed_date = case
            when i.reviewed_date is not null or 'reviewed_date' = any(i.cleared) then n.reviewed_date
            when o.reviewed_date is null and (
                (n.case_status_id <> o.case_status_id and n.case_status_id not in (1, 2))
                or (n.sub_status_id is not null and n.sub_status_id is distinct from o.sub_status_id)
            ) then i.now
            else o.reviewed_date end,
        flagged_date = case
            when i.flagged_date is not null or 'flagged_date' = any(i.cleared) then n.flagged_date
            when o.flagged_date is null and n.risk_level_id in (3, 4)
                and n.risk_level_id is distinct from o.risk_level_id then i.now
            else o.flagged_date end,
        resolved_date = case
            when i.resolved_date is not null or 'resolved_date' = any(i.cleared) then n.resolved_date
            when n.case_status_id = o.case_status_id then o.resolved_date
            when n.case_status_id = 5 then i.now
            when o.case_status_id between 5 and 9 and n.case_status_id not between 6 and 9 then null
            else o.resolved_date end,
        closed_date = case
            when i.closed_date is not null or 'closed_date' = any(i.cleared) then n.closed_date
            when n.case_status_id between 6 and 9 and o.case_status_id not between 6 and 9 then i.now
            when o.case_status_id between 6 and 9 and n.case_status_id not between 6 and 9 then null
            else o.closed_date end,
        last_updated_date = case
            when i.last_updated_date is not null or 'last_updated_date' = any(i.cleared) then n.last_updated_date
            else i.now end
    from new n cross join old o cross join input i
    where c.company_id = $1 and c.id = $2
        and (
            n.affiliate_id, n.case_worker, n.tags, n.case_status_id, n.sub_status_id, n.submitter, n.notice_status_id,
            n.risk_level_id, n.case_country, n.sub_affiliate_id, n.created_date, n.follow_up_date,
            n.first_action_date, n.reviewed_date, n.flagged_date, n.resolved_date, n.closed_date, n.last_updated_date
        ) is distinct from (
            o.affiliate_id, o.case_worker, o.tags, o.case_status_id, o.sub_status_id, o.submitter, o.notice_status_id,
            o.risk_level_id, o.case_country, o.sub_affiliate_id, o.created_date, o.follow_up_date,
            o.first_action_date, o.reviewed_date, o.flagged_date, o.resolved_date, o.closed_date, o.last_updated_date
        )
    returning c.id
)
select exists (select from old) as "case_found!", i.valid as "affiliate_found!", exists (select from updated) as "changed!"
from input i

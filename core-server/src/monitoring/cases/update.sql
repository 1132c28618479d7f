-- Locks the case $2, computes its new values, and writes them if they differ. $4 are statuses: the case must have one of them (null allows
-- any). $5 are statuses that it must not have (null excludes none). $6 are revisions: the case must have one of them (null allows any).
-- `CaseInput` in case_changes.proto describes the dates that follow from a change.
with input as materialized (
    select i.*, a.id as found_affiliate_id, date_trunc('second', now()) as now,
        a.id is not null or (i.affiliate_id is null and i.client_affiliate_id is null) as valid
    from unnest($3::case_input[]) i
    cross join set_config('compliance.changed_by', $7, true)
    left join lateral (
        (select a.id from affiliates a where a.company_id = $1 and a.id = i.affiliate_id limit 1)
        union all
        (select a.id from affiliates a
            where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
            order by a.id
            limit 1)
    ) a on true
), old as materialized (
    select c.*, $6::bigint[] is null or c.revision = any($6::bigint[]) as as_expected
    from compliance_cases c
    where c.company_id = $1 and c.id = $2
    for no key update
), new as materialized (
    select
        coalesce(i.found_affiliate_id, o.affiliate_id) as affiliate_id,
        new_value(i.cleared, 'case_worker', i.case_worker, o.case_worker) as case_worker,
        coalesce(new_value(i.cleared, 'tags', i.tags, o.tags), '{}') as tags,
        coalesce(i.case_status_id, o.case_status_id) as case_status_id,
        new_value(i.cleared, 'sub_status_id', i.sub_status_id, o.sub_status_id) as sub_status_id,
        new_value(i.cleared, 'submitter', i.submitter, o.submitter) as submitter,
        new_value(i.cleared, 'notice_status_id', i.notice_status_id, o.notice_status_id) as notice_status_id,
        new_value(i.cleared, 'risk_level_id', i.risk_level_id, o.risk_level_id) as risk_level_id,
        new_value(i.cleared, 'case_country', i.case_country, o.case_country) as case_country,
        new_value(i.cleared, 'sub_affiliate_id', i.sub_affiliate_id, o.sub_affiliate_id) as sub_affiliate_id,
        new_value(i.cleared, 'note', i.note, o.note) as note,
        coalesce(i.created_date, o.created_date) as created_date,
        new_value(i.cleared, 'follow_up_date', i.follow_up_date, o.follow_up_date) as follow_up_date,
        -- Dates that the service otherwise sets, if the caller gives them.
        new_value(i.cleared, 'first_action_date', i.first_action_date, o.first_action_date) as first_action_date,
        new_value(i.cleared, 'reviewed_date', i.reviewed_date, o.reviewed_date) as reviewed_date,
        new_value(i.cleared, 'flagged_date', i.flagged_date, o.flagged_date) as flagged_date,
        new_value(i.cleared, 'resolved_date', i.resolved_date, o.resolved_date) as resolved_date,
        new_value(i.cleared, 'closed_date', i.closed_date, o.closed_date) as closed_date,
        new_value(i.cleared, 'last_updated_date', i.last_updated_date, o.last_updated_date) as last_updated_date
    from old o cross join input i
    where i.valid and o.as_expected
        and ($4::integer[] is null or o.case_status_id = any($4::integer[]))
        and ($5::integer[] is null or o.case_status_id <> all($5::integer[]))
), updated as (
    update compliance_cases c set
        affiliate_id = n.affiliate_id, case_worker = n.case_worker, tags = n.tags, case_status_id = n.case_status_id,
        sub_status_id = n.sub_status_id, submitter = n.submitter, notice_status_id = n.notice_status_id,
        risk_level_id = n.risk_level_id, case_country = n.case_country, sub_affiliate_id = n.sub_affiliate_id, note = n.note,
        created_date = n.created_date, follow_up_date = n.follow_up_date,
        first_action_date = new_value(i.cleared, 'first_action_date', i.first_action_date, case
            when o.first_action_date is null and (
                (o.case_status_id = 1 and n.case_status_id <> 1)
                or (n.case_worker is not null and n.case_worker is distinct from o.case_worker)
                or (n.notice_status_id is not null and n.notice_status_id is distinct from o.notice_status_id)
            ) then i.now
            else o.first_action_date end),
        reviewed_date = new_value(i.cleared, 'reviewed_date', i.reviewed_date, case
            when o.reviewed_date is null and (
                (n.case_status_id <> o.case_status_id and n.case_status_id not in (1, 2))
                or (n.sub_status_id is not null and n.sub_status_id is distinct from o.sub_status_id)
            ) then i.now
            else o.reviewed_date end),
        flagged_date = new_value(i.cleared, 'flagged_date', i.flagged_date, case
            when o.flagged_date is null and n.risk_level_id in (3, 4)
                and n.risk_level_id is distinct from o.risk_level_id then i.now
            else o.flagged_date end),
        resolved_date = new_value(i.cleared, 'resolved_date', i.resolved_date, case
            when n.case_status_id = o.case_status_id then o.resolved_date
            when n.case_status_id = 5 then i.now
            when o.case_status_id between 5 and 9 and n.case_status_id not between 6 and 9 then null
            else o.resolved_date end),
        closed_date = new_value(i.cleared, 'closed_date', i.closed_date, case
            when n.case_status_id between 6 and 9 and o.case_status_id not between 6 and 9 then i.now
            when o.case_status_id between 6 and 9 and n.case_status_id not between 6 and 9 then null
            else o.closed_date end),
        last_updated_date = new_value(i.cleared, 'last_updated_date', i.last_updated_date, i.now),
        revision = c.revision + 1
    from new n cross join old o cross join input i
    where c.company_id = $1 and c.id = $2
        and (
            n.affiliate_id, n.case_worker, n.tags, n.case_status_id, n.sub_status_id, n.submitter, n.notice_status_id,
            n.risk_level_id, n.case_country, n.sub_affiliate_id, n.note, n.created_date, n.follow_up_date,
            n.first_action_date, n.reviewed_date, n.flagged_date, n.resolved_date, n.closed_date, n.last_updated_date
        ) is distinct from (
            o.affiliate_id, o.case_worker, o.tags, o.case_status_id, o.sub_status_id, o.submitter, o.notice_status_id,
            o.risk_level_id, o.case_country, o.sub_affiliate_id, o.note, o.created_date, o.follow_up_date,
            o.first_action_date, o.reviewed_date, o.flagged_date, o.resolved_date, o.closed_date, o.last_updated_date
        )
    returning c.revision, c.affiliate_id
)
select coalesce(u.revision, o.revision) as revision, coalesce(o.as_expected, true) as "as_expected!",
    i.valid as "affiliate_found!", u.revision is not null as "changed!", a.revision as "affiliate_revision?",
    (
        select up.affiliate_name from affiliates up
        where up.company_id = $1 and up.client_affiliate_id = a.upline order by up.id limit 1
    ) as upline_name
from input i
left join old o on true
left join updated u on true
left join lateral (
    select a.revision, a.upline from affiliates a
    where a.company_id = $1 and a.id = coalesce(u.affiliate_id, o.affiliate_id) limit 1
) a on true

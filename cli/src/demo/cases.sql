insert into compliance_cases (
    company_id, affiliate_id, request_id, case_worker, tags, case_status_id, sub_status_id, submitter,
    notice_status_id, risk_level_id, case_country, sub_affiliate_id, created_date, reviewed_date, resolved_date,
    first_action_date, flagged_date, follow_up_date, closed_date, last_updated_date
)
select
    $1, a.id, r.request_id, r.case_worker, coalesce(r.tags, '{}'), r.case_status_id, r.sub_status_id, r.submitter,
    r.notice_status_id, r.risk_level_id, r.case_country, r.sub_affiliate_id, r.created_date, r.reviewed_date,
    r.resolved_date, r.first_action_date, r.flagged_date, r.follow_up_date, r.closed_date, r.last_updated_date
from jsonb_array_elements($2::text::jsonb) with ordinality e (fields, position)
cross join lateral jsonb_populate_record(null::compliance_cases, e.fields) r
left join affiliates a on a.company_id = $1 and a.client_affiliate_id = e.fields ->> 'affiliate'
order by e.position

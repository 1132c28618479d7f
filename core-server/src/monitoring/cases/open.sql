-- Opens cases. Locks the URLs of their incidents in hash order, as all writers of URLs do. Then inserts the cases in request ID order. The
-- service sets the same dates as for a change of an empty case with the status New: update.sql has the rules.
--
-- An item also finds a case without a request ID if it has the request ID that an export gives this case ($4 has the case's ID, or 0).
--
-- Returns the ID of each case, whether it is new, and whether its affiliate exists. Also returns the digest that an existing case was
-- opened with, and the positions of incidents whose URL does not exist. A case is missing if another writer has just used its request ID.
-- The next run finds it.
with input as materialized (
    select i.*, a.id as found_affiliate_id, date_trunc('second', now()) as now,
        coalesce(i.case_status_id, 1) as status_id, e.id as existing_id, e.opened_with as existing_opened_with
    from unnest($2::case_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $3, true)
    left join lateral (
        (select c.id, c.opened_with from compliance_cases c
            where c.company_id = $1 and c.request_id = i.request_id
            limit 1)
        union all
        (select c.id, ''::bytea from compliance_cases c
            where c.company_id = $1 and c.id = ($4::bigint[])[i.ordinality] and c.request_id is null
                and not exists (
                    select from compliance_cases o where o.company_id = $1 and o.request_id = i.request_id
                )
            limit 1)
    ) e on true
    left join lateral (
        (select a.id from affiliates a where a.company_id = $1 and a.id = i.affiliate_id limit 1)
        union all
        (select a.id from affiliates a
            where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
            order by a.id
            limit 1)
    ) a on true
), resolved as materialized (
    select i.*, u.ids as url_ids, u.hashes as url_hashes, u.missing
    from input i
    left join lateral (
        -- One element for each incident, in incident order.
        select array_agg(u.id order by x.ordinality) as ids, array_agg(u.url_hash order by x.ordinality) as hashes,
            array_agg(x.ordinality order by x.ordinality) filter (where x.incident_type = 1 and u.id is null) as missing
        from unnest(i.incidents) with ordinality x
        left join lateral (
            (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.id = x.url_id limit 1)
            union all
            (select u.id, u.url_hash from compliance_urls u
                where u.company_id = $1 and u.url_hash = x.url_hash
                limit 1)
        ) u on true
    ) u on true
), openable as materialized (
    select r.* from resolved r
    where r.existing_id is null and r.found_affiliate_id is not null and r.missing is null
), locked as materialized (
    select u.id
    from (
        select distinct x.url_hash, x.url_id
        from openable o
        cross join lateral unnest(o.url_ids, o.url_hashes) as x (url_id, url_hash)
        where x.url_id is not null
        order by x.url_hash
    ) x
    cross join lateral (
        select u.id from compliance_urls u where u.company_id = $1 and u.id = x.url_id for no key update
    ) u
), fresh as materialized (
    select nextval('compliance_cases_id_seq') as id, o.*
    from openable o
    where (select count(*) from locked) >= 0
    order by o.ordinality
), inserted as (
    insert into compliance_cases (
        company_id, id, request_id, affiliate_id, case_worker, tags, case_status_id, sub_status_id, submitter,
        notice_status_id, risk_level_id, case_country, sub_affiliate_id, note, created_date, follow_up_date,
        first_action_date, reviewed_date, flagged_date, resolved_date, closed_date, last_updated_date, opened_with
    )
    select
        $1, n.id, n.request_id, n.found_affiliate_id, n.case_worker, coalesce(n.tags, '{}'), n.status_id,
        n.sub_status_id, n.submitter, n.notice_status_id, n.risk_level_id, n.case_country, n.sub_affiliate_id, n.note,
        coalesce(n.created_date, n.now), n.follow_up_date,
        new_value(n.cleared, 'first_action_date', n.first_action_date,
            case when n.status_id <> 1 or n.case_worker is not null or n.notice_status_id is not null then n.now end),
        new_value(n.cleared, 'reviewed_date', n.reviewed_date,
            case when n.status_id not in (1, 2) or n.sub_status_id is not null then n.now end),
        new_value(n.cleared, 'flagged_date', n.flagged_date,
            case when n.risk_level_id in (3, 4) then n.now end),
        new_value(n.cleared, 'resolved_date', n.resolved_date,
            case when n.status_id = 5 then n.now end),
        new_value(n.cleared, 'closed_date', n.closed_date,
            case when n.status_id between 6 and 9 then n.now end),
        new_value(n.cleared, 'last_updated_date', n.last_updated_date, n.now), n.opened_with
    from fresh n
    order by n.request_id
    on conflict (company_id, request_id) where request_id is not null do nothing
    returning id, request_id
), attached as (
    insert into incidents
        (company_id, case_id, incident_type, url_id, reference, infraction_type_id, infraction_name_id)
    select $1, f.id, x.incident_type, f.url_ids[x.ordinality], x.reference, x.infraction_type_id, x.infraction_name_id
    from fresh f
    cross join lateral unnest(f.incidents) with ordinality x
    where (f.id in (select n.id from inserted n)) is true
    order by f.ordinality, x.ordinality
    on conflict on constraint incidents_content_key do nothing
)
select n.request_id as "request_id!", n.id as case_id, true as "created!", true as "affiliate_found!",
    null::bytea as opened_with, null::bigint[] as missing_urls
from inserted n
union all
select r.request_id, r.existing_id, false, r.found_affiliate_id is not null, r.existing_opened_with, r.missing
from resolved r
where r.existing_id is not null or r.found_affiliate_id is null or r.missing is not null

-- Locks the URL $2, and writes the verdict of a review: its fields, and its infractions if $4 is true. The time of the review is now, even
-- if the verdict is the same as before. $6 are revisions: the URL must have one of them (null allows any).
--
-- Returns the revision after the review, whether the URL had an allowed one, and the revision of its affiliate.
with input as materialized (
    select i.*, date_trunc('second', now()) as now
    from unnest($3::url_review_input[]) i
    cross join set_config('compliance.changed_by', $5, true)
), old as materialized (
    select u.id, u.incident_status_id, u.disabled, u.false_positive, u.note, u.affiliate_id, u.revision,
        $6::bigint[] is null or u.revision = any($6::bigint[]) as as_expected
    from compliance_urls u
    where u.company_id = $1 and u.id = $2
    for no key update
), reviewed as (
    update compliance_urls u set
        incident_status_id = coalesce(i.incident_status_id, o.incident_status_id),
        disabled = coalesce(i.disabled, o.disabled),
        false_positive = new_value(i.cleared, 'false_positive', i.false_positive, o.false_positive),
        note = new_value(i.cleared, 'note', i.note, o.note),
        last_review_date = i.now,
        revision = u.revision + 1
    from old o cross join input i
    where u.company_id = $1 and u.id = $2 and o.as_expected and (i.has_values or $4)
    returning u.revision
), withdrawn as (
    delete from infractions n
    using old o
    where n.company_id = $1 and n.url_id = $2 and o.as_expected and $4
        and (coalesce(n.infraction_type_id, 0), coalesce(n.infraction_name_id, 0)) not in (
            select x.infraction_type_id, coalesce(x.infraction_name_id, 0)
            from input i cross join lateral unnest(i.infractions) x
        )
), recorded as (
    insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
    select $1, o.id, x.infraction_type_id, x.infraction_name_id, coalesce(x.created_date, i.now)
    from old o cross join input i cross join lateral unnest(i.infractions) with ordinality x
    where o.as_expected and $4
    order by x.ordinality
    on conflict on constraint infractions_name_key do nothing
)
select coalesce(r.revision, o.revision) as "revision!", o.as_expected as "as_expected!", a.revision as "affiliate_revision?"
from old o
left join reviewed r on true
left join lateral (
    select a.revision from affiliates a where a.company_id = $1 and a.id = o.affiliate_id limit 1
) a on true

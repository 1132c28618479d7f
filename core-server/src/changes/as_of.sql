-- What a record of the company $1 was made of before the second $4: what there is now, as if it were deleted then, and all later changes,
-- newest first. The record is the one with the ID $3 in the table with the number $2. A URL has infractions, and a case incidents; both
-- have an affiliate, and names of vocabularies.
), of_record as materialized ({of_record}
), of_parts as materialized (
    select e.*
    from (
        select c.position - cardinality(c.ids) + e.number as position, c.changed_at, c.resource, c.columns, c.operation, e.id, e.record
        from (
            select c.* from changes c
            where c.company_id = $1 and c.resource = (select case $2 when 2 then 3 when 4 then 5 end::smallint)
                and c.changed_at >= (select to_timestamp($4::double precision))
            order by c.position limit (select null::bigint)
        ) c
        cross join lateral unnest(c.ids, c.records) with ordinality e (id, record, number)
    ) e
    cross join state s
    cross join lateral (
        select left(e.record, -1) || repeat(',', (s.columns[e.resource] - e.columns)::integer) || ')' as filled
    ) r
    where case
        when e.operation not in (1, 3) then true
        when e.resource = 3 then (r.filled::infractions).url_id = $3
        else (r.filled::incidents).case_id = $3 end
), affiliate_ids as materialized (
    select r.affiliate_id as id from compliance_urls r where $2 = 2 and r.company_id = $1 and r.id = $3
    union
    select r.affiliate_id from compliance_cases r where $2 = 4 and r.company_id = $1 and r.id = $3
    union
    select (case e.operation when 2 then f.id ->> 0 else f.id #>> '{}' end)::bigint
    from of_record e
    cross join lateral (
        select change_fields(e.resource, e.columns, e.operation, e.record) -> 'affiliate_id' as id
    ) f
    where e.resource <> 1
), of_affiliates as materialized (
    select a.* from affiliate_ids k cross join lateral ({of_affiliate}
    ) a
), page as (
    select -p.position as rank, p.*, null::jsonb as changed_by
    from (
        select 9223372036854775807 as position, now() as changed_at, n.resource, s.columns[n.resource] as columns,
            3::smallint as operation, n.id, n.record
        from (
            select 1::smallint as resource, r.id, r::text as record from affiliates r where $2 = 1 and r.company_id = $1 and r.id = $3
            union all
            select 2::smallint, r.id, r::text from compliance_urls r where $2 = 2 and r.company_id = $1 and r.id = $3
            union all
            select 3::smallint, r.id, r::text from infractions r where $2 = 2 and r.company_id = $1 and r.url_id = $3
            union all
            select 4::smallint, r.id, r::text from compliance_cases r where $2 = 4 and r.company_id = $1 and r.id = $3
            union all
            select 5::smallint, r.id, r::text from incidents r where $2 = 4 and r.company_id = $1 and r.case_id = $3
            union all
            select 1::smallint, r.id, r.record
            from affiliate_ids k
            cross join lateral (
                select r.id, r::text as record from affiliates r where r.company_id = $1 and r.id = k.id limit 1
            ) r
            union all
            select 6::smallint, r.id, r::text from vocabulary_entries r where $2 <> 1 and r.company_id = $1
        ) n
        cross join state s
        union all select * from of_record
        union all select * from of_parts
        union all select * from of_affiliates
    ) p
), reached as (
    -- What is kept gives every state from its first change on.
    select floor(extract(epoch from coalesce((
            select c.changed_at from changes c where c.company_id = $1 order by c.position limit 1
        ), (
            select p.changed_at from change_positions p where p.company_id = $1
        ))))::bigint as first_second, floor(extract(epoch from now()))::bigint as this_second
)

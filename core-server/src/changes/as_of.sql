-- The state of a record of the company $1 before the second $4. The record has the ID $3 in the table with the number $2. The statement
-- takes the current rows as if they were deleted then, and undoes all later changes, the last one first. A URL also has infractions, a case
-- also has incidents, and both have an affiliate.
--
-- The later changes begin after the last change whose time is before $4. From each row that `is_set_back` up to the next such row, times
-- never decrease. So the later changes are all rows from the last such row before $4 whose time is not before $4. If $4 is in the future,
-- there are no later changes, whatever their times are.
), later as materialized (
    select greatest(
        (
            select c.position from changes c
            where c.company_id = $1 and c.is_set_back and c.changed_at < (select to_timestamp($4::double precision))
            order by c.position desc limit 1
        ),
        (select s.last_position + 1 from state s where to_timestamp($4::double precision) > now()),
        0
    ) as position
), of_record as materialized (
    :of_record
), of_parts as materialized (
    select e.position, e.resource, e.operation, e.id, case e.operation when 2 then ('{' || substr(e.record, 2) || '}')::jsonb
        else change_fields(e.resource, e.columns, e.operation, e.record) end as fields
    from (
        select c.before + e.number as position, c.resource, c.columns, c.operation, e.id, e.record,
            coalesce(c.parent, e.parent) as parent
        from (
            -- Rows with one part, and rows that can have several. Each kind has an index. `changes_of.sql` explains the limits.
            (
                select c.position, c.resource, c.columns, c.operation, c.ids, c.records, c.position - cardinality(c.ids) as before,
                    case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
                    case when cardinality(c.parents) > 1 then c.parents end as parents
                from changes c
                where c.company_id = $1 and c.resource = (select case $2 when 2 then 3 when 4 then 5 end::smallint)
                    and c.position >= (select l.position from later l)
                    and c.changed_at >= (select to_timestamp($4::double precision))
                    and cardinality(c.parents) = 1 and c.parents[1] = $3
                order by c.position limit (select null::bigint)
            )
            union all
            (
                select c.position, c.resource, c.columns, c.operation, c.ids, c.records, c.position - cardinality(c.ids) as before,
                    case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
                    case when cardinality(c.parents) > 1 then c.parents end as parents
                from changes c
                where c.company_id = $1 and c.resource = (select case $2 when 2 then 3 when 4 then 5 end::smallint)
                    and c.position >= (select l.position from later l)
                    and c.changed_at >= (select to_timestamp($4::double precision))
                    and c.resource in (3, 5) and coalesce(cardinality(c.parents), 0) <> 1
                    and (c.parents is null or c.parents @> array[$3])
                order by c.position limit (select null::bigint)
            )
        ) c
        cross join lateral unnest(c.ids, c.parents, c.records) with ordinality e (id, parent, record, number)
    ) e
    where case
        when e.parent is not null then e.parent = $3
        -- Rows of earlier releases, and parts that have moved.
        when e.operation = 2 then true
        else split_part(e.record, ',', 3) = $3::text end
), affiliate_ids as materialized (
    select r.affiliate_id as id from compliance_urls r where $2 = 2 and r.company_id = $1 and r.id = $3
    union
    select r.affiliate_id from compliance_cases r where $2 = 4 and r.company_id = $1 and r.id = $3
    union
    select (case e.operation when 2 then e.fields -> 'affiliate_id' ->> 0 else e.fields ->> 'affiliate_id' end)::bigint
    from of_record e
    where e.resource <> 1
), of_affiliates as materialized (
    select a.* from affiliate_ids k cross join lateral (:of_affiliate) a
), entries as (
    select 9223372036854775807 as position, n.resource, 3 as operation, n.id, n.fields
    from (
        select 1 as resource, r.id, to_jsonb(r) as fields from affiliates r where $2 = 1 and r.company_id = $1 and r.id = $3
        union all
        select 2, r.id, to_jsonb(r) from compliance_urls r where $2 = 2 and r.company_id = $1 and r.id = $3
        union all
        select 3, r.id, to_jsonb(r) from infractions r where $2 = 2 and r.company_id = $1 and r.url_id = $3
        union all
        select 4, r.id, to_jsonb(r) from compliance_cases r where $2 = 4 and r.company_id = $1 and r.id = $3
        union all
        select 5, r.id, to_jsonb(r) from incidents r where $2 = 4 and r.company_id = $1 and r.case_id = $3
        union all
        select 1, r.id, r.fields
        from affiliate_ids k
        cross join lateral (
            select r.id, to_jsonb(r) as fields from affiliates r where r.company_id = $1 and r.id = k.id limit 1
        ) r
    ) n
    union all select * from of_record
    union all select * from of_parts
    union all select * from of_affiliates
), past as materialized (
    -- Before its first later change, each field had its old value. Parts of other records have no change that deletes them.
    select e.resource, e.id, jsonb_object_agg(e.field, e.value) as fields
    from (
        select distinct on (e.resource, e.id, f.key) e.resource, e.id, e.position, e.operation, f.key as field,
            case e.operation when 2 then f.value -> 0 else f.value end as value
        from entries e
        cross join lateral jsonb_each(e.fields) f
        order by e.resource, e.id, f.key, e.position
    ) e
    group by e.resource, e.id
    having (array_agg(e.operation order by e.position))[1] <> 1 and bool_or(e.operation = 3)
), past_affiliates as (
    select r.* from past p cross join lateral jsonb_populate_record(null::recorded_affiliates, p.fields) r where p.resource = 1
), past_compliance_urls as (
    select r.* from past p cross join lateral jsonb_populate_record(null::recorded_compliance_urls, p.fields) r where p.resource = 2
), past_infractions as (
    select r.* from past p cross join lateral jsonb_populate_record(null::recorded_infractions, p.fields) r where p.resource = 3
), past_compliance_cases as (
    select r.* from past p cross join lateral jsonb_populate_record(null::recorded_compliance_cases, p.fields) r where p.resource = 4
), past_incidents as (
    select r.* from past p cross join lateral jsonb_populate_record(null::recorded_incidents, p.fields) r where p.resource = 5
)
select s.last_position, coalesce(s.dropped, nullif(s.last_position, s.lost_position), 0) as dropped_position,
    floor(extract(epoch from now()))::bigint as this_second, floor(extract(epoch from nearest_shown(f.changed_at)))::bigint as first_second, r.*
from state s
-- The stored changes give every state from the time of the first one, and from each time to which the clock was set back.
cross join lateral (
    select least(
        coalesce(
            (select c.changed_at from changes c where c.company_id = $1 and c.position > s.dropped order by c.position limit 1),
            (select p.changed_at from change_positions p where p.company_id = $1)
        ),
        (select min(c.changed_at) from changes c where c.company_id = $1 and c.is_set_back and c.position > s.dropped)
    ) as changed_at
) f
cross join (select $3 as id) p
left join lateral (
    select true as is_found, r.* from (:record) r
) r on true

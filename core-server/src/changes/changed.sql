-- The IDs of records of the company $1 that were created or updated after the position $2, in the table with the number $3. Infractions
-- are a part of their URLs, and incidents of their cases.
), entries as materialized (
    select e.*
    from (
        select c.position - cardinality(c.ids) + e.number as position, c.resource, c.columns, c.operation, e.id, e.record
        from (
            select c.* from changes c
            where c.company_id = $1 and c.position > (select $2) order by c.position limit (select null::bigint)
        ) c
        cross join lateral unnest(c.ids, c.records) with ordinality e (id, record, number)
        where c.resource = $3 and c.operation in (1, 2) or (c.resource, $3) in ((3, 2), (5, 4)) and c.operation in (1, 3)
    ) e
    where e.position > $2
)
select s.last_position, coalesce(s.dropped, s.last_position) as dropped_position, array(
    select distinct case
        when e.resource = $3 then e.id
        when e.resource = 3 then (r.filled::infractions).url_id
        else (r.filled::incidents).case_id
    end
    from entries e
    cross join state t
    cross join lateral (
        select left(e.record, -1) || repeat(',', (t.columns[e.resource] - e.columns)::integer) || ')' as filled
    ) r
    order by 1
) as ids
from state s

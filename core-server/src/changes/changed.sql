-- The IDs of records of the company $1 that were created or updated after the position $2, in the table with the number $3. Only if fewer
-- than $4 rows with at most $5 entries follow. An infraction counts as a change of its URL, and an incident as a change of its case.
), scanned as materialized (
    -- A row's arrays can be large, so these expressions are computed once for each row, not for each entry.
    select c.position, c.position - cardinality(c.ids) as before, c.ids,
        c.resource = $3 and c.operation in (1, 2) as is_record,
        (c.resource, $3) in ((3, 2), (5, 4)) and c.operation in (1, 3) as is_part,
        case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
        case when cardinality(c.parents) > 1 then c.parents end as parents,
        -- In rows of earlier releases, the third column of a part is its record.
        case when c.parents is null and c.resource <> $3 then c.records end as records
    from changes c
    where c.company_id = $1 and c.position > (select $2) and c.position <= (select $2 + $5)
    order by c.position limit (select $4)
), found as materialized (
    select s.last_position <= $2 + $5 and (select count(*) from scanned) < $4 as is_complete from state s
)
select s.last_position, coalesce(s.dropped, s.last_position) as dropped_position, s.lost_position, f.is_complete, array(
    select distinct case when c.is_record then e.id else coalesce(c.parent, e.parent, split_part(e.record, ',', 3)::bigint) end
    from scanned c
    cross join lateral unnest(c.ids, c.parents, c.records) with ordinality e (id, parent, record, number)
    where f.is_complete and (c.is_record or c.is_part) and c.before + e.number > $2
    order by 1
) as ids,
    position_before(n.resource, n.operation, n.position, n.ids, n.records) as kept_position, n.position as restored_position
from state s
cross join found f
-- The position $2 is lost if a restore has skipped it.
left join (
    select c.* from changes c where c.company_id = $1 and c.position > (select $2) order by c.position limit 1
) n on n.resource = 0 and n.operation = 2

-- The stored part of the record of changes of the company $1.
select shown(c.changed_at) as since,
    (p.position - coalesce(c.after, p.position) - r.passed_over)::bigint as changes
from change_positions p
left join (
    select position_before(c.resource, c.operation, c.position, c.ids, c.records) as after, c.changed_at from changes c
    where c.company_id = $1 order by c.position limit 1
) c on true
cross join (
    select coalesce(sum(r.position - position_before(r.resource, r.operation, r.position, r.ids, r.records) - 1), 0) as passed_over
    from changes r
    where r.company_id = $1 and r.resource = 0 and r.operation = 2 and cardinality(r.ids) = 1 and r.ids[1] = $1
) r
where p.company_id = $1

-- The first position between $2 and $3 that a restore has skipped. After the last restore, reads nothing.
select min(position_before(c.resource, c.operation, c.position, c.ids, c.records)) + 1
from changes c
where c.company_id = $1 and c.resource = 0 and c.operation = 2 and cardinality(c.ids) = 1 and c.ids[1] = $1
    and c.position > $2 and c.position <= $3 and $2 < first_position()

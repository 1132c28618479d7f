-- The number of matches, from the counts.
select coalesce(sum(c.n), 0)::bigint as total
from :counts c
where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0 :equal

-- Whether a walk scans all records of its buckets in order, or the matches of each group and sorts them: whichever reads less. Groups are
-- each scanned until they have filled the page alone.
select (
    select coalesce(sum(c.n), 0) from :counts c where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0
) <= coalesce(sum(n), 0) * count(*) as ordered
from groups

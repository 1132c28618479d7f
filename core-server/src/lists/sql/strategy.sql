-- Whether a seek scans all records of its buckets in order, or scans and sorts the matches of each group. Chooses the way that reads less.
-- The scan of each group ends when it has filled a page.
select (
    select coalesce(sum(c.n), 0) from :counts c where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0
) <= coalesce(sum(n), 0) * count(*) as ordered
from groups

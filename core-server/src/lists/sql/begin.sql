-- The bucket of a level in which the page begins, and the number of matches before this bucket.
select bucket, before
from (
    select b.bucket, b.n, :preceding + (sum(b.n) over (order by b.bucket :direction))::bigint - b.n as before
    from :buckets
) s
where before <= :before and :before < before + n

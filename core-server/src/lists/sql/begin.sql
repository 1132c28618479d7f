-- The bucket of a level that the page begins in, with how many matches precede it.
select bucket, before
from (
    select b.bucket, b.n, :preceding + (sum(b.n) over (order by b.bucket :direction))::bigint - b.n as before
    from :buckets
) s
where before <= :before and :before < before + n

-- The first fine bucket of a scan, `near`, and its last coarse bucket, `far`.
select coalesce(
    (
        select f.bucket
        from :counts f
        where f.company_id = $1 and f.dimension = ':fine'
            and f.bucket between n.bucket << 5 and (n.bucket << 5) + 31 and f.:number > 0 and f.last_day >= $4 and f.first_day <= $5 :fine_equal
        order by f.bucket :nearest
        limit 1
    ), (n.bucket << 5) :edge) as near,
    (
        select c.bucket
        from :counts c
        where c.company_id = $1 and c.dimension = ':coarse' and c.:number > 0 and c.last_day >= $4 and c.first_day <= $5 :coarse_equal
        order by c.bucket :farthest
        limit 1
    ) as far
from (
    select c.bucket
    from :counts c
    where c.company_id = $1 and c.dimension = ':coarse' and c.:number > 0 and c.last_day >= $4 and c.first_day <= $5 :coarse_equal
    order by c.bucket :nearest
    limit 1
) n
where (select scans from choice)

-- The number of matches on the days $4 to $5: whole coarse buckets, and days at each end. If a coarse bucket is partly in the range, either
-- its days inside the range are added, or the whole bucket is added and its other days are subtracted. The statement uses the way with
-- fewer days.
select coalesce(sum(c.sign * c.n), 0)::bigint as total
from (
    select 1 as sign, c.* from :counts c where c.company_id = $1 and c.dimension = ':date_coarse'
        and c.bucket between ($4 >> 5) + case when ($4 & 31) < 16 then 0 else 1 end
            and ($5 >> 5) - case when ($5 & 31) >= 16 then 0 else 1 end
    union all
    select -1, c.* from :counts c where c.company_id = $1 and c.dimension = ':date'
        and ($4 & 31) < 16 and c.bucket between $4 >> 5 << 5 and $4 - 1
    union all
    select 1, c.* from :counts c where c.company_id = $1 and c.dimension = ':date'
        and not ($4 & 31) < 16 and c.bucket between $4 and $4 | 31
    union all
    select -1, c.* from :counts c where c.company_id = $1 and c.dimension = ':date'
        and ($5 & 31) >= 16 and c.bucket between $5 + 1 and $5 | 31
    union all
    select 1, c.* from :counts c where c.company_id = $1 and c.dimension = ':date'
        and not ($5 & 31) >= 16 and c.bucket between $5 >> 5 << 5 and $5
) c
where $4 <= $5 :equal

-- The records that match and that the days $4 to $5 have. Whole coarse buckets. At each end, one that is cut either is left out and the
-- days within the range are added, or it is taken whole and the days without are subtracted: whichever are fewer.
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

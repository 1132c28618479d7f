-- Stores the differences between the counts of the company $1 and its records. A range of days can be too wide, but not too narrow. The
-- statement groups instead of joining, because a filter's column can be null.
insert into differences
select dimension, bucket, :split_by, :missing, min(first_day), max(last_day)
from (
    select p.dimension, p.bucket, :split_by, :expected,
        min(utc_day(r.:date)) as first_day, max(utc_day(r.:date)) as last_day,
        null::integer as first_stored, null::integer as last_stored
    from :table r cross join lateral :buckets p
    where r.company_id = $1
    group by p.dimension, p.bucket, :split_by
    union all
    select dimension, bucket, :split_by, :stored, null, null, first_day, last_day
    from :counts where company_id = $1
) c
group by dimension, bucket, :split_by
having (:missing) <> (:none) or min(first_day) < min(first_stored) or max(last_day) > max(last_stored)

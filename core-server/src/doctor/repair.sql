-- Repairs at most $2 counts of the company $1. For a count without records, the row already exists, so its days are not used.
with chunk as (
    delete from differences where ctid = any(array(select ctid from differences limit $2)) returning *
)
insert into :counts as c (company_id, dimension, bucket, :split_by, :numbers, first_day, last_day)
select $1, dimension, bucket, :split_by, :numbers,
    coalesce(first_day, 2147483647), coalesce(last_day, -2147483648)
from chunk
on conflict on constraint :constraint do update set
    :add,
    first_day = least(c.first_day, excluded.first_day),
    last_day = greatest(c.last_day, excluded.last_day)

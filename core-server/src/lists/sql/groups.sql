-- The combinations of filter values that records have, and the number of records of each.
select :columns, sum(n) as n
from :counts c
where c.company_id = $1 and c.dimension = 'all' and c.bucket = 0 and c.n > 0 :equal
group by :columns

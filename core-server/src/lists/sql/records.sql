-- The records of the page, each with the total. Without records, one row with the total.
select t.total, p.id as found, r.*
from counted t
left join (page p cross join lateral (:record) r) on true
order by :order

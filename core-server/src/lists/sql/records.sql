-- The records of the page, each with the total. If the page is empty, one row with the total.
select t.total, p.id as found, r.*
from counted t
left join (page p cross join lateral (:record) r) on true
order by :order

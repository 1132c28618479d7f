-- The selected records.
select p.id as last_id, r.*
from (select u.id from (:ids) u) p
cross join lateral (:record) r
order by p.id

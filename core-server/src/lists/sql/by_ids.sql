-- Records of a company with these IDs, by ID.
select r.*
from (select distinct id from unnest($2::bigint[]) as p (id)) p
cross join lateral (:record) r
order by p.id

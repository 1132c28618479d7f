-- Cases of the company $1 with IDs above $2, at most $3.
select p.id as last_id, p.request_id, r.*
from (
    select u.id, u.request_id from :from
    where u.company_id = $1 and u.id > $2 order by u.id limit $3
) p
cross join lateral (:record) r
order by p.id

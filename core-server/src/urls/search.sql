-- The newest URLs of the company $1 that match the pattern $2, at most $3.
select r.*
from (
    select u.id from compliance_urls u
    where u.company_id = $1 and u.url collate "C" ~ (select $2)
    order by u.id desc
    limit (select $3)
) p
cross join lateral (:record) r
order by p.id desc

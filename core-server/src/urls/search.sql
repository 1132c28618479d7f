-- URLs of the company $1, at most $3: first exact matches of the ID $4 or the hash $5, then URLs that match all patterns $2, newest first.
-- The planner expects many rows from `case`, so it follows the key until it has enough.
with exact as materialized (
    (select u.id from compliance_urls u where u.company_id = $1 and u.id = (select $4) limit 1)
    union
    (select u.id from compliance_urls u where u.company_id = $1 and u.url_hash = (select $5) limit 1)
), found as materialized (
    select e.id, false as is_part from exact e
    union all
    (
        select u.id, true from compliance_urls u
        where u.company_id = $1
            and case when u.id in (select e.id from exact e) then false else u.url collate "C" ~ all ((select $2)::text[]) end
        order by u.id desc
        limit (select $3)
    )
)
select r.*
from (select f.id, f.is_part from found f order by f.is_part, f.id desc limit (select $3)) p
cross join lateral (:record) r
order by p.is_part, p.id desc

-- Affiliates of the company $1, at most $3: first those with the ID $4, or a name or client identifier that matches the pattern $5 as a whole,
-- then other matches by ID. An affiliate matches if each pattern $2 is in one of its texts, or if a phone number has the digits $6. The planner
-- expects many rows from `case`, so it follows the key until it has enough.
with exact as materialized (
    (select a.id from affiliates a where a.company_id = $1 and a.id = (select $4) limit 1)
    union
    (
        select a.id from affiliates a
        where a.company_id = $1
            and case
                when a.affiliate_name collate "C" ~ (select $5) then true
                when a.client_affiliate_id collate "C" ~ (select $5) then true
            end
        order by a.id
        limit (select $3)
    )
), found as materialized (
    select e.id, false as is_part from exact e
    union all
    (
        select a.id, true from affiliates a
        where a.company_id = $1
            and case when a.id in (select e.id from exact e) then false else :matches end
        order by a.id
        limit (select $3)
    )
)
select :columns
from (select f.id, f.is_part from found f order by f.is_part, f.id limit (select $3)) f
cross join lateral (select a.* from affiliates a where a.company_id = $1 and a.id = f.id limit 1) a
order by f.is_part, f.id

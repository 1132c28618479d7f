-- The page among the matching records of a company, in key order. The limit exceeds the length of every list. The planner cannot see that,
-- so it uses this index, and compares before it sorts.
with matches as materialized (
    select u.id, :key as k
    from (
        select u.* from :table u where u.company_id = $1 order by u.id limit (select 1::bigint << 62)
    ) u
    where true :filters
),
counted as materialized (
    select count(*) as total from matches
),
page as (
    select id, k from matches order by :order offset $3 limit $2
)

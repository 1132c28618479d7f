-- The page among the records of one affiliate, whose index has every column that is filtered or sorted by. In the order of the index,
-- new records come first where they sort first, so that few enter the sort that others would drive out.
with matches as :kept (
    select u.id, :key as k
    from :table u
    where u.company_id = $1 and u.affiliate_id = $6 :equal :in_range
    order by u.affiliate_id :direction, u.id :direction
),
counted as materialized (
    select count(*) as total from matches
),
page as (
    select id, k from matches order by :order offset $3 limit $2
)

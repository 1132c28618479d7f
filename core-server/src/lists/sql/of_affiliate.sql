-- Finds the page among the records of one affiliate. Their index has all filter columns and sort keys. It begins with new records, which
-- often sort first. So the sort keeps few records that later ones replace.
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

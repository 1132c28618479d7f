-- Matches in sort order, from the first one to the end of the page.
(
    select u.id, :key as k
    from :table u
    where u.company_id = $1 :between :in_range
    order by :index_order
    limit (select $3 + $2)
)

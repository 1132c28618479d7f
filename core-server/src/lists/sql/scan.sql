-- Matches in sort order, from the beginning of the page or of its bucket, up to the end of the page.
(
    select u.id, :key as k
    from :table u
    where u.company_id = $1 :between :matches :ordered
    order by :index_order
    limit (select :skip + $2)
)

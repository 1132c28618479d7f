-- Matches in the order asked for, from where the page begins or can begin: as many as precede its end.
(
    select u.id, :key as k
    from :table u
    where u.company_id = $1 :between :matches :ordered
    order by :index_order
    limit (select :skip + $2)
)

-- Like `scan.sql`, with one scan per group.
(
    select u.*
    from groups g
    cross join lateral (
        select u.id, :key as k
        from :table u
        where u.company_id = $1 :of_group :between :matches
        order by :index_order
        limit (select :skip + $2)
    ) u
    :sorted
    order by :order
    limit (select :skip + $2)
)

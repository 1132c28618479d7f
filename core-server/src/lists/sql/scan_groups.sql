-- Like `scan.sql`, with one scan for each combination of filter values.
(
    select u.*
    from groups g
    cross join lateral (
        select u.id, :key as k
        from :table u
        where u.company_id = $1 :of_group :between :in_range
        order by :index_order
        limit (select $3 + $2)
    ) u
    order by :order
    limit (select $3 + $2)
)

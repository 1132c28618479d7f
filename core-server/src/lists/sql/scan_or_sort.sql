-- Finds the page of a list with a range of days that is sorted by another column. Either scans in sort order, or sorts all matches.
-- `choice` says which of them reads less. It says neither if the page begins after the last record.
--
-- Sorting a match costs as much as scanning a quarter of an entry. The factor is small, because a sort near the beginning keeps few
-- matches, and a scan reads more than expected if the range and the sort key are correlated. The scan of each group ends when it has filled
-- the page.
with counted as materialized (:total),
groups as materialized (:groups),
choice as materialized (
    select total > $3 and scan <= sort as scans, total > $3 and scan > sort as sorts
    from (
        select total, total * 0.25::double precision as sort,
            least(($3 + $2) * :number_of_scans / total::double precision, 1) * (select sum(n) from groups) as scan
        from counted
        where total > 0
    ) c
),
:bounds,
page as (
    (
        select id, k from (:scans) u offset $3 limit $2
    )
    union all
    (
        -- Because of the order and the limit, the planner joins the groups only by their index.
        select u.id, u.k
        from groups g
        cross join lateral (
            select u.id, :key as k
            from :table u
            where u.company_id = $1 :of_group :in_range
            order by u.:date, u.id
            limit (select total from counted)
        ) u
        where (select sorts from choice)
        order by :order
        offset $3
        limit $2
    )
)

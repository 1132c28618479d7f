-- Sorts all matches, unless a scan finds the page. Because of the order and the limit, the planner joins the groups only by their index.
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

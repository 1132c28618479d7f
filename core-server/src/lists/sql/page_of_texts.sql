-- As many of the selected records as fit in the limit on text size. PostgreSQL knows a stored text's length without reading it.
select p.id as last_id, r.*
from (
    select u.id, sum(octet_length(u.:long)) over (order by u.id rows between unbounded preceding and 1 preceding) as bytes_before
    from (:ids) u
) p
cross join lateral (:record) r
where p.bytes_before is null or p.bytes_before < :most
order by p.id

-- The selected records, as many as fit into the limit on their texts. The length of a stored text is known without reading it.
select p.id as last_id, r.*
from (
    select u.id, sum(octet_length(u.:long)) over (order by u.id rows between unbounded preceding and 1 preceding) as bytes_before
    from (:ids) u
) p
cross join lateral (:record) r
where p.bytes_before is null or p.bytes_before < :most
order by p.id

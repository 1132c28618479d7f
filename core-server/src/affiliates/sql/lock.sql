-- Locks, in ID order, the affiliates of a batch whose items depend on each other. Such batches take names in different orders and could
-- collide at every retry, so a company's batches run one after another. (The counts of the company's lists use the lock numbers 1 and 2.)
with alone as materialized (
    select pg_advisory_xact_lock($1::bigint << 2 | 3)
), anchor as materialized (
    select $2::bigint is null or exists (select from affiliates where company_id = $1 and id = $2) as exists
    from alone
)
select exists as anchored, array(
    select a.id from (select i.id from unnest($3::bigint[]) as i (id) order by i.id) i
    cross join lateral (
        select a.id from affiliates a
        where a.company_id = $1 and a.id = i.id and (select exists from anchor)
        for no key update
    ) a
) as ids
from anchor

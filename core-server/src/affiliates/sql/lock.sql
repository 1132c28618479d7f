-- Locks the affiliates of a batch whose items depend on each other, in the order of their IDs. Each such batch takes names in its own
-- order. Two overlapping batches could collide at every retry, so the batches of one company run one after another. (The counts of the
-- company's lists have the lock numbers 1 and 2.)
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

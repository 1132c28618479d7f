-- For each item, a few affiliates of the company that have its identifier, and the fields that differ. For an item with a new name, also
-- the name's current holder. Both are lookups by key, which the planner cannot replace with a scan.
select coalesce(a.ids, '{}') as ids, coalesce(a.revision, 0) as revision, coalesce(a.changed, i.mask) as changed,
    case when a.changed & :name_bit <> 0 then a.name end as old_name, t.id as holder
from unnest($2::affiliate_input[]) with ordinality as i
left join lateral (
    select array_agg(a.id) as ids, min(a.revision) as revision, min(a.changed) as changed, min(a.affiliate_name) as name
    from (
        select a.id, a.revision, a.affiliate_name, (:changed)::bigint as changed from affiliates a
        where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id
        order by a.id limit :most
    ) a
) a on true
left join lateral (
    select t.id from affiliates t
    where t.company_id = $1 and t.affiliate_name = i.affiliate_name
        and coalesce(a.changed, i.mask) & :name_bit <> 0
    limit 1
) t on true
order by i.ordinality

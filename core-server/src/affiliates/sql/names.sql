-- The names of the locked affiliates, and the current holders of the batch's names.
select a.id, a.affiliate_name, a.revision, true as is_changed from unnest($2::bigint[]) as i (id)
cross join lateral (
    select a.id, a.affiliate_name, a.revision from affiliates a where a.company_id = $1 and a.id = i.id limit 1
) a
union all
select a.id, a.affiliate_name, a.revision, false from unnest($3::text[]) as i (name)
cross join lateral (
    select a.id, a.affiliate_name, a.revision from affiliates a where a.company_id = $1 and a.affiliate_name = i.name limit 1
) a

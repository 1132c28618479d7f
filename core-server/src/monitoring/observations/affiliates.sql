-- Returns which of the IDs $2 and client identifiers $3 the company $1 has.
select i.affiliate_id as "affiliate_id?", null::text as "client_affiliate_id?"
from unnest($2::bigint[]) as i (affiliate_id)
cross join lateral (select from affiliates a where a.company_id = $1 and a.id = i.affiliate_id limit 1) a
union all
select null, i.client_affiliate_id
from unnest($3::text[]) as i (client_affiliate_id)
cross join lateral (
    select from affiliates a where a.company_id = $1 and a.client_affiliate_id = i.client_affiliate_id limit 1
) a

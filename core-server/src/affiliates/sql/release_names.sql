insert into affiliates (company_id, id, client_affiliate_id, affiliate_name)
select $1, a.id, a.client_affiliate_id, repeat('.', 200) || ':' || a.affiliate_name from unnest($2::bigint[]) as i (id)
cross join lateral (
    select a.id, a.client_affiliate_id, a.affiliate_name from affiliates a where a.company_id = $1 and a.id = i.id limit 1
) a
on conflict on constraint affiliates_pkey do update set affiliate_name = excluded.affiliate_name

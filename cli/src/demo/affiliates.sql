insert into affiliates (
    company_id, client_affiliate_id, affiliate_name, email_one, email_two, phone_one, phone_two, facebook, instagram,
    youtube, twitter, tiktok, pintrest, country, first_name, last_name, notes, address, city, state, zip, ranking,
    replicated_website, sponsor, upline, status, start_date, language_used, territory, entrepreneur_id,
    entrepreneur_spouse_id, international_distributor, is_territory_director, jv_status, league, territory_master,
    merchant_type, company_name, sponsor_id, sponsor_email, pay_rank, recognition_rank
)
select
    $1, r.client_affiliate_id, r.affiliate_name, r.email_one, r.email_two, r.phone_one, r.phone_two, r.facebook,
    r.instagram, r.youtube, r.twitter, r.tiktok, r.pintrest, r.country, r.first_name, r.last_name, r.notes, r.address,
    r.city, r.state, r.zip, r.ranking, r.replicated_website, r.sponsor, r.upline, r.status, r.start_date,
    r.language_used, r.territory, r.entrepreneur_id, r.entrepreneur_spouse_id, r.international_distributor,
    r.is_territory_director, r.jv_status, r.league, r.territory_master, r.merchant_type, r.company_name, r.sponsor_id,
    r.sponsor_email, r.pay_rank, r.recognition_rank
from jsonb_array_elements($2::text::jsonb) with ordinality e (fields, position)
cross join lateral jsonb_populate_record(null::affiliates, e.fields) r
order by e.position

-- The name of the upline of the affiliate `a`.
(
    select up.affiliate_name from :affiliates up
    where up.company_id = :company and up.client_affiliate_id = :upline order by up.id limit 1
)

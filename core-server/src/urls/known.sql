-- Returns the hashes in $2 that URLs of the company $1 have.
select u.url_hash from unnest($2::bytea[]) as i (url_hash)
cross join lateral (
    select u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = i.url_hash limit 1
) u

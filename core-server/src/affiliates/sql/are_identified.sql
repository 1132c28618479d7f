-- Whether affiliates of the company $1 have one of these identifiers. This is a separate statement after the lock, so it sees the rows that
-- others committed before.
select exists (
    select from unnest($2::text[]) as i (identifier)
    cross join lateral (
        select from affiliates a where a.company_id = $1 and a.client_affiliate_id = i.identifier limit 1
    ) a
)

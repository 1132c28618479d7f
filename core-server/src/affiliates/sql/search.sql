-- The first affiliates of the company $1 that match, by ID, at most $3. An affiliate matches if its name or client identifier matches the
-- pattern $2, if its e-mail address is $4, or if a phone number has the digits $5.
select :columns from affiliates a
where a.company_id = $1
    and (
        a.affiliate_name ~ (select $2) or a.client_affiliate_id ~ (select $2)
        or lower(a.email_one) = (select lower($4)) or lower(a.email_two) = (select lower($4))
        or regexp_replace(a.phone_one, '[^0-9]', '', 'g') = (select $5)
        or regexp_replace(a.phone_two, '[^0-9]', '', 'g') = (select $5)
    )
order by a.id
limit (select $3)

-- The first affiliates of the company $1 whose name or client identifier matches the pattern $2, at most $3, by ID.
select :columns from affiliates a
where a.company_id = $1 and (a.affiliate_name ~ (select $2) or a.client_affiliate_id ~ (select $2))
order by a.id
limit (select $3)

-- Locks the identifiers of the company $1 until the transaction ends, so that nobody else creates affiliates by identifier. (The company's
-- other locks use the numbers 1 to 3.)
with alone as materialized (
    select pg_advisory_xact_lock($1::bigint << 2)
)
select exists (select from affiliates a where a.company_id = $1 and a.id = 0) from alone

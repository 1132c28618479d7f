-- Locks the identifiers of the company $1 against others that create affiliates by their identifiers, until the end of the transaction.
-- (Its other locks are numbered 1 to 3.)
with alone as materialized (
    select pg_advisory_xact_lock($1::bigint << 2)
)
select exists (select from affiliates a where a.company_id = $1 and a.id = 0) from alone

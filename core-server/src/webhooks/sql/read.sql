-- The webhook with the ID $2, or all by ID.
select :columns
from webhooks w where w.company_id = $1 and ($2::bigint is null or w.id = $2) order by w.id

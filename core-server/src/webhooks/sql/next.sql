-- The ID of a new webhook. Other requests to create a webhook for the company wait until the end of the transaction, so their count
-- includes this one.
select nextval('webhooks_id_seq')
from pg_advisory_xact_lock(hashtext('compliance webhooks'), hashtext($1::bigint::text))

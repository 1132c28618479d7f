-- Moves a webhook, leased until $3 for the message $4, to the position $5 without a delivery. It skips changes of other types, or, if $6 is
-- true, changes that are no longer stored. Only in the second case does the next message have an `after` that the endpoint does not know.
update webhooks w set
    position = $5, message_after = case when $6 then $5 else w.message_after end, message_id = null, message_to = null,
    attempts = 0, failing_since = null, leased_until = 'epoch'
where w.company_id = $1 and w.id = $2 and w.leased_until = $3 and w.message_id = $4
returning w.id

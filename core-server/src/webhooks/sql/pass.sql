-- Moves a webhook, leased until $3 for the message $4, to the position $5 without a delivery: past changes of other types, or ($6) past changes
-- that are no longer kept. Only after the latter does the next message have an `after` that is new to the endpoint.
update webhooks w set
    position = $5, message_after = case when $6 then $5 else w.message_after end, message_id = null, message_to = null,
    attempts = 0, failing_since = null, leased_until = 'epoch'
where w.company_id = $1 and w.id = $2 and w.leased_until = $3 and w.message_id = $4
returning w.id

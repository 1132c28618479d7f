-- Stores that the message $4 of a webhook, leased until $3, ends at the position $5. It runs before the first attempt, so that later
-- attempts send the same message, whatever limits apply then.
update webhooks w set message_to = $5
where w.company_id = $1 and w.id = $2 and w.leased_until = $3 and w.message_id = $4
returning w.id

-- Leases a webhook for $3 seconds, unless another core has leased it. If no message has failed, the new message $4 begins. Ignores times
-- that are too far ahead ($5, $6), as `due.sql` does.
with last as (
    select p.position from change_positions p where p.company_id = $1
)
update webhooks w set
    leased_until = now() + make_interval(secs => $3), message_id = coalesce(w.message_id, $4)
from last l
where w.company_id = $1 and w.id = $2 and w.disabled_reason is null and w.position < l.position
    and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $5))
    and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $6))
returning :columns

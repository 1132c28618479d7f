-- Webhooks with changes to deliver, at most $2, of some companies. Ignores times that are further ahead than a delivery can set: $3 seconds
-- for the next attempt, $4 for the end of the lease.
select w.company_id, w.id
from webhooks w join change_positions p on p.company_id = w.company_id
where w.company_id = any($1::bigint[]) and w.disabled_reason is null and w.position < p.position
    and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $3))
    and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $4))
order by w.next_attempt_at
limit $2

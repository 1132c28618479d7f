-- Webhooks with changes to deliver, at most $3, of companies on one Citus node. If $2 is true, only webhooks whose last attempt was slow or
-- failed. If it is false, only the others. Ignores times that are further ahead than a delivery can set: $4 seconds for the next attempt,
-- $5 for the end of the lease.
select w.company_id, w.id
from webhooks w join change_positions p on p.company_id = w.company_id
where w.company_id = any($1::bigint[]) and w.disabled_reason is null and w.position < p.position and w.is_slow = $2
    and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $4))
    and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $5))
order by w.next_attempt_at
limit $3

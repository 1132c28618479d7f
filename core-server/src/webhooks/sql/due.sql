-- Of some companies, which are on one node of Citus, webhooks with changes to deliver: those whose last attempt failed or took long, or the
-- others ($2), at most $3. Times are not waited for that lie further ahead than a delivery can say: the next attempt by $4 seconds, the end
-- of the lease by $5.
select w.company_id, w.id
from webhooks w join change_positions p on p.company_id = w.company_id
where w.company_id = any($1::bigint[]) and w.disabled_reason is null and w.position < p.position and w.is_slow = $2
    and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $4))
    and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $5))
order by w.next_attempt_at
limit $3

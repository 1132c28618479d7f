-- Stores the result of an attempt to deliver the message $4 up to the position $5: its success ($6), and the time of the next attempt.
-- After a message that was too large ($16), the next one has at most half of its $17 bytes. If the webhook changed during the attempt, it
-- has no message, so only its lease changes. The log keeps the last $15 attempts. Here they get their numbers, so a lease without an
-- attempt uses none.
with finished as (
    update webhooks w set
        position = case when w.message_id = $4 and $6 then $5 else w.position end,
        message_after = case when w.message_id = $4 and $6 then $5 else w.message_after end,
        message_id = case when $6 or $16 then null else w.message_id end,
        message_to = case when $6 or $16 then null else w.message_to end,
        attempts = case when w.message_id = $4 and not $6 and not $16 then w.attempts + 1 else 0 end,
        failing_since = case when w.message_id = $4 and not $6 then least(w.failing_since, $11) end,
        next_attempt_at = now() + make_interval(secs => case when w.message_id = $4 then $7 else 0 end),
        disabled_reason = case when w.message_id = $4 then $8 else w.disabled_reason end,
        body_limit = case
            when w.message_id = $4 and $16 then $17 / 2
            when w.message_id = $4 and $6 and w.body_limit < $17 then $17
            else w.body_limit end,
        leased_until = 'epoch', deliveries = w.deliveries + 1
    where w.company_id = $1 and w.id = $2 and w.leased_until = $3
    returning w.id, w.deliveries
), late as (
    -- The lease ended before the attempt did.
    update webhooks w set deliveries = w.deliveries + 1
    where w.company_id = $1 and w.id = $2 and w.leased_until <> $3
    returning w.deliveries
), attempt as (
    select f.deliveries as number from finished f
    union all
    select l.deliveries from late l
), pruned as (
    delete from webhook_deliveries d using attempt a where d.company_id = $1 and d.webhook_id = $2 and d.number <= a.number - $15
), logged as (
    insert into webhook_deliveries
        (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms, http_status, error)
    select $1, $2, a.number, $4, $9, $5, $10, $11, $12, $13, $14 from attempt a
)
select id from finished

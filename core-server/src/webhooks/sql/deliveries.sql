-- The last deliveries of a webhook, at most $3. Without deliveries, one row without a number. Without the webhook, no row.
select d.number, d.message_id, d.after, d.position, d.attempt, d.started_at, d.duration_ms,
    d.http_status, d.error
from webhooks w left join webhook_deliveries d on d.company_id = $1 and d.webhook_id = $2
where w.company_id = $1 and w.id = $2
order by d.number desc
limit $3

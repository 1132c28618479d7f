-- Replaces the secret with $3. The previous secret is valid for $4 more seconds, and earlier secrets until they expire. So a repeated
-- rotation does not invalidate the secret that the endpoint has. Keeps the last $5 secrets.
update webhooks w set
    previous_secrets = (array_prepend(w.secret, w.previous_secrets))[:$5],
    previous_secret_until = (array_prepend(now() + make_interval(secs => $4), shown(w.previous_secret_until)))[:$5],
    secret = $3, secret_rotated_at = now()
from set_config('compliance.changed_by', $6, true)
where w.company_id = $1 and w.id = $2
returning :columns

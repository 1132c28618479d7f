-- Records that a test message is sent to a webhook.
update webhooks w set tested_at = now()
from set_config('compliance.changed_by', $3, true)
where w.company_id = $1 and w.id = $2
returning :columns

-- A repeated request to create a webhook finds the one that the first request created.
alter table webhooks add column created_with bytea; -- digest of that request; null if an older version created the webhook

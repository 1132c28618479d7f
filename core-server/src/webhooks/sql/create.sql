-- Creates a webhook with the ID $10, unless the company already has $7 webhooks. If the company has a webhook with this URL and these
-- types, returns that webhook. A position after the last one becomes the last one. `is_of_request` means that the request with the digest
-- $11 created the webhook in the last $12 seconds, and its secret has not changed since.
with existing as (
    select count(*) as number, min(w.id) filter (where w.url = $2 and w.types @> $3 and w.types <@ $3) as equal_id
    from webhooks w where w.company_id = $1
), last as (
    select coalesce((select p.position from change_positions p where p.company_id = $1), first_position()) as position
), created as (
    insert into webhooks
        (company_id, id, url, types, description, secret, position, message_after, disabled_reason, created_with)
    select $1, $10, $2, $3, nullif($4, ''), $5, least($6, l.position), least($6, l.position), case when $8 = 'disabled' then $9 end,
        $11
    from existing e cross join last l
    where e.number < $7 and e.equal_id is null
    returning *
), w as (
    select * from created
    union all
    select k.* from existing e join webhooks k on k.company_id = $1 and k.id = e.equal_id
)
select coalesce(w.created_with = $11 and w.previous_secrets = '{}' and w.created_at > now() - make_interval(secs => $12)
        and w.created_at < now() + make_interval(secs => $12), false)
    as is_of_request, :columns
from w

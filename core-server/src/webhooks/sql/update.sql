-- Changes the given fields. The next attempt follows immediately, with a message of any size. If a message is being delivered, it is not
-- sent again. If the change would give the webhook the URL and the types of another one, changes nothing, and returns the other webhook.
with last as (
    select coalesce((select p.position from change_positions p where p.company_id = $1), first_position()) as position
), changed as (
    select w.company_id, w.id, w.url, w.types, coalesce($3, w.url) as new_url,
        case when cardinality($4) > 0 then $4 else w.types end as new_types
    from webhooks w where w.company_id = $1 and w.id = $2
), other as (
    select o.* from changed c join webhooks o on o.company_id = c.company_id and o.id <> c.id
        and o.url = c.new_url and o.types @> c.new_types and o.types <@ c.new_types
        and not (o.url = c.url and o.types @> c.types and o.types <@ c.types)
    where o.company_id = $1
    order by o.id limit 1
), updated as (update webhooks w set
    url = coalesce($3, w.url),
    types = case when cardinality($4) > 0 then $4 else w.types end,
    description = case when $5::text is null then w.description else nullif($5, '') end,
    disabled_reason = case $6 when 'enabled' then null when 'disabled' then $8 else w.disabled_reason end,
    position = case when $7::bigint is null then w.position else least($7, l.position) end,
    message_after = case when $7::bigint is null then w.message_after else least($7, l.position) end,
    moves = w.moves + coalesce(least($7, l.position) <> w.position, false)::int,
    message_id = null, message_to = null, attempts = 0, failing_since = null, next_attempt_at = now(), body_limit = null
from last l cross join set_config('compliance.changed_by', $9, true)
where w.company_id = $1 and w.id = $2 and not exists (select from other)
returning w.*)
select :columns from (select * from updated union all select * from other) w

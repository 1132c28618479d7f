//! The statements.

macro_rules! with_columns {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " w.id, w.url, w.types, w.description, w.secret, w.previous_secrets, w.previous_secret_until, w.position,
            w.message_after, w.message_id,
            w.message_to, w.attempts, w.failing_since, w.next_attempt_at, w.disabled_reason, w.created_at, w.leased_until,
            w.deliveries, w.body_limit, now() as read_at ",
            $after
        )
    };
}

/// The ID of a new webhook. Others who create one of the company wait until the end of the transaction, so that they count this one.
pub(super) const NEXT: &str = "select nextval('webhooks_id_seq')
    from pg_advisory_xact_lock(hashtext('compliance webhooks'), hashtext($1::bigint::text))";

/// Creates a webhook with the ID $10, unless the company has $7 already, or one with this URL and these types, which it returns. A
/// position after the last one is the last one. `is_of_request` says whether the request with the digest $11 created the webhook in the
/// last $12 seconds, and its secret is still the first one.
pub(super) const CREATE: &str = with_columns!(
    "with existing as (
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
        as is_of_request,",
    "from w"
);

/// The webhook with the ID $2, or all by ID.
pub(super) const READ: &str = with_columns!(
    "select",
    "from webhooks w where w.company_id = $1 and ($2::bigint is null or w.id = $2) order by w.id"
);

/// Changes what is given, and lets the next attempt follow at once, with a message of any size. A message that is being delivered is not sent again.
pub(super) const UPDATE: &str = with_columns!(
    "with last as (
        select coalesce((select p.position from change_positions p where p.company_id = $1), first_position()) as position
    )
    update webhooks w set
        url = coalesce($3, w.url),
        types = case when cardinality($4) > 0 then $4 else w.types end,
        description = case when $5::text is null then w.description else nullif($5, '') end,
        disabled_reason = case $6 when 'enabled' then null when 'disabled' then $8 else w.disabled_reason end,
        position = case when $7::bigint is null then w.position else least($7, l.position) end,
        message_after = case when $7::bigint is null then w.message_after else least($7, l.position) end,
        moves = w.moves + coalesce(least($7, l.position) <> w.position, false)::int,
        message_id = null, message_to = null, attempts = 0, failing_since = null, next_attempt_at = now(), body_limit = null
    from last l cross join set_config('compliance.changed_by', $9, true)
    where w.company_id = $1 and w.id = $2
    returning",
    ""
);

pub(super) const DELETE: &str = "delete from webhooks w using set_config('compliance.changed_by', $3, true)
    where w.company_id = $1 and w.id = $2
    returning w.id";

/// Records that a test message is sent to a webhook.
pub(super) const TEST: &str = with_columns!(
    "update webhooks w set tested_at = now()
    from set_config('compliance.changed_by', $3, true)
    where w.company_id = $1 and w.id = $2
    returning",
    ""
);

/// Replaces the secret by $3. The one before is valid for $4 more seconds, and so are those before it, as said then: who repeats a
/// rotation does not end the secret that the endpoint has. The last $5 are kept.
pub(super) const ROTATE: &str = with_columns!(
    "update webhooks w set
        previous_secrets = (array_prepend(w.secret, w.previous_secrets))[:$5],
        previous_secret_until = (array_prepend(now() + make_interval(secs => $4), shown(w.previous_secret_until)))[:$5],
        secret = $3, secret_rotated_at = now()
    from set_config('compliance.changed_by', $6, true)
    where w.company_id = $1 and w.id = $2
    returning",
    ""
);

/// The last deliveries of a webhook, at most $3; a row without a number if there are none, and no row without the webhook.
pub(super) const DELIVERIES: &str =
    "select d.number, d.message_id, d.after, d.position, d.attempt, d.started_at, d.duration_ms,
        d.http_status, d.error
    from webhooks w left join webhook_deliveries d on d.company_id = $1 and d.webhook_id = $2
    where w.company_id = $1 and w.id = $2
    order by d.number desc
    limit $3";

/// The companies that have webhooks, and how many of these have failed last. On Citus it runs on all nodes.
pub(super) const COMPANIES: &str = "select w.company_id, count(*) filter (where w.attempts > 0)
    from webhooks w
    where w.disabled_reason is null
    group by w.company_id";

/// Of some companies, which are on one node of Citus, webhooks with changes to deliver: those whose last attempt failed or took long, or the
/// others ($2), at most $3. Times are not waited for that lie further ahead than a delivery can say: the next attempt by $4 seconds, the end
/// of the lease by $5.
pub(super) const DUE: &str = "select w.company_id, w.id
    from webhooks w join change_positions p on p.company_id = w.company_id
    where w.company_id = any($1::bigint[]) and w.disabled_reason is null and w.position < p.position and w.is_slow = $2
        and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $4))
        and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $5))
    order by w.next_attempt_at
    limit $3";

/// Leases a webhook for $3 seconds, unless another core has it. Without a message that failed, a new one, $4, begins. Times that lie too far
/// ahead ($5, $6) are not waited for, see [`DUE`].
pub(super) const CLAIM: &str = with_columns!(
    "with last as (
        select p.position from change_positions p where p.company_id = $1
    )
    update webhooks w set
        leased_until = now() + make_interval(secs => $3), deliveries = w.deliveries + 1,
        message_id = coalesce(w.message_id, $4)
    from last l
    where w.company_id = $1 and w.id = $2 and w.disabled_reason is null and w.position < l.position
        and (w.next_attempt_at <= now() or w.next_attempt_at > now() + make_interval(secs => $5))
        and (w.leased_until <= now() or w.leased_until > now() + make_interval(secs => $6))
    returning",
    ""
);

/// Stores that the message $4 of a webhook, leased until $3, ends at the position $5. It comes before the first attempt, so that the
/// others send the same, whatever the limits let them read.
pub(super) const FIX: &str = "update webhooks w set message_to = $5
    where w.company_id = $1 and w.id = $2 and w.leased_until = $3 and w.message_id = $4
    returning w.id";

/// Moves a webhook, leased until $3 for the message $4, to the position $5 without a delivery, past changes of other types or those
/// that are no longer kept ($6). Only the next message after those has an `after` that the endpoint does not know.
pub(super) const PASS: &str = "update webhooks w set
        position = $5, message_after = case when $6 then $5 else w.message_after end, message_id = null, message_to = null,
        attempts = 0, failing_since = null, leased_until = 'epoch'
    where w.company_id = $1 and w.id = $2 and w.leased_until = $3 and w.message_id = $4
    returning w.id";

/// Records an attempt to deliver the message $4 up to the position $5, whether it succeeded ($6), and what is next. After a message that
/// was too large ($18), which had $19 bytes, another one of at most half as many follows. A webhook that was changed meanwhile has no
/// message, so nothing but its lease and `is_slow` ($17) changes. The log keeps the last $16 attempts.
pub(super) const FINISH: &str = "with finished as (
        update webhooks w set
            position = case when w.message_id = $4 and $6 then $5 else w.position end,
            message_after = case when w.message_id = $4 and $6 then $5 else w.message_after end,
            message_id = case when $6 or $18 then null else w.message_id end,
            message_to = case when $6 or $18 then null else w.message_to end,
            attempts = case when w.message_id = $4 and not $6 and not $18 then w.attempts + 1 else 0 end,
            failing_since = case when w.message_id = $4 and not $6 then least(w.failing_since, $12) end,
            next_attempt_at = now() + make_interval(secs => case when w.message_id = $4 then $7 else 0 end),
            disabled_reason = case when w.message_id = $4 then $8 else w.disabled_reason end,
            body_limit = case
                when w.message_id = $4 and $18 then $19 / 2
                when w.message_id = $4 and $6 and w.body_limit < $19 then $19
                else w.body_limit end,
            is_slow = $17, leased_until = 'epoch'
        where w.company_id = $1 and w.id = $2 and w.leased_until = $3
        returning w.id
    ), pruned as (
        delete from webhook_deliveries d where d.company_id = $1 and d.webhook_id = $2 and d.number <= $9 - $16
    ), logged as (
        insert into webhook_deliveries
            (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms, http_status, error)
        select $1, $2, $9, $4, $10, $5, $11, $12, $13, $14, $15 from webhooks w where w.company_id = $1 and w.id = $2
    )
    select id from finished";

/// The first position that a restore has passed over, between $2 and $3. After the last restore nothing is read.
pub(super) const RESTORED: &str =
    "select min(position_before(c.resource, c.operation, c.position, c.ids, c.records)) + 1
    from changes c
    where c.company_id = $1 and c.resource = 0 and c.operation = 2 and cardinality(c.ids) = 1 and c.ids[1] = $1
        and c.position > $2 and c.position <= $3 and $2 < first_position()";

/// Those of one company that are no part of a transaction, with the types of their parameters.
pub(crate) const STATEMENTS: [(&str, &str); 11] = [
    (READ, "bigint, bigint"),
    (UPDATE, "bigint, bigint, text, text[], text, text, bigint, text, text"),
    (DELETE, "bigint, bigint, text"),
    (TEST, "bigint, bigint, text"),
    (ROTATE, "bigint, bigint, text, double precision, integer, text"),
    (DELIVERIES, "bigint, bigint, bigint"),
    (CLAIM, "bigint, bigint, double precision, text, double precision, double precision"),
    (FIX, "bigint, bigint, timestamptz, text, bigint"),
    (RESTORED, "bigint, bigint, bigint"),
    (PASS, "bigint, bigint, timestamptz, text, bigint, boolean"),
    (
        FINISH,
        "bigint, bigint, timestamptz, text, bigint, boolean, double precision, text, bigint, bigint, bigint, timestamptz, bigint, \
         bigint, text, bigint, boolean, boolean, bigint",
    ),
];

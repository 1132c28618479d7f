-- Endpoints that receive the changes of a company. The record of changes is their queue: what is sent is not copied.
create sequence webhooks_id_seq;

create table webhooks (
    company_id bigint not null,
    id bigint not null default nextval('webhooks_id_seq'),
    url text not null,
    types text[] not null, -- of the records whose changes are sent; all if there are none
    description text,
    secret text not null, -- it signs each message, so it is stored as it is
    previous_secrets text[] not null default '{}', -- the last one first
    previous_secret_until timestamptz[] not null default '{}', -- of each of them
    position bigint not null, -- of the last change that was delivered, or passed since it has another type
    message_after bigint not null default 0, -- of the last change that was delivered: the next message follows it
    message_id text, -- of the message that is being delivered
    message_to bigint, -- where it ends, however many changes are made meanwhile; null before its first attempt
    attempts bigint not null default 0, -- of that message, which failed
    failing_since timestamptz,
    is_slow boolean not null default false, -- whether the last attempt failed or took long
    next_attempt_at timestamptz not null default now(),
    leased_until timestamptz not null default 'epoch', -- by the core that delivers to it
    deliveries bigint not null default 0, -- the number of the last one
    disabled_reason text, -- null if it is enabled
    created_at timestamptz not null default now(),
    constraint webhooks_pkey primary key (company_id, id),
    constraint webhooks_company_id_check check (company_id > 0)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

alter sequence webhooks_id_seq owned by webhooks.id;

create table webhook_deliveries (
    company_id bigint not null,
    webhook_id bigint not null,
    number bigint not null,
    message_id text not null,
    after bigint not null,
    position bigint not null,
    attempt bigint not null,
    started_at timestamptz not null,
    duration_ms bigint not null,
    http_status bigint,
    error text,
    constraint webhook_deliveries_pkey primary key (company_id, webhook_id, number),
    constraint webhook_deliveries_webhook_fkey foreign key (company_id, webhook_id)
        references webhooks (company_id, id) on delete cascade
);

-- Incidents grouped for an affiliate.

create sequence compliance_cases_id_seq;
create sequence incidents_id_seq;

create table compliance_cases (
    company_id bigint not null,
    id bigint not null default nextval('compliance_cases_id_seq'),
    affiliate_id bigint not null,
    case_worker text,
    tags text[] not null default '{}',
    case_status_id integer not null default 1, -- New
    sub_status_id integer,
    submitter text,
    notice_status_id integer,
    risk_level_id integer,
    case_country smallint, -- ISO 3166-1 numeric
    sub_affiliate_id text,
    created_date timestamptz not null default date_trunc('second', now()),
    reviewed_date timestamptz,
    resolved_date timestamptz,
    first_action_date timestamptz,
    flagged_date timestamptz,
    follow_up_date timestamptz,
    closed_date timestamptz,
    last_updated_date timestamptz,
    request_id text collate "C", -- what the opener called the request: a retry of it opens no second case
    constraint compliance_cases_pkey primary key (company_id, id) include (case_status_id, created_date),
    constraint compliance_cases_affiliate_fkey foreign key (company_id, affiliate_id)
        references affiliates (company_id, id),
    constraint compliance_cases_company_id_check check (company_id > 0)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);

alter sequence compliance_cases_id_seq owned by compliance_cases.id;

create unique index compliance_cases_request_id_key on compliance_cases (company_id, request_id)
    where request_id is not null;

-- A list reads a page along its sort key. With filters it reads one such order for each combination of their values.
-- With a range of days it may read and sort all matches instead. Everything is checked in the index alone.
create index compliance_cases_created_date_idx
    on compliance_cases (company_id, created_date, id)
    where created_date is not null;
create index compliance_cases_filter_id_idx
    on compliance_cases (company_id, case_status_id, id) include (created_date)
    where case_status_id is not null and id is not null;
create index compliance_cases_filter_created_date_idx
    on compliance_cases (company_id, case_status_id, created_date, id)
    where case_status_id is not null and created_date is not null;
create index compliance_cases_affiliate_idx
    on compliance_cases (company_id, affiliate_id, id) include (case_status_id, created_date)
    where affiliate_id is not null;

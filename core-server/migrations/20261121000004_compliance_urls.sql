-- The web addresses monitored for the company, what was found on them, and what of it is part of a case.

create sequence compliance_urls_id_seq;
create sequence infractions_id_seq;

create table compliance_urls (
    company_id bigint not null,
    id bigint not null default nextval('compliance_urls_id_seq'),
    url text not null, -- as it was sent
    url_hash bytea not null, -- SHA-256 of the normalised URL: of one size, however long the URL
    domain text,
    incident_status_id integer not null default 1, -- New
    disabled boolean not null default false,
    false_positive boolean,
    country smallint, -- ISO 3166-1 numeric
    discovery_date timestamptz not null default date_trunc('second', now()),
    last_review_date timestamptz,
    last_crawl_date timestamptz,
    last_seen timestamptz,
    affiliate_id bigint,
    sub_affiliate_id text,
    owner_email text,
    social_one text,
    social_two text,
    social_three text,
    phone_one text,
    phone_two text,
    landing_page text,
    case_id bigint,
    note text,
    video_path text,
    transcription_text text,
    transcription_status_id integer,
    constraint compliance_urls_pkey primary key (company_id, id)
        include (incident_status_id, disabled, discovery_date),
    constraint compliance_urls_affiliate_fkey foreign key (company_id, affiliate_id)
        references affiliates (company_id, id),
    constraint compliance_urls_case_fkey foreign key (company_id, case_id)
        references compliance_cases (company_id, id),
    constraint compliance_urls_company_id_check check (company_id > 0)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);

alter sequence compliance_urls_id_seq owned by compliance_urls.id;

create unique index compliance_urls_url_key on compliance_urls (company_id, url_hash) where url_hash is not null;

-- A list reads a page along its sort key. With filters it reads one such order for each combination of their values.
-- With a range of days it may read and sort all matches instead. Everything is checked in the index alone. Records without
-- a timestamp follow those that have one, by ID. The condition of such an index holds for every record; a query implies it
-- once it asks for either kind.
create index compliance_urls_discovery_date_idx
    on compliance_urls (company_id, discovery_date, id)
    where discovery_date is not null;
create index compliance_urls_last_review_date_idx
    on compliance_urls (company_id, last_review_date, id) include (incident_status_id, disabled, discovery_date)
    where last_review_date is null or last_review_date is not null;
create index compliance_urls_last_seen_idx
    on compliance_urls (company_id, last_seen, id) include (incident_status_id, disabled, discovery_date)
    where last_seen is null or last_seen is not null;
create index compliance_urls_filter_id_idx
    on compliance_urls (company_id, incident_status_id, disabled, id) include (discovery_date)
    where incident_status_id is not null and id is not null;
create index compliance_urls_filter_discovery_date_idx
    on compliance_urls (company_id, incident_status_id, disabled, discovery_date, id)
    include (last_review_date, last_seen)
    where incident_status_id is not null and discovery_date is not null;
create index compliance_urls_filter_last_review_date_idx
    on compliance_urls (company_id, incident_status_id, disabled, last_review_date, id) include (discovery_date)
    where incident_status_id is not null and (last_review_date is null or last_review_date is not null);
create index compliance_urls_filter_last_seen_idx
    on compliance_urls (company_id, incident_status_id, disabled, last_seen, id) include (discovery_date)
    where incident_status_id is not null and (last_seen is null or last_seen is not null);
create index compliance_urls_affiliate_idx
    on compliance_urls (company_id, affiliate_id, id)
    include (incident_status_id, disabled, discovery_date, last_review_date, last_seen)
    where affiliate_id is not null;
create index compliance_urls_case_idx on compliance_urls (company_id, case_id) where case_id is not null;

create table infractions (
    company_id bigint not null,
    id bigint not null default nextval('infractions_id_seq'),
    url_id bigint not null,
    infraction_type_id integer,
    infraction_name_id integer,
    created_date timestamptz not null default date_trunc('second', now()),
    constraint infractions_pkey primary key (company_id, url_id, id),
    -- An infraction is known by its URL, type and name: recorded again, it is the same.
    constraint infractions_name_key unique nulls not distinct
        (company_id, url_id, infraction_type_id, infraction_name_id),
    constraint infractions_url_fkey foreign key (company_id, url_id)
        references compliance_urls (company_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);

alter sequence infractions_id_seq owned by infractions.id;

create table incidents (
    company_id bigint not null,
    id bigint not null default nextval('incidents_id_seq'),
    case_id bigint not null,
    incident_type smallint not null, -- compliance.v1.IncidentType
    url_id bigint,
    reference text collate "C", -- of other content than a URL: what its finder calls it
    infraction_type_id integer,
    infraction_name_id integer,
    constraint incidents_pkey primary key (company_id, case_id, id),
    -- Content is known by its type and URL or reference: attached again, it is the same incident.
    constraint incidents_content_key unique nulls not distinct
        (company_id, case_id, incident_type, url_id, reference),
    constraint incidents_case_fkey foreign key (company_id, case_id) references compliance_cases (company_id, id),
    constraint incidents_url_fkey foreign key (company_id, url_id) references compliance_urls (company_id, id),
    constraint incidents_type_check check (incident_type between 1 and 4),
    constraint incidents_url_check check ((incident_type = 1) = (url_id is not null))
) with (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);

alter sequence incidents_id_seq owned by incidents.id;

create index incidents_url_idx on incidents (company_id, url_id) where url_id is not null;

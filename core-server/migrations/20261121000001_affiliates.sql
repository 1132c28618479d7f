-- The company's own records of its affiliates.
--
-- Here as everywhere: the company is the first column of every primary, unique and foreign key, so that the schema
-- itself cannot link two companies, and shards by company as it stands.
--
-- Every index except a primary key is partial, on a condition that each comparison with its second column implies. On
-- an empty table all indexes cost the planner the same, and a plan that is cached then lives on while the table grows.
-- A check of a foreign key compares the company and the ID, so the primary key is the only index that it can use; a
-- look-up by another column prefers the partial index, which the planner takes to be smaller.
--
-- Tables that grow are vacuumed and analyzed only after a thousand changes. A table that has never been is planned as
-- if it had ten pages, by its indexes; one that is known to have a single page is scanned, and that plan lives on too.

create sequence affiliates_id_seq;

create table affiliates (
    company_id bigint not null,
    id bigint not null default nextval('affiliates_id_seq'),
    client_affiliate_id text collate "C" not null,
    affiliate_name text collate "C" not null,
    email_one text,
    email_two text,
    phone_one text,
    phone_two text,
    facebook text,
    instagram text,
    youtube text,
    twitter text,
    tiktok text,
    pintrest text,
    country smallint, -- ISO 3166-1 numeric
    first_name text,
    last_name text,
    notes text,
    address text,
    city text,
    state text,
    zip text,
    ranking text,
    replicated_website text,
    sponsor text,
    upline text,
    status text,
    start_date date,
    language_used text,
    territory text,
    entrepreneur_id text,
    entrepreneur_spouse_id text,
    international_distributor text,
    is_territory_director text,
    jv_status text,
    league text,
    territory_master text,
    merchant_type text,
    company_name text,
    sponsor_id text,
    sponsor_email text,
    pay_rank text,
    recognition_rank text,
    constraint affiliates_pkey primary key (company_id, id),
    constraint affiliates_company_id_check check (company_id > 0)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_analyze_threshold = 1000);

alter sequence affiliates_id_seq owned by affiliates.id;

create unique index affiliates_name_key on affiliates (company_id, affiliate_name) where affiliate_name is not null;

-- Cases name their upline, and observations their affiliate, by the client's own identifier.
create index affiliates_client_affiliate_id_idx on affiliates (company_id, client_affiliate_id, id)
    where client_affiliate_id is not null;

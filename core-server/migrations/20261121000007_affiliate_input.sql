-- An affiliate as it is sent to be written: a batch is one array of these rather than an array for each column. The
-- attributes are known by name, and each has the type of the column of its name. A later version adds attributes with
-- `alter type … add attribute`; the version before sends null for those that it does not know.

create type affiliate_input as (
    key bigint, -- the position in the batch of one to be created, the ID of one to be changed
    mask bigint, -- of one to be changed: a bit for each field that is
    client_affiliate_id text collate "C",
    affiliate_name text collate "C",
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
    country smallint,
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
    recognition_rank text
);

-- Items of the batches that internal services write. A batch is one parameter: an array of one of these types. The
-- program writes and the statements read their attributes by name, so the order of the attributes has no meaning.

-- An infraction to be recorded or withdrawn. Within an observation it has no URL of its own.
create type infraction_input as (
    url_id bigint, -- the URL by its ID
    url_hash bytea, -- the URL by its hash, where it has no ID
    infraction_type_id integer,
    infraction_name_id integer,
    created_date timestamptz
);

-- What was observed of a URL. A null value changes nothing.
create type url_observation_input as (
    position bigint, -- new URLs are numbered in this order
    has_values boolean, -- whether there is anything beside the URL and its infractions
    cleared text[], -- columns that become null
    url text,
    url_hash bytea,
    domain text,
    incident_status_id integer,
    disabled boolean,
    false_positive boolean,
    country smallint,
    discovery_date timestamptz,
    last_review_date timestamptz,
    last_crawl_date timestamptz,
    last_seen timestamptz,
    affiliate_id bigint, -- the affiliate by its ID
    client_affiliate_id text collate "C", -- the affiliate by the client's own identifier, where it has no ID
    sub_affiliate_id text,
    owner_email text,
    social_one text,
    social_two text,
    social_three text,
    phone_one text,
    phone_two text,
    landing_page text,
    note text,
    video_path text,
    transcription_text text,
    transcription_status_id integer,
    infractions infraction_input[]
);

-- An incident to be attached to a case.
create type incident_input as (
    incident_type smallint,
    url_id bigint,
    url_hash bytea,
    reference text collate "C",
    infraction_type_id integer,
    infraction_name_id integer
);

-- An incident to be detached from a case, by its ID or by its content.
create type incident_key_input as (
    incident_id bigint,
    incident_type smallint,
    url_id bigint,
    url_hash bytea,
    reference text collate "C"
);

-- A case to be opened, or the changes to one. A null value changes nothing.
create type case_input as (
    request_id text collate "C",
    cleared text[], -- columns that become null; dates among them are not set by the service either
    affiliate_id bigint,
    client_affiliate_id text collate "C",
    case_worker text,
    tags text[],
    case_status_id integer,
    sub_status_id integer,
    submitter text,
    notice_status_id integer,
    risk_level_id integer,
    case_country smallint,
    sub_affiliate_id text,
    created_date timestamptz,
    reviewed_date timestamptz,
    resolved_date timestamptz,
    first_action_date timestamptz,
    flagged_date timestamptz,
    follow_up_date timestamptz,
    closed_date timestamptz,
    last_updated_date timestamptz,
    incidents incident_input[]
);

-- A name to be added to a vocabulary.
create type vocabulary_entry_input as (
    vocabulary smallint,
    name text collate "C",
    parent_id integer, -- of an infraction name: its type, where every company has it
    parent_name text collate "C" -- of an infraction name: its type
);

-- The new value of a column: the one that is given, null if the column is cleared, and otherwise another one.
create function new_value(cleared text[], name text, given anyelement, other anyelement) returns anyelement
    language sql immutable parallel safe
    as $$ select case when given is not null or name = any(cleared) then given else other end $$;

-- Names that a company added to the vocabularies it started with. Those have IDs below 1000, are the same for every
-- company and are part of the program (`compliance_api::catalogue`); a company's own start at 1000.

create table vocabulary_entries (
    company_id bigint not null,
    vocabulary smallint not null,
    id integer not null,
    name text collate "C" not null,
    parent_id integer, -- of an infraction name: its infraction type
    constraint vocabulary_entries_pkey primary key (company_id, vocabulary, id),
    constraint vocabulary_entries_id_check check (id >= 1000),
    constraint vocabulary_entries_company_id_check check (company_id > 0)
);

create unique index vocabulary_entries_name_key on vocabulary_entries (company_id, vocabulary, parent_id, name)
    nulls not distinct where name is not null;

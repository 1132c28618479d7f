-- Notes on a case, which officers write.
alter table compliance_cases add column note text;
alter type case_input add attribute note text;
alter type recorded_compliance_cases add attribute note text;
do $$ begin perform record_changes_of('compliance_cases', 4); end $$;

-- The verdict of a review. A null value changes nothing.
create type url_review_input as (
    has_values boolean, -- whether there is anything beside the infractions
    cleared text[], -- columns that become null
    incident_status_id integer,
    false_positive boolean,
    disabled boolean,
    note text,
    infractions infraction_input[]
);

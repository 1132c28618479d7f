-- A number of each version of what people edit, which callers know as its etag. Statements count it up; an update by hand, or by a
-- version of the program that does not know the column, is counted by the trigger.
alter table affiliates add column revision bigint not null default 1;
alter table compliance_cases add column revision bigint not null default 1;

create function count_revision() returns trigger language plpgsql as $$
begin
    new.revision := old.revision + 1;
    return new;
end
$$;

create trigger affiliates_revised before update on affiliates
    for each row when (new.revision = old.revision) execute function count_revision();
create trigger compliance_cases_revised before update on compliance_cases
    for each row when (new.revision = old.revision) execute function count_revision();

alter type affiliate_input add attribute revisions bigint[]; -- of one to be changed: one of these it must have, if not null

-- A digest of each field that a case was opened with: the field's number, then four bytes. Null: the case was opened before it was
-- stored.
alter table compliance_cases add column opened_with bytea;
alter type case_input add attribute opened_with bytea;

-- Etags that were read after a backup match no version that comes after its restore.
create or replace function count_revision() returns trigger language plpgsql as $$
begin
    new.revision := greatest(old.revision, first_position()) + 1;
    return new;
end
$$;

do $$ begin
    execute format('alter function count_revision set search_path = %I, pg_temp', current_schema());
end $$;

create or replace trigger affiliates_revised before update on affiliates
    for each row when (new.revision = old.revision or new.revision <= first_position()) execute function count_revision();
create or replace trigger compliance_cases_revised before update on compliance_cases
    for each row when (new.revision = old.revision or new.revision <= first_position()) execute function count_revision();

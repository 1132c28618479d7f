-- Etags that were read after a backup match no version that comes after its restore: the next version of a record is past all that it had.
create function skip_lost_revisions() returns trigger language plpgsql as $$
begin
    new.revision := first_position() + 1;
    return new;
end
$$;

do $$ begin
    execute format('alter function skip_lost_revisions set search_path = %I, pg_temp', current_schema());
end $$;

-- By their names, they follow the triggers that count.
create trigger affiliates_revised_after_restore before update on affiliates
    for each row when (new.revision > old.revision and new.revision <= first_position()) execute function skip_lost_revisions();
create trigger compliance_cases_revised_after_restore before update on compliance_cases
    for each row when (new.revision > old.revision and new.revision <= first_position()) execute function skip_lost_revisions();

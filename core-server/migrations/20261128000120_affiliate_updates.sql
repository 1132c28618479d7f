-- Lists of affiliates can be sorted by the time of their last change. It is null for affiliates that have not changed
-- since this migration. The record of changes has the time of each change, so it does not record this column.
alter table affiliates add column last_updated_date timestamptz;
alter table affiliates alter column last_updated_date set default now();

create function set_last_updated() returns trigger language plpgsql as $$
begin
    new.last_updated_date := now();
    return new;
end
$$;

do $$ begin
    execute format('alter function set_last_updated set search_path = %I, pg_temp', current_schema());
end $$;

-- By its name, it follows the triggers that count revisions.
create trigger affiliates_updated before update on affiliates
    for each row when (new.revision > old.revision) execute function set_last_updated();

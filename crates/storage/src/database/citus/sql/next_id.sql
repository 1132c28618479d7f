-- Returns the next ID that was drawn for this statement. On the coordinator, it can also take one from the sequence.
create or replace function next_id(sequence text) returns bigint language plpgsql
set search_path = :schema, pg_temp as $$
declare
    setting text := 'compliance.next_' || sequence;
    id bigint := nullif(current_setting(setting, true), '')::bigint;
begin
    if id is null then
        -- The sequences of other nodes would return IDs that are already in use.
        if exists (select from pg_dist_local_group l where l.groupid <> 0) then
            raise 'no ID of % was drawn for this statement', sequence;
        end if;
        return nextval(sequence::regclass);
    end if;
    perform set_config(setting, (id + 1)::text, true);
    return id;
end
$$

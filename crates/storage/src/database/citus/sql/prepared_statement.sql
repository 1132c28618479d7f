-- Returns the name of the session's prepared statement for the shards of a company, and prepares the statement before its first use.
-- Returns null if the session has prepared too many statements. Also returns null for a function that runs as its owner, because the
-- session's user could have prepared something else under this name.
create or replace function prepared_statement(name text, types text, statement text, company bigint) returns text
language plpgsql set search_path = :schema, pg_temp as $$
declare
    prepared text := name || '_' || get_shard_id_for_distribution_column('affiliates', company);
    setting text := 'compliance.' || prepared;
    count integer;
begin
    if current_user <> session_user then
        return null;
    end if;
    if current_setting(setting, true) = 'prepared' then
        return prepared;
    end if;
    count := coalesce(nullif(current_setting('compliance.prepared', true), ''), '0');
    if count >= :most then
        return null;
    end if;
    begin
        execute format('prepare %I (%s) as ', prepared, types) || format(statement, variadic company_shards(company));
    exception when duplicate_prepared_statement then
        null; -- It was prepared in a transaction that was rolled back.
    end;
    perform set_config('compliance.prepared', (count + 1)::text, false), set_config(setting, 'prepared', false);
    return prepared;
end
$$

-- Runs a statement of one company on the node of its records.
create or replace function :name(:types) returns table (:columns) language plpgsql as $call$
declare
    :variables
begin
    -- The settings that sessions have on plain PostgreSQL, for the plans of this call.
    perform set_config('lock_timeout', :lock_timeout, true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
        set_config('max_parallel_workers_per_gather', '0', true):first_ids;
    perform lock_shard(:company);
    :run
end $call$

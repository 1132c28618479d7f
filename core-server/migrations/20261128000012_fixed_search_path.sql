-- What triggers run finds the tables and types of this schema, whatever the session's `search_path` is: `pg_restore` and careful people
-- set an empty one.
do $$
declare
    definition text; called regprocedure;
begin
    -- Those that become a part of the statements that call them name the schema. With a setting of their own, they would not become one.
    for definition in
        select pg_get_functiondef(oid) from pg_proc
        where pronamespace = current_schema()::regnamespace and proname in ('compliance_url_buckets', 'compliance_case_buckets')
    loop
        execute replace(replace(replace(definition,
            '''::count_dimension', format('''::%I.count_dimension', current_schema())),
            'from compliance_case_buckets(', format('from %I.compliance_case_buckets(', current_schema())),
            ' utc_day(', format(' %I.utc_day(', current_schema()));
    end loop;
    for called in
        select p.oid::regprocedure from pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = current_schema()::regnamespace
            and (l.lanname = 'plpgsql' or p.proname in ('change_columns', 'filled_record', 'change_fields', 'erased_record'))
            and not exists (select from unnest(p.proconfig) setting where setting like 'search\_path=%')
    loop
        execute format('alter function %s set search_path = %I, pg_temp', called, current_schema());
    end loop;
end
$$;

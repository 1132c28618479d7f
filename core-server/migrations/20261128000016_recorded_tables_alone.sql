-- The functions that record changes run as the owner, so they serve the tables of this schema alone: others may make temporary tables, with
-- such a trigger, and would record what never was. A trigger that exists needs no right to execute its function.
do $do$
declare
    recorded text;
begin
    execute replace(pg_get_functiondef('record_changes_of'::regproc), $sql$            if tg_op = 'INSERT' then %s$sql$,
        $sql$            if tg_table_schema <> %2$L then
                raise insufficient_privilege using message = format('changes of %%I.%%I are not recorded', tg_table_schema, tg_table_name);
            end if;
            if tg_op = 'INSERT' then %s$sql$);
    perform record_changes_of(t.recorded, resource)
        from (values
            ('affiliates', 1), ('compliance_urls', 2), ('infractions', 3), ('compliance_cases', 4), ('incidents', 5),
            ('vocabulary_entries', 6)
        ) t (recorded, resource);
    foreach recorded in array array[
        'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries'
    ] loop
        execute format('revoke execute on function record_%s from public', recorded);
    end loop;
end
$do$;

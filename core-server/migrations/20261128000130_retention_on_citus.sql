-- On Citus, retention failed: Citus does not compute `now()` within `case`, and does not read rows without columns.
do $do$
declare
    changed record;
    definition text;
begin
    for changed in
        select * from (values
            ('make_change_months', 'month timestamp; part name;',
                'month timestamp; part name; run_at constant timestamptz := now(); oldest constant timestamptz := now() - interval ''2 days'';'),
            ('make_change_months', 'set last_run_at = now(),', 'set last_run_at = run_at,'),
            ('make_change_months',
                'case when r.last_run_at between now() - interval ''2 days'' and now() then least(r.steady_since, now()) else now() end',
                'case when r.last_run_at between oldest and run_at then least(r.steady_since, run_at) else run_at end'),
            ('drop_change_month', 'not exists (select from changes_default c', 'not exists (select 1 from changes_default c')
        ) t (name, known, text)
    loop
        definition := pg_get_functiondef(changed.name::regproc);
        if strpos(definition, changed.known) = 0 then
            raise exception '% differs from the version that this step knows', changed.name;
        end if;
        execute replace(definition, changed.known, changed.text);
    end loop;
end
$do$;

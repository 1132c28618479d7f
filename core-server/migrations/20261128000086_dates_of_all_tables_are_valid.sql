-- Webhooks and positions are few, and are mended. Of the record of changes nothing is rewritten: if it has such a time, the constraint goes
-- again, so that changes can still be erased.
update webhooks w set id = w.id
where (w.next_attempt_at, w.leased_until, w.created_at) is distinct from
        (nearest_shown(w.next_attempt_at), nearest_shown(w.leased_until), nearest_shown(w.created_at))
    or (w.failing_since, w.secret_rotated_at, w.tested_at, w.previous_secret_until) is distinct from
        (shown(w.failing_since), shown(w.secret_rotated_at), shown(w.tested_at), shown(w.previous_secret_until));
update change_positions p set changed_at = nearest_shown(p.changed_at) where p.changed_at is distinct from nearest_shown(p.changed_at);

do $$
declare
    made record;
begin
    for made in
        select c.conrelid::regclass as of_table, c.conname from pg_constraint c
        where c.connamespace = current_schema()::regnamespace and not c.convalidated and c.contype = 'c'
            and c.conname in (
                'webhooks_dates_check', 'change_positions_dates_check', 'change_drops_dates_check', 'database_identity_dates_check',
                'changes_default_dates_check')
    loop
        begin
            execute format('alter table %s validate constraint %I', made.of_table, made.conname);
        exception when check_violation then
            raise warning 'rows of % violate %', made.of_table, made.conname;
            if made.conname = 'changes_default_dates_check' then
                execute format('alter table %s drop constraint %I', made.of_table, made.conname);
            end if;
        end;
    end loop;
end
$$;

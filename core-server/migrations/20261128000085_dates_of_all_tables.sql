-- Dates that no text of the interface shows (infinite, before the year 1, or after 9999) never keep a record from being changed, and no table
-- takes new ones.

-- The value, or null if no text shows it.
create or replace function shown(instant timestamptz) returns timestamptz language sql immutable parallel safe
    return case when instant >= '0001-01-01 00:00:00Z' and instant < '10000-01-01 00:00:00Z' then instant end;
create or replace function shown(day date) returns date language sql immutable parallel safe
    return case when day between '0001-01-01' and '9999-12-31' then day end;
-- The values, or none if a text does not show one of them.
create or replace function shown(instants timestamptz[]) returns timestamptz[] language sql immutable parallel safe
    return case
        when '0001-01-01 00:00:00Z' <= all (instants) and '10000-01-01 00:00:00Z' > all (instants) then instants
        else '{}'
    end;
-- The nearest value that a text shows.
create or replace function nearest_shown(instant timestamptz) returns timestamptz language sql immutable parallel safe
    return case
        when instant < '0001-01-01 00:00:00Z' then '0001-01-01 00:00:00Z'
        when instant >= '10000-01-01 00:00:00Z' then '9999-12-31 23:59:59Z'
        else instant
    end;

-- The constraints came after some rows. Whoever changes such a row would violate one with a date that stays as it is: the date becomes null, as
-- which it is read, or the nearest one where null is not allowed.
do $$
declare
    mended record; assignments text; condition text;
begin
    for mended in
        select * from (values
            ('affiliates', array['start_date'], array[]::text[]),
            ('compliance_urls', array['last_review_date', 'last_crawl_date', 'last_seen'], array['discovery_date']),
            ('infractions', array[]::text[], array['created_date']),
            ('compliance_cases', array['reviewed_date', 'resolved_date', 'first_action_date', 'flagged_date', 'follow_up_date', 'closed_date',
                'last_updated_date'], array['created_date']),
            ('webhooks', array['failing_since', 'secret_rotated_at', 'tested_at', 'previous_secret_until'],
                array['next_attempt_at', 'leased_until', 'created_at'])
        ) t (of_table, nullable, required)
    loop
        select string_agg(format('    if new.%1$I is not distinct from old.%1$I then new.%1$I := %2$s(new.%1$I); end if;', c.name, c.mend), E'\n'),
            string_agg(format('old.%1$I is distinct from %2$s(old.%1$I)', c.name, c.mend), ' or ')
            into assignments, condition
        from (
            select unnest(mended.nullable) as name, 'shown' as mend
            union all
            select unnest(mended.required), 'nearest_shown'
        ) c;
        execute format(E'create or replace function %I() returns trigger language plpgsql as $mend$\nbegin\n%s\n    return new;\nend\n$mend$',
            'mend_dates_of_' || mended.of_table, assignments);
        execute format('alter function %I set search_path = %I, pg_temp', 'mend_dates_of_' || mended.of_table, current_schema());
        execute format('create trigger dates_are_mended before update on %I for each row when (%s) execute function %I()',
            mended.of_table, condition, 'mend_dates_of_' || mended.of_table);
    end loop;
end
$$;

alter table webhooks
    drop constraint if exists webhooks_dates_check,
    add constraint webhooks_dates_check check (
            next_attempt_at >= '0001-01-01 00:00:00Z' and next_attempt_at < '10000-01-01 00:00:00Z'
            and failing_since >= '0001-01-01 00:00:00Z' and failing_since < '10000-01-01 00:00:00Z'
            and leased_until >= '0001-01-01 00:00:00Z' and leased_until < '10000-01-01 00:00:00Z'
            and created_at >= '0001-01-01 00:00:00Z' and created_at < '10000-01-01 00:00:00Z'
            and secret_rotated_at >= '0001-01-01 00:00:00Z' and secret_rotated_at < '10000-01-01 00:00:00Z'
            and tested_at >= '0001-01-01 00:00:00Z' and tested_at < '10000-01-01 00:00:00Z'
            and '0001-01-01 00:00:00Z' <= all (previous_secret_until) and '10000-01-01 00:00:00Z' > all (previous_secret_until)
        ) not valid;
alter table change_positions
    drop constraint if exists change_positions_dates_check,
    add constraint change_positions_dates_check check (
            changed_at >= '0001-01-01 00:00:00Z' and changed_at < '10000-01-01 00:00:00Z'
        ) not valid;
alter table change_drops
    drop constraint if exists change_drops_dates_check,
    add constraint change_drops_dates_check check (
            dropped_at >= '0001-01-01 00:00:00Z' and dropped_at < '10000-01-01 00:00:00Z'
        ) not valid;
alter table database_identity
    drop constraint if exists database_identity_dates_check,
    add constraint database_identity_dates_check check (
            restored_at >= '0001-01-01 00:00:00Z' and restored_at < '10000-01-01 00:00:00Z'
        ) not valid;
-- The months have bounds.
alter table changes_default
    drop constraint if exists changes_default_dates_check,
    add constraint changes_default_dates_check check (
            changed_at >= '0001-01-01 00:00:00Z' and changed_at < '10000-01-01 00:00:00Z'
        ) not valid;

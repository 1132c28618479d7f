-- A clock that is far ahead makes all changes old. So months are dropped only where the clock has been steady: for a day, each attempt to make and
-- drop months came after the one before, and less than two days later. Otherwise dropping waits for a day of attempts.
alter table change_retention
    add column if not exists last_run_at timestamptz not null default now(),
    add column if not exists steady_since timestamptz not null default now() - interval '1 day';
alter table change_retention
    drop constraint if exists change_retention_dates_check,
    add constraint change_retention_dates_check check (
            set_at >= '0001-01-01 00:00:00Z' and set_at < '10000-01-01 00:00:00Z'
            and last_run_at >= '0001-01-01 00:00:00Z' and last_run_at < '10000-01-01 00:00:00Z'
            and steady_since >= '0001-01-01 00:00:00Z' and steady_since < '10000-01-01 00:00:00Z'
        ) not valid;

-- Makes this month and the next one, and stores when it ran. A month that has changes in the default partition already stays there. It waits for
-- a lock no longer than 40 ms.
create or replace function make_change_months() returns void language plpgsql security definer set lock_timeout = '40ms' as $$
declare
    month timestamp; part name;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance make_change_months')) then
        return;
    end if;
    update change_retention r set last_run_at = now(),
        steady_since = case when r.last_run_at between now() - interval '2 days' and now() then least(r.steady_since, now()) else now() end;
    if to_regclass('changes_default') is null then
        create table changes_default partition of changes default;
        perform leave_to_owner('changes_default', true);
    end if;
    for month in select date_trunc('month', now() at time zone 'UTC') + make_interval(months => n) from generate_series(0, 1) n loop
        part := to_char(month, '"changes_y"YYYY"m"MM');
        if to_regclass(part::text) is null and not exists (
            select 1 from changes_default
            where changed_at >= month at time zone 'UTC' and changed_at < (month + interval '1 month') at time zone 'UTC'
        ) then
            execute format('create table %I (like changes including compression)', part);
            perform leave_to_owner(part::regclass, true);
            execute format('alter table changes attach partition %I for values from (%L) to (%L)', part,
                month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
        end if;
    end loop;
end
$$;

-- Drops the oldest month whose changes are all older than the owner keeps them, or, if there is none, such changes in the default
-- partition, by whole months as well. It fails while the clock is not known to be steady, and waits for a lock no longer than 40 ms.
create or replace function drop_change_month() returns void language plpgsql security definer set lock_timeout = '40ms'
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    part name; days integer; bound timestamptz; others bigint; last_run timestamptz; steady timestamptz; is_steady boolean;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance keep_changes')) then
        return;
    end if;
    select r.days, r.last_run_at, r.steady_since into strict days, last_run, steady from change_retention r;
    is_steady := last_run between now() - interval '2 days' and now() and steady <= now() - interval '1 day';
    bound := now() - make_interval(days => days);
    select c.relname into part from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'changes'::regclass and c.relname ~ '^changes_y[0-9]{4}m[0-9]{2}$'
        and (to_date(substr(c.relname, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC' <= bound
    order by c.relname
    limit 1;
    if not found then
        bound := date_trunc('month', bound at time zone 'UTC') at time zone 'UTC';
        if not exists (select from changes_default c where c.changed_at < bound) then
            return;
        end if;
    end if;
    if not is_steady then
        raise object_not_in_prerequisite_state using message = format(
            'no change is dropped before %s UTC, since retention did not run for two days, or the clock jumped: make sure that the clock is right',
            to_char((greatest(steady, least(last_run, now())) + interval '1 day') at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'));
    end if;
    if part is not null then
        perform record_change_drops(part, 'infinity', bound, days);
        execute format(
            'select count(*) from change_positions p
            cross join lateral (
                select c.position from %I c where c.company_id = p.company_id and c.position > p.dropped_position limit 1
            ) c', part) into others;
        if others > 0 then
            raise object_not_in_prerequisite_state using message = format(
                'the month %s has changes of %s companies that follow changes which are to be kept: it is dropped with those', part, others);
        end if;
        execute format('drop table %I', part);
    else
        perform record_change_drops('changes_default', bound, bound, days);
        delete from changes_default c where c.changed_at < bound and not exists (
            select from change_positions p where p.company_id = c.company_id and p.dropped_position < c.position);
    end if;
    -- Those before them, whose time was wrong.
    delete from changes c using change_drops d
        where d.dropped_at = now() and d.company_id = c.company_id and c.position <= d.position;
end
$$;

-- Cores of before these functions call it. It keeps changes at least as long as the owner says: one that is to keep them longer drops nothing.
-- What cannot be dropped now keeps no month from being made.
create or replace function keep_changes(days integer) returns void language plpgsql security definer set lock_timeout = '40ms' as $$
begin
    begin
        perform make_change_months();
    exception when lock_not_available then
        -- The next call makes them.
    end;
    if days <= (select r.days from change_retention r) then
        begin
            perform drop_change_month();
        exception when lock_not_available or object_not_in_prerequisite_state then
            -- A later call drops it.
        end;
    end if;
end
$$;

do $$
declare
    called regprocedure;
begin
    for called in
        select oid::regprocedure from pg_proc
        where pronamespace = current_schema()::regnamespace and proname in ('make_change_months', 'drop_change_month', 'keep_changes')
    loop
        execute format('alter function %s set search_path = %I, pg_temp', called, current_schema());
    end loop;
end
$$;

-- How long changes are kept is decided by the owner of the schema, and what was dropped is recorded. The service reads both tables and
-- writes neither.

-- One row: changes are kept for so many days, at least.
create table change_retention (
    is_set boolean not null default true,
    days integer not null,
    set_at timestamptz not null default now(),
    set_by text not null default session_user,
    constraint change_retention_pkey primary key (is_set),
    constraint change_retention_is_set_check check (is_set),
    constraint change_retention_days_check check (days between 1 and 36500)
);
insert into change_retention (days) values (90);

-- What was dropped of each company: the changes after `after`, up to `position`. Each row goes on where the one before ended, and the last
-- one ends where the record of changes begins.
create table change_drops (
    company_id bigint not null,
    position bigint not null,
    after bigint not null,
    hash bytea, -- of the last row that was dropped
    changed_at timestamptz, -- of that row
    part text, -- the partition that it was in
    days integer, -- for which changes were kept then; null: dropped before drops were recorded
    dropped_at timestamptz not null,
    dropped_by text not null default session_user,
    program text not null default current_setting('application_name'),
    constraint change_drops_pkey primary key (company_id, position)
);

-- Leaves a table to its owner: others keep no right but to read it, or, of a part of another table, none.
create function leave_to_owner(owned regclass, is_part boolean) returns void language plpgsql as $$
declare
    grantee text;
begin
    for grantee in
        select distinct case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
        from pg_class c cross join lateral aclexplode(c.relacl) a
        where c.oid = owned and a.grantee <> c.relowner
    loop
        execute format('revoke %s on %s from %s',
            case when is_part then 'all' else 'insert, update, delete, truncate, references, trigger' end, owned, grantee);
    end loop;
end
$$;

-- Makes this month and the next one. A month that has changes in the default partition already stays there. It waits for a lock no longer
-- than 40 ms.
create function make_change_months() returns void language plpgsql security definer set lock_timeout = '40ms' as $$
declare
    month timestamp; part name;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance make_change_months')) then
        return;
    end if;
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

-- Records what is dropped of a part: each company's last change before a time is found by key. A change that is to be kept, since it is younger
-- than `bound`, keeps all of its company if older ones follow it: the clock was wrong at one of them. A time that has not come yet is wrong in
-- any case.
create function record_change_drops(part name, before timestamptz, bound timestamptz, days integer) returns void language plpgsql as $$
begin
    -- What was dropped before drops were recorded, of a company that the step after this one has not reached.
    insert into change_drops (company_id, position, after, hash, dropped_at)
    select p.company_id, p.dropped_position, 0, p.dropped_hash, now()
    from change_positions p
    left join change_drops d on d.company_id = p.company_id
    where p.dropped_position > 0 and d.company_id is null;
    execute format(
        'insert into change_drops (company_id, position, after, hash, changed_at, part, days, dropped_at)
        select q.company_id, c.position, q.dropped_position, c.hash, c.changed_at, %1$L, $3, $4
        from change_positions q
        cross join lateral (
            select c.position, c.hash, c.changed_at from %1$I c
            where c.company_id = q.company_id and c.changed_at < $1
            order by c.position desc limit 1
        ) c
        left join lateral (
            select k.position from changes k
            where k.company_id = q.company_id and k.position < c.position and k.changed_at between $2 and $4
            limit 1
        ) k on true
        where c.position > q.dropped_position and k.position is null', part) using before, bound, days, now();
    update change_positions p set dropped_position = d.position, dropped_hash = d.hash
        from change_drops d
        where d.company_id = p.company_id and d.position > p.dropped_position;
end
$$;

-- Drops the oldest month whose changes are all older than the owner keeps them, or, if there is none, such changes in the default
-- partition, by whole months as well. It waits for a lock no longer than 40 ms.
create function drop_change_month() returns void language plpgsql security definer set lock_timeout = '40ms'
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    part name; days integer; bound timestamptz; others bigint;
begin
    if not pg_try_advisory_xact_lock(hashtext('compliance keep_changes')) then
        return;
    end if;
    select r.days into strict days from change_retention r;
    bound := now() - make_interval(days => days);
    select c.relname into part from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'changes'::regclass and c.relname ~ '^changes_y[0-9]{4}m[0-9]{2}$'
        and (to_date(substr(c.relname, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC' <= bound
    order by c.relname
    limit 1;
    if found then
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
        bound := date_trunc('month', bound at time zone 'UTC') at time zone 'UTC';
        if not exists (select from changes_default c where c.changed_at < bound) then
            return;
        end if;
        perform record_change_drops('changes_default', bound, bound, days);
        delete from changes_default c where c.changed_at < bound and not exists (
            select from change_positions p where p.company_id = c.company_id and p.dropped_position < c.position);
    end if;
    -- Those before them, whose time was wrong.
    delete from changes c using change_drops d
        where d.dropped_at = now() and d.company_id = c.company_id and c.position <= d.position;
end
$$;

-- Cores of before this step call it. It keeps changes at least as long as the owner says: one that is to keep them longer drops nothing.
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
        exception when lock_not_available then
            -- The next call drops it.
        end;
    end if;
end
$$;

do $$
declare
    owned regclass; called regprocedure;
begin
    for called in
        select oid::regprocedure from pg_proc
        where pronamespace = current_schema()::regnamespace
            and proname in ('leave_to_owner', 'make_change_months', 'record_change_drops', 'drop_change_month', 'keep_changes')
    loop
        execute format('alter function %s set search_path = %I, pg_temp', called, current_schema());
        execute format('revoke execute on function %s from public', called);
    end loop;
    foreach owned in array array['change_retention', 'change_drops']::regclass[] loop
        perform leave_to_owner(owned, false);
    end loop;
    for owned in select inhrelid::regclass from pg_inherits where inhparent = 'changes'::regclass loop
        perform leave_to_owner(owned, true);
    end loop;
end
$$;

-- A backup that was restored, or a fail-over that lost something: positions and IDs jump ahead, past all that was handed out since.
--
-- In the record of a company, the jump is an entry: of the resource 0, which is the company, and the operation 2, with the position before
-- and after. It is a part of the chain, and goes when its month goes. No change has a position between the two.
--
-- By 2^40 each time, positions and IDs reach 2^53 after 8,191 restores. IDs of vocabularies are integers, and jump by 2^20, 2,046 times.
create table database_identity (
    is_only boolean not null default true,
    identity text not null, -- under which it was served last; see `current_identity`
    restores bigint not null default 0,
    restored_at timestamptz,
    constraint database_identity_pkey primary key (is_only),
    constraint database_identity_is_only_check check (is_only)
);

-- How far positions jump: with a million changes a second, they get there in twelve days.
create function restore_distance() returns bigint language sql immutable parallel safe as 'select 1::bigint << 40';

-- The position before the first change of a company that has none yet. Each restore replaces this function, since companies may be lost of
-- which nothing is known.
create function first_position() returns bigint language sql stable parallel safe as 'select 0::bigint';

-- The position before the entries of a row of `changes`.
create function position_before(resource smallint, operation smallint, "position" bigint, ids bigint[], records text[])
returns bigint language sql immutable parallel safe as $$
    select coalesce(
        case when resource = 0 and operation = 2 then substring(records[1] from '^,"position":\[(\d{1,16}),\d{1,16}\]$')::bigint end,
        "position" - cardinality(ids))
$$;

-- What tells a database from a copy of it that is served elsewhere or later: the cluster, the timeline, which a standby begins when it is
-- promoted and a recovery when it ends, and the numbers of the database and of a table, which a dump that is restored has others of. Null
-- on a standby.
create function current_identity() returns text language plpgsql as $$
declare
    cluster text := 'unknown';
begin
    if pg_is_in_recovery() then
        return null;
    end if;
    begin
        cluster := (select system_identifier from pg_control_system());
    exception when insufficient_privilege then
        -- Some providers keep that to themselves.
    end;
    return concat_ws(' ', cluster, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
        (select d.oid from pg_database d where d.datname = current_database()), 'change_positions'::regclass::oid);
end
$$;

-- The sequences of IDs, with their columns and the most that these hold.
create function id_sequences() returns table (id_sequence regclass, of_table regclass, of_column name, most bigint)
language sql stable as $$
    select c.oid::regclass, t.oid::regclass, a.attname, least(q.seqmax, (1::bigint << 53) - 1)
    from pg_class c
    join pg_sequence q on q.seqrelid = c.oid
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refclassid = 'pg_class'::regclass
        and d.refobjsubid > 0 and d.deptype in ('a', 'i')
    join pg_class t on t.oid = d.refobjid
    join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where c.relnamespace = (select p.relnamespace from pg_class p where p.oid = 'change_positions'::regclass)
    order by c.relname
$$;

-- Where a sequence of IDs is, and the greatest ID of its column.
create function id_reached(id_sequence regclass, of_table regclass, of_column name, out last_id bigint, out greatest_id bigint)
language plpgsql as $$
begin
    execute format('select case when s.is_called then s.last_value else s.last_value - 1 end, (select coalesce(max(%I), 0) from %s) from %s s',
        of_column, of_table, id_sequence) into last_id, greatest_id;
end
$$;

-- Lets the positions of all companies and all IDs jump ahead. Called again, it does so again. Only the owner can.
create function jump_ahead() returns table (kind text, name text, before bigint, after bigint) language plpgsql as $$
declare
    distance constant bigint := restore_distance();
    number bigint; company bigint := 0; kept bigint; r record; entry change_entry;
begin
    insert into database_identity (identity) values (current_identity()) on conflict do nothing;
    -- Another call waits here.
    update database_identity i
    set identity = current_identity(), restores = greatest(i.restores, first_position() / distance) + 1, restored_at = clock_timestamp()
    returning i.restores into number;
    execute format('create or replace function first_position() returns bigint language sql stable parallel safe as %L',
        format('select %s::bigint', number * distance));
    for r in select s.*, t.* from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) t loop
        kind := 'sequence';
        name := r.id_sequence::text;
        before := greatest(r.last_id, r.greatest_id);
        after := before + least(distance, (r.most + 1) >> 11);
        if after > r.most then
            raise numeric_value_out_of_range using message = format('%s cannot jump ahead: its IDs end at %s', name, r.most);
        end if;
        perform setval(r.id_sequence, after);
        return next;
    end loop;
    -- Receivers know positions of a company whose first changes are lost.
    insert into change_positions (company_id, position, changed_at)
    select distinct w.company_id, 0, clock_timestamp() from webhooks w
    on conflict on constraint change_positions_pkey do nothing;
    loop
        -- One after the other, in their order, as writers lock them.
        company := (select min(n.company_id) from (
            select p.company_id from change_positions p where p.company_id > company order by p.company_id limit 1
        ) n);
        exit when company is null;
        -- The entry is the last position of the jump.
        update change_positions p set position = p.position + distance - 1 where p.company_id = company
        returning p.position - distance + 1 into kept;
        kind := 'company';
        name := company::text;
        before := kept;
        after := kept + distance;
        if after >= 1::bigint << 53 then
            raise numeric_value_out_of_range using message = format('positions of company %s cannot jump ahead: they end at 2^53', name);
        end if;
        entry := jsonb_populate_record(null::change_entry, jsonb_build_object('company_id', company, 'resource', 0, 'columns', 0, 'operation', 2,
            'ids', jsonb_build_array(company), 'records', jsonb_build_array(format(',"position":[%s,%s]', before, after)),
            'changed_by', '[null, "compliance restored"]'::jsonb, 'key', gen_random_uuid()));
        perform record_changes(array[entry]) from change_positions p where p.company_id = company;
        return next;
    end loop;
    -- A message that has an ID may have been received with other changes.
    update webhooks w set message_id = null, message_to = null where w.message_id is not null;
end
$$;

-- Whether the database is served under the same identity as the last time.
create function is_database_known() returns boolean language plpgsql security definer as $$
begin
    return exists (select from database_identity i where i.identity = current_identity());
end
$$;

-- Lets them jump ahead if the database is served under another identity than the last time. Returns whether it did.
create function notice_restore() returns boolean language plpgsql security definer as $$
begin
    perform from database_identity i where i.identity = current_identity();
    if found then
        return false;
    end if;
    -- A database is served for the first time, or another process is here, too.
    insert into database_identity (identity) values (current_identity()) on conflict do nothing;
    perform from database_identity i for update;
    perform from database_identity i where i.identity = current_identity();
    if found then
        return false;
    end if;
    perform from jump_ahead();
    return true;
end
$$;

-- Lets the sequences of IDs of a table go on after the greatest of them, as after a copy of the records alone. Returns whether one was behind.
create function advance_ids(of_table text) returns boolean language plpgsql security definer as $$
declare
    r record; has_advanced boolean := false;
begin
    perform pg_advisory_xact_lock(hashtext('compliance advance_ids'), 1);
    for r in select s.*, t.* from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) t
        where s.of_table = advance_ids.of_table::regclass and t.last_id < t.greatest_id loop
        perform setval(r.id_sequence, r.greatest_id);
        has_advanced := true;
    end loop;
    return has_advanced;
end
$$;

do $$
declare
    of_owner text;
begin
    -- Nobody else's objects can shadow the tables.
    foreach of_owner in array array['current_identity', 'id_sequences', 'id_reached', 'jump_ahead', 'is_database_known', 'notice_restore',
        'advance_ids'
    ] loop
        execute format('alter function %I set search_path = %I, pg_temp', of_owner, current_schema());
    end loop;
end
$$;

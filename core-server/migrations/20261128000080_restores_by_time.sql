-- Two jumps differ although the second one knows nothing of the first: a backup can be restored twice, and two standbys can take over one
-- after the other. So a jump goes to a position that depends on the time alone, for all companies: 2^22 for each second since 2020. What was
-- given out before is below it, unless a company had four million changes in each second since the jump before. Positions and IDs reach
-- 2^53 in 2088. IDs of vocabularies, which are integers, go on after the number of the second itself.
create or replace function restore_distance() returns bigint language sql immutable parallel safe as 'select 1::bigint << 22';

-- Sequences that somebody else has in the schema, or has added to a table, are not ours.
create or replace function id_sequences() returns table (id_sequence regclass, of_table regclass, of_column name, most bigint)
language sql stable as $$
    select c.oid::regclass, t.oid::regclass, a.attname, least(q.seqmax, (1::bigint << 53) - 1)
    from pg_class t
    join pg_attribute a on a.attrelid = t.oid and a.attname = 'id'
    join pg_depend d on d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid
        and d.refobjsubid = a.attnum and d.deptype in ('a', 'i')
    join pg_class c on c.oid = d.objid
    join pg_sequence q on q.seqrelid = c.oid
    where t.relnamespace = (select p.relnamespace from pg_class p where p.oid = 'change_positions'::regclass)
        and t.relname in ('affiliates', 'compliance_cases', 'compliance_urls', 'incidents', 'infractions', 'vocabulary_entries', 'webhooks')
    order by c.relname
$$;

-- Where a sequence of IDs is, and the greatest ID of its column. A sequence does not follow an ID of the last part of all: somebody has put
-- it there, and hardly any would be left after it.
create or replace function id_reached(id_sequence regclass, of_table regclass, of_column name, out last_id bigint, out greatest_id bigint)
language plpgsql as $$
declare
    most constant bigint := (select least(q.seqmax, (1::bigint << 53) - 1) from pg_sequence q where q.seqrelid = id_sequence);
begin
    execute format('select case when s.is_called then s.last_value else s.last_value - 1 end,
        (select coalesce(max(t.%1$I), 0) from %2$s t where t.%1$I <= $1) from %3$s s', of_column, of_table, id_sequence)
        into last_id, greatest_id using most - (most >> 11);
end
$$;

-- Lets the positions of all companies and all IDs jump ahead. Called again, it does so again. Only the owner can.
create or replace function jump_ahead() returns table (kind text, name text, before bigint, after bigint) language plpgsql as $$
declare
    distance constant bigint := restore_distance();
    number bigint; target bigint; company bigint := 0; kept bigint; r record; entry change_entry; is_ready boolean;
begin
    -- Another call waits here.
    lock table database_identity in share row exclusive mode;
    -- The clock may be behind that of the server before.
    number := greatest(
        floor(extract(epoch from clock_timestamp() - timestamptz '2020-01-01 00:00:00Z')),
        first_position() / distance + 1,
        (select coalesce(max(p.position), 0) from change_positions p) / distance + 1);
    target := number * distance;
    if number >= (1::bigint << 53) / distance then
        raise numeric_value_out_of_range using message = format(
            'positions cannot jump ahead to %s: they end at 2^53. The clock of the database''s server says %s', target, clock_timestamp());
    end if;
    -- There are several rows if a service wrote one while a restore had not made the key yet.
    select coalesce(max(i.restores), 0) + 1 as restores into r from database_identity i;
    delete from database_identity;
    insert into database_identity (identity, restores, restored_at) values (current_identity(), r.restores, clock_timestamp());
    execute format('create or replace function first_position() returns bigint language sql stable parallel safe as %L',
        format('select %s::bigint', target));
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
        select p.position into kept from change_positions p where p.company_id = company for update;
        -- The entry is the last position of the jump.
        update change_positions p set position = target - 1 where p.company_id = company;
        kind := 'company';
        name := company::text;
        before := kept;
        after := target;
        entry := jsonb_populate_record(null::change_entry, jsonb_build_object('company_id', company, 'resource', 0, 'columns', 0, 'operation', 2,
            'ids', jsonb_build_array(company), 'records', jsonb_build_array(format(',"position":[%s,%s]', before, after)),
            'changed_by', '[null, "compliance restored"]'::jsonb, 'key', gen_random_uuid()));
        perform record_changes(array[entry]) from change_positions p where p.company_id = company;
        return next;
    end loop;
    -- A message that has an ID may have been received with other changes.
    update webhooks w set message_id = null, message_to = null where w.message_id is not null;
    -- A sequence is not set back if something fails, so all are checked before the first one is set.
    foreach is_ready in array array[false, true] loop
        for r in select s.*, t.* from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) t loop
            kind := 'sequence';
            name := r.id_sequence::text;
            before := greatest(r.last_id, r.greatest_id);
            after := number * ((r.most + 1) >> 31);
            if after <= before then
                after := before + 1 + (r.most >> 16);
            end if;
            if after > r.most then
                raise numeric_value_out_of_range using message = format('%s cannot jump ahead from %s: its IDs end at %s', name, before, r.most);
            end if;
            if is_ready then
                perform setval(r.id_sequence, after);
                return next;
            end if;
        end loop;
    end loop;
end
$$;

-- Whether the database is served under the same identity as the last time.
create or replace function is_database_known() returns boolean language plpgsql security definer as $$
begin
    return (select coalesce(bool_and(i.identity = current_identity()), false) from database_identity i);
end
$$;

-- Lets them jump ahead if the database is served under another identity than the last time. Returns whether it did.
create or replace function notice_restore() returns boolean language plpgsql security definer as $$
begin
    if is_database_known() then
        return false;
    end if;
    -- Another process may be here, too.
    lock table database_identity in share row exclusive mode;
    if is_database_known() then
        return false;
    end if;
    if not exists (select from database_identity)
        or not exists (select from pg_constraint c where c.conrelid = 'database_identity'::regclass and c.contype = 'p') then
        raise object_not_in_prerequisite_state using message = 'the database is not restored completely: database_identity has no row, or no key';
    end if;
    perform from jump_ahead();
    return true;
end
$$;

do $$
declare
    of_owner text;
begin
    foreach of_owner in array array['id_sequences', 'id_reached', 'jump_ahead', 'is_database_known', 'notice_restore'] loop
        execute format('alter function %I set search_path = %I, pg_temp', of_owner, current_schema());
    end loop;
end
$$;

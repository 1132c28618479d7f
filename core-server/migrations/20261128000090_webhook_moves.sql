-- That a webhook was put to another position is a part of the record of changes, and so is a secret that was replaced by hand.
alter table webhooks
    add column moves bigint not null default 0; -- how often a request has changed the position

create or replace function record_webhook() returns trigger language plpgsql security definer as $$
declare
    before jsonb; after jsonb; fields text;
    is_moved boolean := true;
    is_replaced boolean := false;
begin
    -- Others may make temporary tables with such a trigger.
    if tg_table_schema <> current_schema() then
        raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
    end if;
    if tg_op = 'UPDATE' then
        -- Deliveries move it forward.
        is_moved := old.moves <> new.moves or new.position < old.position;
        is_replaced := old.secret <> new.secret and old.secret_rotated_at is not distinct from new.secret_rotated_at;
    end if;
    if tg_op <> 'INSERT' then
        before := jsonb_build_object('url', old.url, 'types', old.types, 'description', old.description,
            'status', case when old.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', old.disabled_reason, 'secret_rotated_at', old.secret_rotated_at, 'tested_at', old.tested_at,
            'position', case when is_moved then old.position end);
    end if;
    if tg_op <> 'DELETE' then
        after := jsonb_build_object('url', new.url, 'types', new.types, 'description', new.description,
            'status', case when new.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', new.disabled_reason, 'secret_rotated_at', new.secret_rotated_at, 'tested_at', new.tested_at,
            'position', case when is_moved then new.position end, 'secret', case when is_replaced then 'replaced' end);
    end if;
    select string_agg(',' || to_json(f.name) || ':' || json_build_array(f.before, f.after), '' order by f.name) into fields
    from (
        select name, nullif(before -> name, 'null') as before, nullif(after -> name, 'null') as after
        from jsonb_object_keys(coalesce(after, before)) name
    ) f
    where f.before is distinct from f.after;
    if fields is not null then
        perform record_changes(array[row(
            coalesce(new.company_id, old.company_id), 7, 0, 2, array[coalesce(new.id, old.id)], array[fields],
            nullif(current_setting('compliance.changed_by', true), '')::jsonb, gen_random_uuid()
        )::change_entry]);
    end if;
    return null;
end
$$;

do $$ begin
    execute format('alter function record_webhook set search_path = %I, pg_temp', current_schema());
end $$;

drop trigger a_record_updated on webhooks;
-- What deliveries update often does not call the function.
create trigger a_record_updated
    after update of url, types, description, disabled_reason, secret_rotated_at, tested_at, moves, position, secret on webhooks
    for each row when (new.position < old.position
        or (old.url, old.types, old.description, old.disabled_reason, old.secret_rotated_at, old.tested_at, old.moves, old.secret)
            is distinct from
            (new.url, new.types, new.description, new.disabled_reason, new.secret_rotated_at, new.tested_at, new.moves, new.secret))
    execute function record_webhook();

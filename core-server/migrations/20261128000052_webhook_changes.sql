-- Who created, changed, rotated, tested and deleted a webhook is a part of the record of changes. Secrets never are, and neither is what
-- deliveries store.
alter table webhooks
    add column secret_rotated_at timestamptz, -- the last time
    add column tested_at timestamptz; -- the last time

-- Entries of webhooks, the resource 7, have the form of updates, also those of new and deleted ones, which have no `status` before or
-- after. A service of an older version can read them so, and they need no type of their own.
create function record_webhook() returns trigger language plpgsql security definer as $$
declare
    before jsonb; after jsonb; fields text;
begin
    -- Others may make temporary tables with such a trigger.
    if tg_table_schema <> current_schema() then
        raise insufficient_privilege using message = format('changes of %I.%I are not recorded', tg_table_schema, tg_table_name);
    end if;
    if tg_op <> 'INSERT' then
        before := jsonb_build_object('url', old.url, 'types', old.types, 'description', old.description,
            'status', case when old.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', old.disabled_reason, 'secret_rotated_at', old.secret_rotated_at, 'tested_at', old.tested_at);
    end if;
    if tg_op <> 'DELETE' then
        after := jsonb_build_object('url', new.url, 'types', new.types, 'description', new.description,
            'status', case when new.disabled_reason is null then 'enabled' else 'disabled' end,
            'disabled_reason', new.disabled_reason, 'secret_rotated_at', new.secret_rotated_at, 'tested_at', new.tested_at);
    end if;
    select string_agg(',' || to_json(f.name) || ':' || json_build_array(f.before, f.after), '' order by f.name) into fields
    from (
        select name, nullif(before -> name, 'null') as before, nullif(after -> name, 'null') as after
        from jsonb_object_keys(coalesce(after, before)) name
    ) f
    where f.before is distinct from f.after;
    perform record_changes(array[row(
        coalesce(new.company_id, old.company_id), 7, 0, 2, array[coalesce(new.id, old.id)], array[fields],
        nullif(current_setting('compliance.changed_by', true), '')::jsonb, gen_random_uuid()
    )::change_entry]);
    return null;
end
$$;

do $$ begin
    execute format('alter function record_webhook set search_path = %I, pg_temp', current_schema());
    revoke execute on function record_webhook from public;
end $$;

create trigger a_record_inserted after insert on webhooks for each row execute function record_webhook();
create trigger a_record_deleted after delete on webhooks for each row execute function record_webhook();
-- What deliveries update often does not call the function.
create trigger a_record_updated after update of url, types, description, disabled_reason, secret_rotated_at, tested_at on webhooks
    for each row when ((old.url, old.types, old.description, old.disabled_reason, old.secret_rotated_at, old.tested_at)
        is distinct from (new.url, new.types, new.description, new.disabled_reason, new.secret_rotated_at, new.tested_at))
    execute function record_webhook();

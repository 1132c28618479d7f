-- A released name is not recorded, so no transaction may commit one; see 20261128000040. The trigger is called for released names alone.
create function refuse_released_name() returns trigger language plpgsql as $$
declare
    is_released boolean;
begin
    if tg_table_name = 'affiliates' then
        select a.affiliate_name = new.affiliate_name into is_released
        from affiliates a where a.company_id = new.company_id and a.id = new.id;
    else
        -- A shard, on Citus.
        execute format('select a.affiliate_name = $3 from %s a where a.company_id = $1 and a.id = $2', tg_relid::regclass)
            into is_released using new.company_id, new.id, new.affiliate_name;
    end if;
    if is_released then
        raise restrict_violation using
            message = format('affiliate %s of company %s has a released name at the end of the transaction', new.id, new.company_id),
            hint = 'Give the affiliate a name in the same transaction: until then, the change is not recorded.';
    end if;
    return null;
end
$$;

do $$ begin
    execute format('alter function refuse_released_name set search_path = %I, pg_temp', current_schema());
end $$;

create constraint trigger released_name_is_replaced after insert or update of affiliate_name on affiliates
    deferrable initially deferred for each row when (starts_with(new.affiliate_name, repeat('.', 200) || ':'))
    execute function refuse_released_name();

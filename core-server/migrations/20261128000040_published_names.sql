-- Affiliates that pass on their names release them first, since a unique index is checked row by row. A name that is released is one that
-- no caller can give, because it is too long, and ends with the name that the affiliate had. Until the transaction gives it another one,
-- that is its name for all who read what is recorded: so a swap is recorded as one change, from the old name to the new one.
create function published_name(name text) returns text language sql immutable parallel safe as $$
    select case when starts_with(name, repeat('.', 200) || ':') then substr(name, 202) else name end
$$;

-- A released name is not a version of the affiliate.
create or replace function count_revision() returns trigger language plpgsql as $$
begin
    -- Only affiliates have a name.
    if tg_table_name like 'affiliates%' then
        if published_name(new.affiliate_name) <> new.affiliate_name then
            return new;
        end if;
    end if;
    new.revision := old.revision + 1;
    return new;
end
$$;

-- The value of a column, as SQL, that is recorded of an update. `affiliates` alone has a column of this name.
create function published_value(alias text, "column" name) returns text language sql immutable as $$
    select format(case "column" when 'affiliate_name' then 'published_name(%I.%I)' else '%I.%I' end, alias, "column")
$$;

do $do$
declare
    definition text := pg_get_functiondef('record_changes_of'::regproc);
    changed text := replace(definition,
        $$case when o.%1$I is distinct from n.%1$I then ',"%1$s":' || json_build_array(o.%1$I, n.%1$I) end$sql$, attname)$$,
        $$case when %2$s is distinct from %3$s then ',"%1$s":' || json_build_array(%2$s, %3$s) end$sql$, attname,
                published_value('o', attname), published_value('n', attname))$$);
begin
    if changed = definition then
        raise exception 'record_changes_of is another one than this step knows';
    end if;
    execute changed;
    execute format('alter function count_revision set search_path = %I, pg_temp', current_schema());
    perform record_changes_of('affiliates', 1);
end
$do$;

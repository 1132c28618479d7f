-- A change names a record by its company and ID, so neither changes: a record with another one is another record.
create function refuse_new_key() returns trigger language plpgsql as $$
begin
    raise restrict_violation using
        message = format('the company and the ID of a row of %s never change', tg_table_name),
        hint = 'Insert a new row, let other rows refer to it, and delete the old one: each of these changes is recorded.';
end
$$;

do $$
declare
    recorded text;
begin
    execute format('alter function refuse_new_key set search_path = %I, pg_temp', current_schema());
    foreach recorded in array array[
        'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries', 'webhooks'
    ] loop
        execute format('create trigger key_is_kept before update of company_id, id on %I for each row
            when (old.company_id <> new.company_id or old.id <> new.id) execute function refuse_new_key()', recorded);
    end loop;
end
$$;

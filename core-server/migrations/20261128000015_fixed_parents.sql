-- Nor does an infraction move to another URL, or an incident to another case: the state of the other one before could not be read.
do $do$
begin
    execute format($sql$
        create or replace function refuse_new_key() returns trigger language plpgsql set search_path = %1$I, pg_temp as $function$
        begin
            raise restrict_violation using
                message = case
                    when tg_nargs = 0 then format('the company and the ID of a row of %%s never change', tg_table_name)
                    else format('%%s of a row of %%s never changes', tg_argv[0], tg_table_name) end,
                hint = 'Insert a new row, let other rows refer to it, and delete the old one: each of these changes is recorded.';
        end
        $function$$sql$, current_schema());
    -- An older core looks in it for `company_shards` on Citus, where `write_changes` names the shards now.
    execute format($sql$
        create or replace function record_changes(entries change_entry[]) returns void language plpgsql
        set search_path = %1$I, pg_temp as $function$
        begin
            -- write_changes names the company_shards.
            perform write_changes(array(select row(e.*, null)::change_row from unnest(entries) e));
        end
        $function$$sql$, current_schema());
end
$do$;

create trigger parent_is_kept before update of url_id on infractions for each row
    when (old.url_id <> new.url_id) execute function refuse_new_key('url_id');
create trigger parent_is_kept before update of case_id on incidents for each row
    when (old.case_id <> new.case_id) execute function refuse_new_key('case_id');

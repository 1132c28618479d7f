-- The key of some tables has more than the company and the ID. An update compares rows that have the whole key in common, since rows that were
-- written by hand may share an ID, and a vocabulary entry stays in its vocabulary.
create trigger vocabulary_is_kept before update of vocabulary on vocabulary_entries for each row
    when (old.vocabulary <> new.vocabulary) execute function refuse_new_key('vocabulary');

do $do$
declare
    definition text := pg_get_functiondef('record_changes_of'::regproc);
    known constant text[] := array[
        $$parent_of text := '';$$,
        $$n on n.company_id = o.company_id and n.id = o.id offset 0$$,
        $$format(updated, changed, parent_of_updated)$$];
    changed constant text[] := array[
        $$parent_of text := '';
    same_key text := (
        select string_agg(format('n.%1$I = o.%1$I', a.attname), ' and ' order by a.attnum)
        from pg_constraint p join pg_attribute a on a.attrelid = p.conrelid and a.attnum = any(p.conkey)
        where p.conrelid = recorded::regclass and p.contype = 'p');$$,
        $$n on %s offset 0$$,
        $$format(updated, changed, parent_of_updated, same_key)$$];
begin
    for part in 1..3 loop
        if strpos(definition, known[part]) = 0 then
            raise exception 'record_changes_of differs from the version that this step knows';
        end if;
        definition := replace(definition, known[part], changed[part]);
    end loop;
    execute definition;
    perform record_changes_of(recorded, resource)
        from (values ('infractions', 3), ('incidents', 5), ('vocabulary_entries', 6)) t (recorded, resource);
end
$do$;

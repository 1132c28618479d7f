-- Rows that were recorded before columns had names have all columns of the table. If it had one of somebody else's, after ours, it is left out
-- where they are read: the rows stay as they are, since hashes cover them. Nothing is slower where no table has had such a column.
do $do$
declare
    field constant text := '(?:"(?:[^"\\]|\\.|"")*"|[^,"()]*)';
begin
    if exists (
        select from unnest(array[
            'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries'
        ]) recorded
        where (select max(attnum) from pg_attribute where attrelid = recorded::regclass)
            > (select max(attnum) from pg_attribute where attrelid = format('recorded_%s', recorded)::regclass)
    ) then
        execute format($sql$
            create or replace function filled_record(resource smallint, columns smallint, operation smallint, record text) returns text
            language sql stable set search_path = %I, pg_temp as $function$
                select case when operation = 2 then record else coalesce(
                    substring(record from format('^\(%%s(?:,%%1$s){%%s}', %L, now - 1)),
                    left(record, -1) || repeat(',', now - columns)
                ) || ')' end
                from change_columns(resource) now
            $function$$sql$, current_schema(), field);
    end if;
end
$do$;

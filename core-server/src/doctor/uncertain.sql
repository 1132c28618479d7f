-- Constraints of the service that some rows can violate. Excludes constraints and tables of operators.
select c.conrelid::regclass::text, c.conname::text, pg_get_expr(c.conbin, c.conrelid), exists (
    select from pg_attribute a where a.attrelid = c.conrelid and a.attname = 'id')
from pg_constraint c
where c.contype = 'c' and not c.convalidated and c.connamespace = current_schema()::regnamespace
    and exists (
        select from pg_attribute a where a.attrelid = c.conrelid and a.attname = 'company_id' and not a.attisdropped)
    and c.conname in (
        select format('%s_%s_check', t.relname, kind) from pg_class t cross join unnest(array['dates', 'id']) kind
        where t.oid = c.conrelid)
order by 1, 2

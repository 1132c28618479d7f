-- The rights of `grants.sql` that the connection's role lacks. Partitions are used through their tables, so they need no rights.
with own as (select relnamespace as schema, relowner as owner from pg_class where oid = to_regclass('_sqlx_migrations'))
select format('%s on %s', lower(privilege), c.oid::regclass) as missing
from own, pg_class c, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as privilege
where c.relnamespace = schema and c.relowner = owner and c.relkind in ('r', 'p') and not c.relispartition
    and (privilege = 'SELECT' or c.relname <> all($1)) and not has_table_privilege(c.oid, privilege)
union all
select format('%s on %s', lower(privilege), c.oid::regclass)
from own, pg_class c, unnest(array['USAGE', 'SELECT']) as privilege
where c.relnamespace = schema and c.relowner = owner and c.relkind = 'S' and not has_sequence_privilege(c.oid, privilege)
union all
select format('execute on %s', p.oid::regprocedure)
from own, pg_proc p
where p.pronamespace = schema and p.proowner = owner and (not p.prosecdef or p.proname = any($2))
    and not has_function_privilege(p.oid, 'EXECUTE')
order by missing

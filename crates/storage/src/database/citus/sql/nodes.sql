-- Asks each node for its version, and for functions and types of the schema that it lacks. The first node names them in the statement.
-- Excludes the functions of statements, whose parameters can have types that the node lacks. The service's role owns nothing, and needs a
-- `lock_timeout`.
select format('%s:%s', n.nodename, n.nodeport) as node, n.isactive and n.metadatasynced as active,
    r.success is true as responds, coalesce(r.result, 'no response') as result
from pg_dist_node n
left join run_command_on_all_nodes((
    select format(
        $$select concat_ws(E'\n',
            format('Citus %%s on PostgreSQL %%s', extversion, current_setting('server_version')),
            (select string_agg(name, E'\n') from unnest(%L::text[]) name where to_regprocedure(name) is null),
            (select string_agg(name, E'\n') from unnest(%L::text[]) name where to_regtype(name) is null),
            (select format('a lock_timeout of %%s', current_user) from pg_class where oid = to_regclass('affiliates')
                and current_setting('lock_timeout') = '0' and not pg_has_role(relowner, 'usage')))
        from pg_extension where extname = 'citus'$$,
        array(select format('%I.%s', current_schema(), p.oid::regprocedure) from pg_proc p
            where p.pronamespace = current_schema()::regnamespace and not starts_with(p.proname, 'call_') and not exists (
                select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')),
        array(select format('%I.%s', current_schema(), t.oid::regtype) from pg_type t
            where t.typnamespace = current_schema()::regnamespace and t.typtype in ('c', 'e') and not exists (
                select from pg_depend where classid = 'pg_type'::regclass and objid = t.oid and deptype in ('e', 'i'))))
)) r on r.nodeid = n.nodeid
where n.noderole = 'primary'
order by n.nodeid

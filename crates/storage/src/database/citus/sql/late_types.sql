-- Whether the schema has types that Citus has not created on its nodes. This happens if Citus was installed after the schema.
select exists (
    select from pg_type t where t.typnamespace = current_schema()::regnamespace and t.typtype in ('c', 'e')
        and not exists (select from pg_depend where classid = 'pg_type'::regclass and objid = t.oid and deptype in ('e', 'i'))
        and not exists (select from pg_dist_object where classid = 'pg_type'::regclass and objid = t.oid))

-- Grants that the role $1 needs to serve. It can read and write records, but cannot alter or truncate tables. It can read the record of
-- changes and the owner's tables $2, and add to the record only through triggers. It can call the functions $3, which run as the owner, and
-- are safe with any arguments. Revokes earlier grants, and includes tables of later migrations.
select statement from (
    select position, format(grants, current_schema(), $1, current_database(), array_to_string($2::text[], ', ')) as statement from unnest(array[
        'revoke all on all tables in schema %1$I from %2$I',
        'revoke create on schema %1$I from public, %2$I',
        'grant connect on database %3$I to %2$I',
        'grant usage on schema %1$I to %2$I',
        'grant select, insert, update, delete on all tables in schema %1$I to %2$I',
        'revoke insert, update, delete on %4$s from %2$I',
        'grant usage, select on all sequences in schema %1$I to %2$I',
        'grant execute on all functions in schema %1$I to %2$I',
        'alter default privileges in schema %1$I grant select, insert, update, delete on tables to %2$I',
        'alter default privileges in schema %1$I grant usage, select on sequences to %2$I',
        'alter default privileges in schema %1$I revoke execute on functions from %2$I'
    ]) with ordinality as g (grants, position)
    union all
    select 20, format('revoke all on %s from %I', inhrelid::regclass, $1) from pg_inherits where inhparent = 'changes'::regclass
    union all
    select 21, format('revoke execute on function %s from public, %I', oid::regprocedure, $1)
    from pg_proc where pronamespace = current_schema()::regnamespace and prosecdef
    union all
    select 22, format('grant execute on function %s to %I', oid::regprocedure, $1)
    from pg_proc where pronamespace = current_schema()::regnamespace and proname = any($3)
) g order by position

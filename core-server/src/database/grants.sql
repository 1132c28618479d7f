-- Statements that let the role $1 serve. It reads and writes records, and can neither change nor empty a table. It reads the record of
-- changes and the tables $2 of the owner, and adds to the record only by triggers. Of the functions that run as the owner, it calls $3, whose
-- arguments can do no harm. Earlier grants are revoked, and tables of later migrations are included.
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

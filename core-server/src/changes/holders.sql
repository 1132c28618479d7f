-- The sessions, with their programs, and the prepared transactions that have locked the record of changes, as one text.
with locks as (
    select l.pid, l.virtualtransaction from pg_locks l
    where l.granted and l.pid is distinct from pg_backend_pid()
        and l.database = (select oid from pg_database where datname = current_database())
        and l.relation in (
            select 'changes'::regclass union all select 'change_positions'::regclass union all
            select inhrelid from pg_inherits where inhparent = 'changes'::regclass)
)
select coalesce(string_agg(h.holder, ', ' order by h.holder), 'none now')
from (
    select format('%s (%s)', a.pid, a.application_name) as holder
    from pg_stat_activity a where a.pid in (select l.pid from locks l)
    union all
    select format('prepared transaction %L', p.gid)
    from pg_prepared_xacts p
    join pg_locks t on t.locktype = 'transactionid' and t.transactionid = p.transaction and t.pid is null and t.granted
    where t.virtualtransaction in (select l.virtualtransaction from locks l where l.pid is null)
    order by holder
    limit 5
) h

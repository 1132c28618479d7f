-- Position up to which the primary has acknowledged commits. Without `synchronous_commit`, it acknowledges them before they are flushed.
select s.system_identifier as cluster, ('x' || left(pg_walfile_name(p.lsn), 8))::bit(32)::integer as timeline,
    (p.lsn - '0/0')::bigint as lsn
from pg_control_system() s, (
    select case current_setting('synchronous_commit')
        when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn()
    end
) p (lsn)

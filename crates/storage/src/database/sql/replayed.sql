-- Position up to which a standby has replayed. It receives a timeline only if everything that it has replayed is part of the timeline's
-- history. Without the right to see the receiver (`pg_read_all_stats`), the timeline is that of the last restart point.
select s.system_identifier as cluster,
    greatest(c.timeline_id, r.min_recovery_end_timeline, w.received_tli) as timeline,
    (pg_last_wal_replay_lsn() - '0/0')::bigint as lsn
from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r
left join pg_stat_get_wal_receiver() w on true
where pg_is_in_recovery()

-- What `record_change_drops` recorded before 20261128000070 of companies whose first change follows a restore.
delete from change_drops d
where d.days is null and d.hash is null and d.after = 0 and d.position > 0 and d.position % restore_distance() = 0;

-- no-transaction
-- A database that was never served has its row, too: an empty table is one that is being restored.
do $$
begin
    perform set_config('lock_timeout', '40ms', false);
    insert into database_identity (identity) select current_identity() where not exists (select from database_identity) limit 1;
    commit;
end
$$

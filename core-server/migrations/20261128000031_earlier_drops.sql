-- no-transaction
-- What was dropped before drops were recorded: 20261128000030 lets `record_change_drops` do the same for a company that drops first.
do $$
declare
    last bigint := 0;
begin
    perform set_config('lock_timeout', '40ms', false);
    loop
        with batch as (
            select p.company_id, p.dropped_position, p.dropped_hash from change_positions p
            where p.company_id > last order by p.company_id limit 1000
        ), added as (
            insert into change_drops (company_id, position, after, hash, dropped_at)
            select b.company_id, b.dropped_position, 0, b.dropped_hash, now()
            from batch b left join change_drops d on d.company_id = b.company_id
            where b.dropped_position > 0 and d.company_id is null
        )
        select max(company_id) into last from batch;
        exit when last is null;
        commit;
    end loop;
end
$$

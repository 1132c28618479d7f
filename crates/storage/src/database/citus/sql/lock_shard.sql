-- Keeps the shard of a company on this node until the transaction ends. Fails if it is on another node.
create or replace function lock_shard(company bigint) returns void language plpgsql security definer
set search_path = :schema, pg_temp as $$
declare
    shard bigint := get_shard_id_for_distribution_column('affiliates', company);
    node integer := (select l.groupid from pg_catalog.pg_dist_local_group l limit 1);
begin
    perform lock_shard_metadata(5, array[shard]);
    if exists (select from pg_catalog.pg_dist_placement p where p.shardid = shard and p.groupid = node) then
        return;
    end if;
    -- Citus runs the function on the coordinator if it cannot connect to the node.
    if node = 0 then
        raise connection_failure using message = 'the node with the records of company ' || company || ' cannot be reached';
    end if;
    raise serialization_failure using message = 'the records of company ' || company || ' are on another node now';
end
$$

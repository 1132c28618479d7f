-- Returns the shard of `affiliates` for each company, and keeps these shards on this node until the transaction ends.
-- Fails if one of them is on another node.
create or replace function locked_shards(companies bigint[]) returns bigint[] language plpgsql security definer
set search_path = :schema, pg_temp as $$
declare
    shards bigint[]; shard bigint; company bigint; previous bigint;
    node integer := (select l.groupid from pg_catalog.pg_dist_local_group l limit 1);
begin
    foreach company in array companies loop
        if company is distinct from previous then
            shard := get_shard_id_for_distribution_column('affiliates', company);
            previous := company;
        end if;
        shards := shards || shard;
    end loop;
    perform lock_shard_metadata(5, array(select distinct s from unnest(shards) s));
    select s.company into company from unnest(companies, shards) s (company, shard)
    where not exists (select from pg_catalog.pg_dist_placement p where p.shardid = s.shard and p.groupid = node)
    limit 1;
    if not found then
        return shards;
    end if;
    -- Citus runs the function on the coordinator if it cannot connect to the node.
    if node = 0 then
        raise connection_failure using message = 'the node with the records of company ' || company || ' cannot be reached';
    end if;
    raise serialization_failure using message = 'the records of company ' || company || ' are on another node now';
end
$$

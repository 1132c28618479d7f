-- Distributes the first table. Without a number in `citus.shard_count`, each worker gets four shards: few, because each shard has its own
-- statements, but enough for more workers.
select create_distributed_table($1::text::regclass, 'company_id', colocate_with => 'none', shard_count => (
    select case s.source when 'default' then 4 * greatest(n.workers, 1) else s.setting::integer end
    from pg_settings s, (
        select count(*)::integer as workers from pg_dist_node where noderole = 'primary' and isactive and shouldhaveshards
    ) n
    where s.name = 'citus.shard_count'
))

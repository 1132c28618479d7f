-- Returns the IDs of a company's shards, in the order of the distributed tables.
create or replace function company_shards(company bigint) returns text[] language sql stable
set search_path = :schema, pg_temp as $$
    select array_agg(get_shard_id_for_distribution_column(t.name::regclass, company)::text order by t.position)
    from unnest(array[:tables]) with ordinality as t (name, position)
$$

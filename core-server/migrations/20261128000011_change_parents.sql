-- Which changes of infractions a URL has, and of incidents a case. Rows of one parent are found by it; those of several parents, or of one
-- that is not stored, by the kind of records. And where times begin to ascend again.
--
-- As for the indexes of 20261127000030: those of large months are made by hand.
do $$
declare
    scope text := '';
begin
    if (select sum(pg_relation_size(inhrelid)) from pg_inherits where inhparent = 'changes'::regclass) > 64 << 20 then
        scope := 'only';
    end if;
    execute format('create index changes_parent_idx on %s changes (company_id, resource, (parents[1]), position)
        where cardinality(parents) = 1', scope);
    execute format('create index changes_parents_idx on %s changes (company_id, resource, position, changed_at)
        where resource in (3, 5) and coalesce(cardinality(parents), 0) <> 1', scope);
    execute format('create index changes_set_back_idx on %s changes (company_id, position) where is_set_back', scope);
end
$$;

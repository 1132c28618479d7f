-- Which changes a record has. Rows with one record are found by it, those with several by the kind of records.
--
-- The record of changes has just begun, so its months are small, and their indexes are made at once. Of large months they are made by hand,
-- while others write: `create index concurrently` on each month, and `alter index … attach partition`. Later months have them in any case.
do $$
declare
    scope text := '';
begin
    if (select sum(pg_relation_size(inhrelid)) from pg_inherits where inhparent = 'changes'::regclass) > 64 << 20 then
        scope := 'only';
    end if;
    execute format('create index changes_record_idx on %s changes (company_id, resource, (ids[1]), position)
        where cardinality(ids) = 1', scope);
    execute format('create index changes_batch_idx on %s changes (company_id, resource, position, changed_at)
        where cardinality(ids) > 1', scope);
end
$$;

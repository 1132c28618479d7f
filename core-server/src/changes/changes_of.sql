-- The later changes of the record :id in the table :resource: in rows with only this record, and in rows with several records. Each kind of
-- row has an index. The limits are null, which the planner cannot see, so it reads along the indexes. A row's arrays can be large, so its
-- expressions are computed once, not for each entry.
select c.before + e.number as position, c.resource, c.operation, e.id,
    case c.operation when 2 then ('{' || substr(e.record, 2) || '}')::jsonb
        else change_fields(c.resource, c.columns, c.operation, e.record) end as fields
from (
    (
        select c.position, c.resource, c.columns, c.operation, c.ids, c.records, c.position - cardinality(c.ids) as before,
            case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
            case when cardinality(c.parents) > 1 then c.parents end as parents
        from changes c
        where c.company_id = $1 and c.resource = :resource and c.position >= (select l.position from later l)
            and c.changed_at >= (select to_timestamp($4::double precision)) and cardinality(c.ids) = 1 and c.ids[1] = :id
        order by c.position limit (select null::bigint)
    )
    union all
    (
        select c.position, c.resource, c.columns, c.operation, c.ids, c.records, c.position - cardinality(c.ids) as before,
            case when cardinality(c.parents) = 1 then c.parents[1] end as parent,
            case when cardinality(c.parents) > 1 then c.parents end as parents
        from changes c
        where c.company_id = $1 and c.resource = :resource and c.position >= (select l.position from later l)
            and c.changed_at >= (select to_timestamp($4::double precision)) and cardinality(c.ids) > 1 and c.ids @> array[:id]
        order by c.position limit (select null::bigint)
    )
) c
cross join lateral unnest(c.ids, c.records) with ordinality e (id, record, number)
where e.id = :id and c.operation <> 4

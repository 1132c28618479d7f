-- The range of positions of the company $1, and the numbers of columns that tables have now.
with state as materialized (
    select
        coalesce((select p.position from change_positions p where p.company_id = $1), 0) as last_position,
        (select c.position - cardinality(c.ids) from changes c where c.company_id = $1 order by c.position limit 1) as dropped,
        array(
            select count(*)
            from unnest(array[
                'affiliates', 'compliance_urls', 'infractions', 'compliance_cases', 'incidents', 'vocabulary_entries'
            ]) with ordinality t (name, number)
            join pg_attribute a on a.attrelid = t.name::regclass and a.attnum > 0 and not a.attisdropped
            group by t.number
            order by t.number
        ) as columns

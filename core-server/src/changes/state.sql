-- The range of positions of the company $1, and the number of recorded columns of each table. Skips rows before a dropped row: times can
-- decrease, so a month can have rows from before and after rows of another month.
with state as materialized (
    select
        coalesce((select p.position from change_positions p where p.company_id = $1), first_position()) as last_position,
        -- Where the record begins if a restore could have lost everything before it. Records that are older than the record of changes begin at 1.
        coalesce((
            select case when p.dropped_hash is null and p.dropped_position > 1 then p.dropped_position else 0 end
            from change_positions p where p.company_id = $1
        ), first_position()) as lost_position,
        (
            select greatest(position_before(c.resource, c.operation, c.position, c.ids, c.records),
                (select p.dropped_position from change_positions p where p.company_id = $1))
            from changes c where c.company_id = $1 order by c.position limit 1
        ) as dropped,
        array(
            select count(*)
            from unnest(array[
                'recorded_affiliates', 'recorded_compliance_urls', 'recorded_infractions', 'recorded_compliance_cases',
                'recorded_incidents', 'recorded_vocabulary_entries'
            ]) with ordinality t (name, number)
            join pg_attribute a on a.attrelid = t.name::regclass and a.attnum > 0 and not a.attisdropped
            group by t.number
            order by t.number
        ) as columns

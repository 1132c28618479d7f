-- Changes of the company $1 after the position $2, in the tables with the numbers $3 (null means all), at most $4. If $2 is null, there are
-- none. Reads at most $5 rows, even if few match. A row has entries up to its position.
--
-- The planner does not see bounds and limits, so it reads along the key. The first returned row always has the range of positions.
), scanned as materialized (
    select c.*, c.position - cardinality(c.ids) as before, sum(case when c.is_asked then cardinality(c.ids) else 0 end)
        over (order by c.position rows between unbounded preceding and 1 preceding) as entries_before
    from (
        select c.*, $3::smallint[] is null or c.resource = any($3::smallint[]) as is_asked
        from changes c
        where c.company_id = $1 and c.position > (select $2)
        order by c.position
        limit (select $5)
    ) c
), page as (
    select s.before + e.number as rank, s.before + e.number as position, s.changed_at, s.resource, s.operation, s.columns, e.id, e.record,
        s.is_set_back is null as is_of_before,
        case when jsonb_typeof(s.changed_by -> 0) = 'array' then s.changed_by -> (e.number - 1)::integer else s.changed_by end
            as changed_by
    from scanned s
    cross join lateral unnest(s.ids, s.records) with ordinality e (id, record, number)
    -- The first row can have entries up to $2.
    where s.is_asked and coalesce(s.entries_before, 0) < $4 + 1024 and s.before + e.number > $2
    order by s.before + e.number
    limit $4
), reached as (
    select case when (select count(*) from scanned) < $5 then s.last_position else (select max(position) from scanned) end
        as scanned_position,
        -- Set if a restore has skipped the position $2.
        position_before(f.resource, f.operation, f.position, f.ids, f.records) as kept_position, f.position as restored_position
    from state s
    left join (select * from scanned order by position limit 1) f on f.resource = 0 and f.operation = 2
)

-- The first changes that were dropped against the rules: the position before them, and their last position. If a company's first change
-- follows a restore, its record begins at a multiple of the restore distance (see `first_position`).
with dropped as (
    select d.after, d.position, d.hash,
        lag(d.position, 1, case when d.after % restore_distance() = 0 and d.after <= first_position() then d.after else 0 end)
            over (order by d.position) as previous,
        coalesce(d.changed_at > d.dropped_at - make_interval(days => d.days), false) as is_early
    from change_drops d where d.company_id = $1
), beginning as (
    select p.dropped_position, p.dropped_hash, coalesce(d.position, case
        when p.dropped_hash is null and p.dropped_position % restore_distance() = 0 and p.dropped_position <= first_position()
        then p.dropped_position else 0 end) as expected
    from change_positions p
    left join (select d.position from dropped d order by d.position desc limit 1) d on true
    where p.company_id = $1
)
select w.after, w.last from (
    select least(d.previous, d.after) as after, case when d.previous = d.after then d.position else greatest(d.previous, d.after) end as last
    from dropped d where d.previous <> d.after or d.is_early
    union all
    select least(b.expected, b.dropped_position), greatest(b.expected, b.dropped_position)
    from beginning b where b.dropped_position <> b.expected
    union all
    select 0, b.dropped_position
    from beginning b join dropped d on d.position = b.dropped_position
    where d.hash is distinct from b.dropped_hash
) w
order by w.after
limit 1

-- The first row that does not follow from the previous row, with the position before it. An erased row must match what the erasure left.
-- The end of the record must match the last position.
with erasure as (
    select distinct on (e.position) e.position, e.digest
    from (
        select c.position as erased_at, r.key::bigint as position, decode(r.value, 'hex') as digest
        from changes c
        cross join lateral jsonb_each_text(
            -- Any other text was altered. The chain shows that.
            case when c.records[1] ~ '^\{"\d{1,18}": "[0-9a-f]{64}"(?:, "\d{1,18}": "[0-9a-f]{64}")*\}$' then c.records[1]::jsonb end
        ) r
        where c.company_id = $1 and c.operation = 4
    ) e
    order by e.position, e.erased_at desc
), chain as (
    select c.position, c.position - position_before(c.resource, c.operation, c.position, c.ids, c.records) as entries, c.hash, lag(c.position, 1, p.dropped_position) over w as previous,
        change_hash(lag(c.hash, 1, p.dropped_hash) over w, case
            when c.is_set_back is null then coalesce(c.erased_digest, d.digest)
            else placed_digest(coalesce(c.erased_digest, d.digest), c.company_id, c.parents)
        end, c.position, c.changed_at) as expected,
        case when c.erased_digest is null then e.digest is null else e.digest = d.digest end as is_as_erased,
        -- From one row on, the hash also covers the company. Times go back only where a row says so.
        case
            when c.is_set_back is null then lag(c.is_set_back) over w is null
            else c.is_set_back = coalesce(c.changed_at < lag(c.changed_at) over w, c.is_set_back)
        end as has_its_mark
    from change_positions p
    join changes c on c.company_id = $1
    cross join lateral (
        select change_digest(c.resource, c.columns, c.operation, c.ids, c.records, c.changed_by, c.key) as digest
    ) d
    left join erasure e on e.position = c.position
    where p.company_id = $1
    window w as (order by c.position)
)
select b.previous, b.position, b.entries, b.is_linked
from (
    select c.previous, c.position, c.entries, c.previous = c.position - c.entries as is_linked
    from chain c
    where c.previous <> c.position - c.entries or c.hash <> c.expected or c.is_as_erased is not true or not c.has_its_mark
    union all
    select e.position, greatest(p.position, e.position), case when e.position >= p.position then e.entries end, true
    from change_positions p
    join (
        select coalesce(l.position, p.dropped_position) as position, l.entries, coalesce(l.hash, p.dropped_hash) as hash
        from change_positions p
        left join (
            select c.position, c.position - position_before(c.resource, c.operation, c.position, c.ids, c.records) as entries, c.hash from changes c
            where c.company_id = $1 order by c.position desc limit 1
        ) l on true
        where p.company_id = $1
    ) e on e.position <> p.position or e.hash <> p.hash
    where p.company_id = $1
) b
order by b.position
limit 1

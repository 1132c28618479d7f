-- What a record of the company $1 was made of before the second $4: what there is now, as if it were deleted then, and all later changes,
-- newest first. The record is the one with the ID $3 in the table with the number $2.
), of_record as materialized ({of_record}
){others}, page as (
    select -p.position as rank, p.*, null::jsonb as changed_by
    from (
        select 9223372036854775807 as position, now() as changed_at, n.resource, s.columns[n.resource] as columns,
            3::smallint as operation, n.id, n.record
        from (
            select $2::smallint as resource, r.id, r::text as record from {table} r where r.company_id = $1 and r.id = $3{now}
        ) n
        cross join state s
        union all
        select * from of_record{later}
    ) p
), reached as (
    -- What is kept gives every state from its first change on.
    select floor(extract(epoch from coalesce((
            select c.changed_at from changes c where c.company_id = $1 order by c.position limit 1
        ), (
            select p.changed_at from change_positions p where p.company_id = $1
        ))))::bigint as first_second, floor(extract(epoch from now()))::bigint as this_second
)

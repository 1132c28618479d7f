-- Changes of the company $1 before the position $2, newest first, at most $9. Reads at most $10 rows. Filters: the table with the number
-- $3, the ID $4, the subject $5, the request $6. A null filter matches all. The changes are from the second $7 on, and before the second
-- $8.
), rows as (
    -- Rows that can have the record: rows with only this record, and all rows with several records. A row has at most 1,024 records.
    (
        select c.* from changes c
        where $4::bigint is not null and c.company_id = $1 and c.resource = $3 and c.ids[1] = $4 and cardinality(c.ids) = 1
            and c.position < (select $2) and c.changed_at < (select to_timestamp($8::double precision))
        order by c.position desc limit (select $10)
    )
    union all
    (
        select c.* from changes c
        where $4::bigint is not null and c.company_id = $1 and c.resource = $3 and cardinality(c.ids) > 1
            and c.position < (select $2 + 1023) and c.position - cardinality(c.ids) + 1 < (select $2)
            and c.changed_at < (select to_timestamp($8::double precision))
        order by c.position desc limit (select $10)
    )
    union all
    -- Without an ID: all rows, by key.
    (
        select c.* from changes c
        where $4::bigint is null and c.company_id = $1 and c.position < (select $2 + 1023)
            and c.position - cardinality(c.ids) + 1 < (select $2) and c.changed_at < (select to_timestamp($8::double precision))
        order by c.position desc limit (select $10)
    )
), scanned as materialized (
    select c.*, c.position - cardinality(c.ids) as before,
        sum(case when not c.is_asked then 0 when $4::bigint is null then cardinality(c.ids) else 1 end)
            over (order by c.position desc rows between unbounded preceding and 1 preceding) as entries_before
    from (
        select c.*, ($3::smallint is null or c.resource = $3) and ($4::bigint is null or c.ids @> array[$4::bigint])
            and c.changed_at >= to_timestamp($7::double precision)
            -- A row has one writer for all entries, or one for each entry.
            and ($5::text is null or c.changed_by @> to_jsonb(array[$5]) or c.changed_by @> to_jsonb(array[array[$5]]))
            and ($6::text is null or c.changed_by @> to_jsonb(array[$6]) or c.changed_by @> to_jsonb(array[array[$6]])) as is_asked
        from rows c
        order by c.position desc
        limit (select $10)
    ) c
), page as (
    select -(s.before + e.number) as rank, s.before + e.number as position, s.changed_at, s.resource, s.operation, s.columns, e.id,
        e.record, s.is_set_back is null as is_of_before, w.changed_by
    from scanned s
    cross join lateral unnest(s.ids, s.records) with ordinality e (id, record, number)
    cross join lateral (
        select case when jsonb_typeof(s.changed_by -> 0) = 'array' then s.changed_by -> (e.number - 1)::integer else s.changed_by end
            as changed_by
    ) w
    where s.is_asked and coalesce(s.entries_before, 0) < $9 + 1024 and s.before + e.number < $2
        and ($4::bigint is null or e.id = $4) and ($5::text is null or w.changed_by ->> 1 = $5)
        and ($6::text is null or w.changed_by ->> 0 = $6)
    order by s.before + e.number desc
    limit $9
), reached as (
    -- From each row that `is_set_back` up to the next such row, times never decrease. So after a row that is too old, the search continues before
    -- the last such row.
    select case
        when p.found = $9 then p.first
        when (r.unread or r.found = $10) and r.since >= to_timestamp($7::double precision) then r.first
        when r.unread or r.found = $10 then (
            select c.position - cardinality(c.ids) + 1 from changes c
            where c.company_id = $1 and c.is_set_back and c.position < (select r.first + 1024)
                and c.position - cardinality(c.ids) < r.first
            order by c.position desc limit 1
        )
        end as next_position
    from (select count(*) as found, min(position) as first from page) p
    cross join (
        select count(*) as found, min(before) filter (where coalesce(entries_before, 0) < $9 + 1024) + 1 as first,
            (array_agg(changed_at order by position) filter (where coalesce(entries_before, 0) < $9 + 1024))[1] as since,
            coalesce(bool_or(entries_before >= $9 + 1024), false) as unread
        from scanned
    ) r
)

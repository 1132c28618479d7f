-- Adds new names: first names without a parent, then infraction names, whose parent is a type that can be new. $3 is the vocabulary of
-- infraction names, and $4 the vocabulary of infraction types. A company can have $5 names.
--
-- An item without an ID has an unknown type, or the company would have too many names, or another writer has just added the name. The next
-- run finds it.
--
-- The statement reads the company's names once, and matches them with the items by sorting. The planner expects few of both, so a join
-- could loop over all pairs, or scan all names for each item.
with present as materialized (
    select v.id, v.vocabulary, v.parent_id, v.name from vocabulary_entries v where v.company_id = $1
), input as materialized (
    select i.*, (select count(*) from present) + cardinality($2::vocabulary_entry_input[]) <= $5::bigint as fits
    from unnest($2::vocabulary_entry_input[]) with ordinality i
    cross join set_config('compliance.changed_by', $6, true)
), without_parent as materialized (
    select x.*
    from (
        select x.*, max(x.id) over (partition by x.vocabulary, x.name) as known_id
        from (
            select i.ordinality, i.vocabulary, i.name, i.fits, null::integer as id
            from input i
            where i.vocabulary <> $3
            union all
            select null, p.vocabulary, p.name, null, p.id from present p where p.parent_id is null
        ) x
    ) x
    where x.ordinality is not null
), added as (
    insert into vocabulary_entries (company_id, vocabulary, name)
    select $1, i.vocabulary, i.name
    from (select distinct i.vocabulary, i.name from without_parent i where i.known_id is null and i.fits) i
    order by i.vocabulary, i.name collate "C"
    on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
    returning id, vocabulary, name
), typed as materialized (
    select x.*, coalesce(x.parent_id, x.found_type_id) as type_id
    from (
        select x.*, max(x.id) over (partition by x.parent_name) as found_type_id
        from (
            select i.ordinality, i.name, i.parent_id, i.parent_name, i.fits, null::integer as id
            from input i
            where i.vocabulary = $3
            union all
            select null, null, null, a.name, null, a.id from added a where a.vocabulary = $4
            union all
            select null, null, null, p.name, null, p.id from present p where p.vocabulary = $4
        ) x
    ) x
    where x.ordinality is not null
), infraction_name as materialized (
    select x.*
    from (
        select x.*, max(x.id) over (partition by x.type_id, x.name) as known_id
        from (
            select t.ordinality, t.type_id, t.name, t.fits, null::integer as id from typed t
            union all
            select null, p.parent_id, p.name, null, p.id from present p where p.vocabulary = $3
        ) x
    ) x
    where x.ordinality is not null
), added_infraction_name as (
    insert into vocabulary_entries (company_id, vocabulary, name, parent_id)
    select $1, $3::smallint, i.name, i.type_id
    from (
        select distinct i.name, i.type_id
        from infraction_name i
        where i.type_id is not null and i.known_id is null and i.fits
    ) i
    order by i.type_id, i.name collate "C"
    on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
    returning id, name, parent_id
)
select coalesce(r.added_id, r.known_id) as id, r.added_id is not null as "created!", r.fits as "fits!",
    r.type_found as "type_found!"
from (
    select x.*, max(x.id) over (partition by x.vocabulary, x.type_id, x.name) as added_id
    from (
        select i.ordinality, i.vocabulary, null::integer as type_id, i.name, i.known_id, i.fits, true as type_found,
            null::integer as id
        from without_parent i
        union all
        select i.ordinality, $3, i.type_id, i.name, i.known_id, i.fits, i.type_id is not null, null
        from infraction_name i
        union all
        select null, a.vocabulary, null, a.name, null, null, null, a.id from added a
        union all
        select null, $3, a.parent_id, a.name, null, null, null, a.id from added_infraction_name a
    ) x
) r
where r.ordinality is not null
order by r.ordinality

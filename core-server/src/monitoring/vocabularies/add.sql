-- Adds the names that do not exist: first those without a parent ($3 is the vocabulary of infraction names, $4 that of
-- infraction types, their parents), then infraction names, whose type may be one of those just added. $5 is the number
-- of names that a company may have.
--
-- An item without an ID has an unknown type, or the company would have too many names, or another writer has just added
-- the name, which the next run sees.
with input as materialized (
    select i.*,
        (select count(*) from vocabulary_entries v where v.company_id = $1)
            + cardinality($2::vocabulary_entry_input[]) <= $5::bigint as fits
    from unnest($2::vocabulary_entry_input[]) with ordinality i
), added as (
    insert into vocabulary_entries (company_id, vocabulary, name)
    select $1, i.vocabulary, i.name
    from (select distinct vocabulary, name from input where vocabulary <> $3 and fits) i
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = i.vocabulary and v.parent_id is null and v.name = i.name
    where v.id is null
    order by i.vocabulary, i.name collate "C"
    on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
    returning id, vocabulary, name
), infraction_name as materialized (
    select i.ordinality, i.name, i.fits, coalesce(i.parent_id, t.id) as type_id
    from input i
    left join lateral (
        select a.id from added a where a.vocabulary = $4 and a.name = i.parent_name
        union all
        select v.id from vocabulary_entries v
        where v.company_id = $1 and v.vocabulary = $4 and v.parent_id is null and v.name = i.parent_name
        limit 1
    ) t on true
    where i.vocabulary = $3
), added_infraction_name as (
    insert into vocabulary_entries (company_id, vocabulary, name, parent_id)
    select $1, $3::smallint, i.name, i.type_id
    from (select distinct name, type_id from infraction_name where type_id is not null and fits) i
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = $3 and v.parent_id = i.type_id and v.name = i.name
    where v.id is null
    order by i.type_id, i.name collate "C"
    on conflict (company_id, vocabulary, parent_id, name) where name is not null do nothing
    returning id, name, parent_id
)
select r.id, r.created as "created!", r.fits as "fits!", r.type_found as "type_found!"
from (
    select i.ordinality as position, coalesce(a.id, v.id) as id, a.id is not null as created, i.fits, true as type_found
    from input i
    left join added a on a.vocabulary = i.vocabulary and a.name = i.name
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = i.vocabulary and v.parent_id is null and v.name = i.name
    where i.vocabulary <> $3
    union all
    select i.ordinality, coalesce(a.id, v.id), a.id is not null, i.fits, i.type_id is not null
    from infraction_name i
    left join added_infraction_name a on a.parent_id = i.type_id and a.name = i.name
    left join vocabulary_entries v
        on v.company_id = $1 and v.vocabulary = $3 and v.parent_id = i.type_id and v.name = i.name
) r
order by r.position

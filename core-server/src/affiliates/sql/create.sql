-- Inserts affiliates of the companies $1, by company and name to prevent deadlocks. If names are equal, inserts only the first affiliate.
-- $3 is the author of the changes: one element for each affiliate, or one for all.
--
-- Returns the ID of each new affiliate, or null and the affiliate that already had the name, in the order sent.
with numbered as materialized (
    select array_agg(nextval('affiliates_id_seq')) as ids
    from generate_series(1, cardinality($2::affiliate_input[]))
), inserted as (
    insert into affiliates (company_id, id, :names)
    select ($1::bigint[])[input.ordinality], (select ids from numbered)[input.ordinality], :values
    from unnest($2) with ordinality as input
    order by ($1::bigint[])[input.ordinality], input.affiliate_name, input.ordinality
    on conflict (company_id, affiliate_name) where affiliate_name is not null do nothing
    returning id
)
select created.id, holder.id as holder
from (
    select ($1::bigint[])[input.ordinality] as company_id, input.affiliate_name, input.ordinality,
        case when (ids.id in (select id from inserted)) is true then ids.id end as id
    from unnest($2) with ordinality as input
    cross join lateral (select (select ids from numbered)[input.ordinality] as id) ids
) created
cross join set_config('compliance.changed_by', case
    when cardinality($3::text[]) = 1 then ($3::text[])[1]
    else (
        select '{' || string_agg('"' || n.id || '":' || n.writer, ',') || '}'
        from unnest((select ids from numbered), $3::text[]) as n (id, writer)
    )
end, true)
left join lateral (
    select a.id from affiliates a
    where created.id is null and a.company_id = created.company_id and a.affiliate_name = created.affiliate_name
    limit 1
) holder on true
order by created.ordinality

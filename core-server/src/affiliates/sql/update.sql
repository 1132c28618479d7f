-- Locks the affiliates in ID order to prevent deadlocks. Then changes each affiliate that differs, if its new name is free. Returns each
-- affiliate's revision after the statement.
--
-- Each item reads its row by key, and writes it through an insert conflict. So no plan joins the items with all affiliates of the company,
-- regardless of statistics.
with anchor as materialized (
    select :anchored as exists from set_config('compliance.changed_by', :writer::text, true)
), resolved as materialized (
    select i.ordinality, :company as company_id, i.key, i.mask, a.id is not null as found, a.revision,
        i.revisions is null or a.revision = any(i.revisions) as as_expected, t.id as holder,
        :differs as differs, :merged
    from (select i.* from unnest($2::affiliate_input[]) with ordinality as i order by :company, i.key) i
    left join lateral (
        select a.* from affiliates a
        where a.company_id = :company and a.id = i.key and (select exists from anchor)
        for no key update
    ) a on true
    left join lateral (
        select t.id from affiliates t
        where t.company_id = :company and t.affiliate_name = i.affiliate_name and t.id <> i.key
            and i.mask & :name_bit <> 0
        limit 1
    ) t on true
), dependent as materialized (
    select :dependent as exists
), written as (
    insert into affiliates (company_id, id, :names)
    select r.company_id, r.key, :names from resolved r
    where r.found and r.as_expected and r.differs and r.holder is null and not (select exists from dependent)
    order by r.company_id, r.key
    on conflict on constraint affiliates_pkey do update set :replacements, revision = affiliates.revision + 1
    returning id, revision
), revisions as materialized (
    -- A look-up by key, where a join could be a nested loop.
    select jsonb_object_agg(w.id, w.revision) as by_id from written w
)
select (select exists from anchor) as anchored, (select exists from dependent) as dependent, found, as_expected,
    coalesce(((select by_id from revisions) ->> key::text)::bigint, revision) as revision, holder
from resolved order by ordinality

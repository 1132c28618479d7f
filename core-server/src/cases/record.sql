-- A case with its affiliate and its incidents. Every case has an affiliate, but with an inner join the planner could look the case up in
-- the index on affiliates. The affiliate has its own lookup, because a plan for an empty table could join all affiliates of the company. A
-- URL's text never changes, so earlier states also read it from the table.
select :columns, i.*
from :compliance_cases u
left join lateral (
    select a.* from :affiliates a where a.company_id = :company and a.id = u.affiliate_id limit 1
) a on true
left join lateral (
    select array_agg(id) as incident_ids, array_agg(incident_type) as incident_types,
        array_agg(type_id) as infraction_types, array_agg(own_type) as own_infraction_types,
        array_agg(name_id) as infraction_names, array_agg(own_name) as own_infraction_names,
        array_agg(url_id) as incident_url_ids, array_agg(url) as incident_urls, array_agg(reference) as incident_references
    from (
        select i.id, i.incident_type, i.infraction_type_id as type_id, :own_type as own_type,
            i.infraction_name_id as name_id, :own_name as own_name, i.url_id, i.reference,
            (select l.url from compliance_urls l where l.company_id = :company and l.id = i.url_id limit 1) as url
        from :incidents i where i.company_id = :company and i.case_id = u.id order by i.id
    ) i
) i on true
where u.company_id = :company and u.id = :id limit 1

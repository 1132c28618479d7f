-- A URL with its infractions. The affiliate has its own lookup, because a plan for an empty table could join all affiliates of the company.
select :columns, i.*
from :compliance_urls u
left join lateral (
    select a.* from :affiliates a where a.company_id = :company and a.id = u.affiliate_id limit 1
) a on true
left join lateral (
    select array_agg(created_date) as infraction_dates,
        array_agg(type_id) as infraction_types, array_agg(own_type) as own_infraction_types,
        array_agg(name_id) as infraction_names, array_agg(own_name) as own_infraction_names
    from (
        select i.created_date, i.infraction_type_id as type_id, :own_type as own_type,
            i.infraction_name_id as name_id, :own_name as own_name
        from :infractions i where i.company_id = :company and i.url_id = u.id order by i.id
    ) i
) i on true
where u.company_id = :company and u.id = :id limit 1

-- Conditions on the URL `u` for filters without counts. A null parameter means no condition.
and (($9::integer is null and $10::integer is null and $11::integer is null) or coalesce((
    select true from infractions i
    where i.company_id = $1 and i.url_id = u.id
        and ($9::integer is null or i.created_date >= to_timestamp($9::double precision * 86400))
        and ($10::integer is null or i.created_date < to_timestamp(($10 + 1)::double precision * 86400))
        and ($11::integer is null or i.infraction_type_id = $11)
    limit 1
), false))
and ($12::boolean is null or $12 = coalesce((
    select true from incidents i where i.company_id = $1 and i.url_id = u.id limit 1
), false))

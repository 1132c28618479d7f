-- Conditions on the case `u` for filters without counts. A null parameter means no condition. The ID 0 matches cases without an ID. A case
-- is open unless its status is Resolved, Closed, Rejected, Invalid or Duplicate (5 to 9).
and ($8::boolean is null or $8 = (u.case_status_id not between 5 and 9))
and ($9::integer is null or $9 = coalesce(u.risk_level_id, 0))
and ($10::integer is null or $10 = coalesce(u.sub_status_id, 0))
and ($11::text is null or $11 = u.case_worker)
and ($12::boolean is null or $12 = (u.case_worker is not null))
and ($13::integer is null or u.follow_up_date >= to_timestamp($13::double precision * 86400))
and ($14::integer is null or u.follow_up_date < to_timestamp(($14 + 1)::double precision * 86400))
and ($15::boolean is null or $15 = (u.case_status_id not between 5 and 9 and coalesce(u.follow_up_date < $16::timestamptz, false)))
and ($17::integer is null or u.closed_date >= to_timestamp($17::double precision * 86400))
and ($18::integer is null or u.closed_date < to_timestamp(($18 + 1)::double precision * 86400))
and ($19::integer is null or coalesce((
    select true from incidents i where i.company_id = $1 and i.case_id = u.id and i.infraction_type_id = $19 limit 1
), false))
and ($20::bigint is null or coalesce((
    select true from incidents i where i.company_id = $1 and i.case_id = u.id and i.url_id = $20 limit 1
), false))
and ($21::text is null or $21 = any(u.tags))

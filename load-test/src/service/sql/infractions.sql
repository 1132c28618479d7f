-- $1 company, $2 first number, $3 last number (of the URLs), $4 seed
insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id, created_date)
select $1, urls.id, 1 + (urls.id + $4) % 8, 1 + (urls.id + i) % {names}, urls.discovery_date + interval '1 hour'
from (
    select id, discovery_date from compliance_urls
    where company_id = $1 order by id offset $2 - 1 limit $3 - $2 + 1
) urls
cross join lateral generate_series(1, (urls.id % 3)::integer) i

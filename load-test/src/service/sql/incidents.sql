-- $1 company, $2 first number, $3 last number (of the cases), $4 seed
insert into incidents (company_id, case_id, incident_type, reference, infraction_type_id, infraction_name_id)
select $1, cases.id, 2 + (cases.id + i) % 3, 'ref-' || cases.id || '-' || i, 1 + (cases.id + $4) % 8,
    1 + (cases.id + i) % {names}
from (
    select id from compliance_cases where company_id = $1 order by id offset $2 - 1 limit $3 - $2 + 1
) cases
cross join generate_series(1, 2) i

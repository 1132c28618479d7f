-- Records by company and ID. Each is looked up separately: a join could read all records of a company instead, if the planner takes them
-- to be few.
select p.company_id as key_company_id, p.id as key_id, r.*
from unnest($1::bigint[], $2::bigint[]) as p (company_id, id)
cross join lateral (:record) r

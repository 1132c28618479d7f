-- Records by company and ID. Each record has its own lookup. For a join, the planner could read all records of a company if it estimates
-- few.
select p.company_id as key_company_id, p.id as key_id, r.*
from unnest($1::bigint[], $2::bigint[]) as p (company_id, id)
cross join lateral (:record) r

-- Records by ID. Each has its own lookup, so that the planner does not read all records of the company.
unnest(:ids::bigint[]) k (id)
cross join lateral (
    select :alias.* from :table :alias where :alias.company_id = $1 and :alias.id = k.id limit 1
) :alias

-- Records by ID. Each is looked up separately: the planner could read all records of the company instead.
unnest(:ids::bigint[]) k (id)
cross join lateral (
    select :alias.* from :table :alias where :alias.company_id = $1 and :alias.id = k.id limit 1
) :alias

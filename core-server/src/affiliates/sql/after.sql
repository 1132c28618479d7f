-- Affiliates of the company $1 with IDs above $2 that match, at most $3. The inner limit is null. The planner cannot see that, so it follows
-- the key and filters while it scans.
select a.id as last_id, :columns
from (select a.* from :from where a.company_id = $1 and a.id > $2 order by a.id limit (select null::bigint)) a
where true :conditions
order by a.id limit $3

-- The IDs of matching records. The scan reads records by ID, and skips records that do not match. The inner limit is null. The planner
-- cannot see that, and expects few of many records. So it does not read and sort all of them, but filters while it scans.
select u.id :long
from (
    select u.id, u.:date :columns from :from
    where u.company_id = $1 and u.id > $2 :condition order by u.id limit (select null::bigint)
) u
where true :filters
order by u.id limit $3

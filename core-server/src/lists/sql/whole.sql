-- The IDs of matching records. The scan reads records in the order of their IDs and passes over all others. The inner limit is none. The planner cannot see that: it takes the records to be few of many, so it does not read and sort all of them, and it filters
-- what the scan returns.
select u.id :long
from (
    select u.id, u.:date :columns from :from
    where u.company_id = $1 and u.id > $2 :condition order by u.id limit (select null::bigint)
) u
where ((select $4::integer) is null or u.:date >= to_timestamp(((select $4::integer))::double precision * 86400))
    and ((select $5::integer) is null or u.:date < to_timestamp(((select $5::integer) + 1)::double precision * 86400))
    :filters
order by u.id limit $3

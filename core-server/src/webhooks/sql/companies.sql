-- The companies with webhooks, and the number of webhooks whose last attempt failed. On Citus, it runs on all nodes.
select w.company_id, count(*) filter (where w.attempts > 0)
from webhooks w
where w.disabled_reason is null
group by w.company_id

-- The companies that have webhooks, and how many of these have failed last. On Citus it runs on all nodes.
select w.company_id, count(*) filter (where w.attempts > 0)
from webhooks w
where w.disabled_reason is null
group by w.company_id

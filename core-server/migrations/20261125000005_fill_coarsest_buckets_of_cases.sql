-- no-transaction
-- Counts the cases that were there before in the coarsest buckets, as sums of the coarse ones, a company at a time. It holds the lock of those
-- who write counts, on the node of the company.
do $$
declare
    company bigint := -1;
begin
    perform set_config('lock_timeout', '10s', false);
    loop
        select c.company_id into company from compliance_case_counts c
        where c.dimension = 'all' and c.company_id > company
        order by c.company_id limit 1;
        exit when company is null;
        perform pg_advisory_xact_lock(c.company_id << 2 | 2) from compliance_case_counts c
        where c.company_id = company and c.dimension = 'all'
        limit 1;
        insert into compliance_case_counts (company_id, dimension, bucket, case_status_id, n, first_day, last_day)
        select c.company_id, 'id_coarsest'::count_dimension, c.bucket >> 5, c.case_status_id, sum(c.n), min(c.first_day), max(c.last_day)
        from compliance_case_counts c
        where c.company_id = company and c.dimension = 'id_coarse'
        group by c.company_id, c.bucket >> 5, c.case_status_id
        on conflict on constraint compliance_case_counts_pkey do update set
            n = excluded.n,
            first_day = excluded.first_day,
            last_day = excluded.last_day;
        commit;
    end loop;
end
$$;

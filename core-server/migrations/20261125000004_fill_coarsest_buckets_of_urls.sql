-- no-transaction
-- Counts the URLs that were there before in the coarsest buckets, as sums of the coarse ones, a company at a time. It holds the lock of those
-- who write counts, on the node of the company.
do $$
declare
    company bigint := -1;
begin
    perform set_config('lock_timeout', '10s', false);
    loop
        select c.company_id into company from compliance_url_counts c
        where c.dimension = 'all' and c.company_id > company
        order by c.company_id limit 1;
        exit when company is null;
        perform pg_advisory_xact_lock(c.company_id << 2 | 1) from compliance_url_counts c
        where c.company_id = company and c.dimension = 'all'
        limit 1;
        insert into compliance_url_counts (company_id, dimension, bucket, incident_status_id, disabled, n, n_without_last_review_date, n_without_last_seen, first_day, last_day)
        select c.company_id, 'id_coarsest'::count_dimension, c.bucket >> 5, c.incident_status_id, c.disabled, sum(c.n),
            sum(c.n_without_last_review_date), sum(c.n_without_last_seen), min(c.first_day), max(c.last_day)
        from compliance_url_counts c
        where c.company_id = company and c.dimension = 'id_coarse'
        group by c.company_id, c.bucket >> 5, c.incident_status_id, c.disabled
        on conflict on constraint compliance_url_counts_pkey do update set
            n = excluded.n,
            n_without_last_review_date = excluded.n_without_last_review_date,
            n_without_last_seen = excluded.n_without_last_seen,
            first_day = excluded.first_day,
            last_day = excluded.last_day;
        commit;
    end loop;
end
$$;

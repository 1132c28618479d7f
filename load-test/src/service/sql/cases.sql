-- $1 company, $2 first number, $3 last number, $4 seed
insert into compliance_cases (company_id, affiliate_id, case_worker, tags, case_status_id, sub_status_id, submitter,
    notice_status_id, risk_level_id, case_country, created_date, reviewed_date, first_action_date, last_updated_date)
select $1, bounds.low + (case when n % 20 = 0 then 0 else r::bigint * 31 % bounds.number end),
    (array['Dana Worker', 'Lee Worker'])[1 + r % 2],
    case when r % 3 = 0 then array['social', 'income'] else array['web'] end,
    1 + r % 9, 1 + r % 9, 'Monitoring', 1 + r % 8, 1 + r % 4,
    (array[840, 124, 276, 826, 36, 250])[1 + r % 6]::smallint,
    created, created + interval '2 days', case when r % 2 = 0 then created + interval '1 day' end,
    created + interval '3 days'
from (
    select n, r, timestamptz '2019-01-01 00:00:00+00' + r % 189000000 * interval '1 second' as created
    from (
        select n, (hashint8(n # ($4::bigint << 40))::bigint & 2147483647)::integer as r
        from generate_series($2::bigint, $3::bigint) n order by n
    ) numbers
) records
cross join (select min(id) as low, count(*) as number from affiliates where company_id = $1) bounds

-- $1 company, $2 first number, $3 last number, $4 seed
insert into compliance_urls (company_id, url, url_hash, domain, incident_status_id, disabled, false_positive, country,
    discovery_date, last_review_date, last_crawl_date, last_seen, affiliate_id, owner_email, social_one, landing_page,
    case_id, note, transcription_status_id)
select $1, url, sha256(convert_to(url, 'UTF8')), 'site' || n % 5000 || '.example.com', 1 + r % 6, r % 25 = 0,
    case when r % 4 = 0 then r % 8 = 0 end, (array[840, 124, 276, 826, 36, 250])[1 + r % 6]::smallint, discovered,
    case when r % 3 > 0 then discovered + r % 90 * interval '1 day' end, discovered + interval '100 days',
    case when r % 5 > 0 then discovered + r % 120 * interval '1 day' end,
    bounds.low + (case when n % 20 = 0 then 0 else r::bigint * 31 % bounds.number end),
    case when r % 3 = 0 then 'owner' || n || '@example.com' end, 'https://social.example.com/' || n,
    'https://landing.example.com/' || r % 1000,
    case when n % 4 = 0 and cases.number > 0 then cases.low + n / 4 % cases.number end,
    case when r % 5 = 0 then 'Income claim in the video.' end, case when r % 7 = 0 then 1 + r % 4 end
from (
    select n, r, 'https://site' || n % 5000 || '.example.com/offer/' || n as url,
        timestamptz '2019-01-01 00:00:00+00' + r % 189000000 * interval '1 second' as discovered
    from (
        select n, (hashint8(n # ($4::bigint << 40))::bigint & 2147483647)::integer as r
        from generate_series($2::bigint, $3::bigint) n order by n
    ) numbers
) records
cross join (select min(id) as low, count(*) as number from affiliates where company_id = $1) bounds
cross join (select min(id) as low, count(*) as number from compliance_cases where company_id = $1) cases

-- $1 company, $2 first number, $3 last number, $4 seed
insert into affiliates (company_id, client_affiliate_id, affiliate_name, email_one, phone_one, instagram, country,
    first_name, last_name, notes, address, city, state, zip, ranking, replicated_website, sponsor, upline, status,
    start_date, language_used, territory, merchant_type, company_name, sponsor_id, pay_rank, recognition_rank)
select $1, 'AFF-' || n, 'Affiliate ' || n, 'affiliate' || n || '@example.com',
    '+1 555 ' || lpad((n % 10000000)::text, 7, '0'), '@affiliate' || n,
    (array[840, 124, 276, 826, 36, 250])[1 + r % 6]::smallint,
    (array['Alex', 'Kim', 'Jordan', 'Sam', 'Robin'])[1 + r % 5], 'Sample' || n % 997,
    case when r % 4 = 0 then 'Met at the spring conference; prefers e-mail.' end,
    n % 9999 || ' Main Street', (array['Springfield', 'Riverside', 'Franklin'])[1 + r % 3],
    (array['IL', 'CA', 'TN'])[1 + r % 3], lpad((n % 100000)::text, 5, '0'),
    (array['Bronze', 'Silver', 'Gold'])[1 + r % 3], 'https://shop.example.com/' || n, 'Jordan Example',
    'AFF-' || 1 + n / 10,
    (array['active', 'active', 'active', 'inactive', 'probation', 'suspended', 'terminated'])[1 + r % 7],
    date '2018-01-01' + r % 2500, (array['en', 'fr', 'de'])[1 + r % 3], (array['North', 'South'])[1 + r % 2],
    'retail', 'Example Ventures', 'AFF-' || 1 + n / 10, 'Director', 'Director'
from (
    select n, (hashint8(n # ($4::bigint << 40))::bigint & 2147483647)::integer as r
    from generate_series($2::bigint, $3::bigint) n order by n
) numbers

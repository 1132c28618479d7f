-- Copies the records of company 1 to 1,000 companies. `compliance demo-data` created them: 1,000,000 URLs with ascending IDs from 1. The
-- result has 10,000,000 URLs, divided by `shrink`.
--
-- Company 1 keeps every URL, twenty companies get every tenth URL, and the others one in 140. IDs and rows of companies alternate after a
-- hundred URLs, as if all companies wrote at the same time.
\set ON_ERROR_STOP on
-- Without triggers and key checks. Run `compliance doctor --counts --repair` afterwards.
set session_replication_role = replica;
set work_mem = '1GB';
set maintenance_work_mem = '1GB';

create schema template;
create table template.affiliates as table affiliates;
create table template.compliance_cases as table compliance_cases;
create table template.compliance_urls as table compliance_urls;
create table template.infractions as table infractions;
create table template.incidents as table incidents;
truncate affiliates, compliance_cases, compliance_urls, infractions, incidents, compliance_url_counts, compliance_case_counts;

create table template.companies as
    select c as company, every, c % every as rest
    from (select c, :shrink * case when c = 1 then 1 when c <= 21 then 10 else 140 end as every from generate_series(1, 1000) c) s;
analyze template.companies;

-- The template records of each company, and their new IDs.
create table template.affiliate_ids as
    select row_number() over (order by t.id, c.company) as id, c.company, t.id as of
    from template.companies c join template.affiliates t on t.id % c.every = c.rest;
create unique index on template.affiliate_ids (company, of);
create table template.case_ids as
    select row_number() over (order by t.id, c.company) as id, c.company, t.id as of, a.id as affiliate
    from template.companies c
    join template.compliance_cases t on t.id % c.every = c.rest
    join template.affiliate_ids a on a.company = c.company and a.of = t.affiliate_id - t.affiliate_id % c.every + c.rest;
create unique index on template.case_ids (company, of);
create table template.url_ids as
    select row_number() over (order by (u.of / c.every / 100) * 100 * c.every, c.company, u.of) as id, c.company, c.every, c.rest, u.of
    from template.companies c
    cross join lateral generate_series(case when c.rest = 0 then c.every else c.rest end, 1000000, c.every) u (of);
create table template.incidents_of as
    select distinct on (c.company, c.id, coalesce(u.id, -t.id)) c.company, c.id as case_id, t.id as of, u.id as url_id
    from template.incidents t
    join template.case_ids c on c.of = t.case_id
    join template.companies k on k.company = c.company
    left join template.url_ids u on t.url_id is not null and u.company = c.company and u.of = t.url_id - t.url_id % k.every + k.rest
    where t.url_id is null or u.id is not null;
create table template.case_of_url as
    select distinct on (company, url_id) company, url_id, case_id from template.incidents_of
    where url_id is not null order by company, url_id, case_id desc;
analyze template.affiliate_ids, template.case_ids, template.url_ids, template.incidents_of, template.case_of_url;

-- The rows of a table for `IDs`. `changed` computes some columns, and the template has all others.
create function template.fill(name text, source text, changed text[], expressions text[]) returns void language plpgsql as $$
begin
    execute (
        select format('insert into public.%I (%s) select %s from %s', name,
            string_agg(quote_ident(attname), ', '),
            string_agg(coalesce(expressions[array_position(changed, attname::text)], 't.' || quote_ident(attname)), ', '), source)
        from pg_attribute where attrelid = format('template.%I', name)::regclass and attnum > 0
    );
end
$$;

\timing on
select template.fill('affiliates', 'template.affiliate_ids i join template.affiliates t on t.id = i.of order by i.id',
    '{company_id,id}', '{i.company,i.id}');
select template.fill('compliance_cases', 'template.case_ids i join template.compliance_cases t on t.id = i.of order by i.id',
    '{company_id,id,affiliate_id}', '{i.company,i.id,i.affiliate}');
-- Indexes are created after the table is full.
create table template.indexes as
    select indexname, indexdef from pg_indexes
    where schemaname = 'public' and tablename = 'compliance_urls' and indexname <> 'compliance_urls_pkey';
select format('drop index public.%I', indexname) from template.indexes \gexec
select template.fill('compliance_urls',
    'template.url_ids i join template.compliance_urls t on t.id = i.of
        left join template.affiliate_ids a on a.company = i.company and a.of = t.affiliate_id - t.affiliate_id % i.every + i.rest
        left join template.case_of_url c on c.company = i.company and c.url_id = i.id
        order by i.id',
    '{company_id,id,affiliate_id,case_id}', '{i.company,i.id,a.id,c.case_id}');
select template.fill('infractions', 'template.url_ids i join template.infractions t on t.url_id = i.of order by i.id, t.id',
    '{company_id,id,url_id}', array['i.company', 'nextval(''infractions_id_seq'')', 'i.id']);
select template.fill('incidents',
    'template.incidents_of i join template.incidents t on t.id = i.of order by t.id, i.company',
    '{company_id,id,case_id,url_id}', array['i.company', 'nextval(''incidents_id_seq'')', 'i.case_id', 'i.url_id']);
set max_parallel_maintenance_workers = 1;
select indexdef from template.indexes \gexec
select setval('affiliates_id_seq', max(id)) from affiliates;
select setval('compliance_cases_id_seq', max(id)) from compliance_cases;
select setval('compliance_urls_id_seq', max(id)) from compliance_urls;
drop schema template cascade;
vacuum (analyze);

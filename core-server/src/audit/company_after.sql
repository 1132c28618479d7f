-- The next company after $1 that has changes, or records of a kind that all other records refer to. Each lookup is by key, because reading
-- all changes would take too long.
select min(company_id) from (
    (select company_id from change_positions where company_id > $1 order by company_id limit 1)
    union all
    (select company_id from changes where company_id > $1 order by company_id limit 1)
    union all
    (select company_id from change_drops where company_id > $1 order by company_id limit 1)
    union all
    (select company_id from affiliates where company_id > $1 order by company_id limit 1)
    union all
    (select company_id from compliance_urls where company_id > $1 order by company_id limit 1)
    union all
    (select company_id from vocabulary_entries where company_id > $1 order by company_id limit 1)
) next

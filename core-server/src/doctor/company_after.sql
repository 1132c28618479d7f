-- The next company after $1 that has records or counts.
select least(
    (select company_id from :table where company_id > $1 order by company_id limit 1),
    (select company_id from :counts where company_id > $1 order by company_id limit 1))

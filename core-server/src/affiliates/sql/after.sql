-- Affiliates of the company $1 with IDs above $2, at most $3.
select a.id as last_id, :columns from :from
where a.company_id = $1 and a.id > $2 order by a.id limit $3

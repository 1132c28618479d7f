-- Numbers URLs of companies, which are $1, in the order sent and inserts them in the order of companies and hashes, so that
-- two statements that cross do not wait for each other. Of two equal URLs the first is inserted. Returns the position and
-- ID of each that was.
with input as materialized (
    select position, company_id, nextval('compliance_urls_id_seq') as id, url, url_hash, domain
    from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[])
        with ordinality as input (company_id, url, url_hash, domain, position)
), inserted as (
    insert into compliance_urls (company_id, id, url, url_hash, domain)
    select company_id, id, url, url_hash, domain from input order by company_id, url_hash, position
    on conflict (company_id, url_hash) where url_hash is not null do nothing
    returning company_id, id
)
select input.position as "position!", inserted.id as "id!" from inserted join input using (company_id, id)

-- Numbers the URLs in the order sent and inserts them in the order of their hashes, so that two requests that cross do
-- not wait for each other. Of two equal URLs the first is inserted. Returns the position and ID of each that was.
with input as materialized (
    select position, nextval('compliance_urls_id_seq') as id, url, url_hash, domain
    from unnest($2::text[], $3::bytea[], $4::text[]) with ordinality as input (url, url_hash, domain, position)
), inserted as (
    insert into compliance_urls (company_id, id, url, url_hash, domain)
    select $1, id, url, url_hash, domain from input order by url_hash, position
    on conflict (company_id, url_hash) where url_hash is not null do nothing
    returning id
)
select input.position as "position!", inserted.id as "id!" from inserted join input using (id)

-- Adds URLs of the companies $1. Draws IDs in the order sent, and inserts by company and hash, so overlapping statements do not deadlock.
-- If two URLs are equal, inserts only the first. $5 is the author of the changes: one element for each URL, or one for all.
--
-- Returns the ID of each new URL, or null, in the order sent.
with input as materialized (
    select position, company_id, nextval('compliance_urls_id_seq') as id, url, url_hash, domain
    from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[])
        with ordinality as input (company_id, url, url_hash, domain, position)
), inserted as (
    insert into compliance_urls (company_id, id, url, url_hash, domain)
    select company_id, id, url, url_hash, domain from input order by company_id, url_hash, position
    on conflict (company_id, url_hash) where url_hash is not null do nothing
    returning id
)
select case when (id in (select id from inserted)) is true then id end as id
from input
cross join set_config('compliance.changed_by', case
    when cardinality($5::text[]) = 1 then ($5::text[])[1]
    else (
        select '{' || string_agg('"' || i.id || '":' || w.writer, ',') || '}'
        from input i join unnest($5::text[]) with ordinality w (writer, position) on w.position = i.position
    )
end, true)
order by position

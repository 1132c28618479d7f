-- Cases of the company $1 with IDs above $2, at most $3. URLs and references are in the order of the record's incidents.
select p.id as last_id, p.request_id, c.incident_urls, c.incident_references, r.*
from (
    select u.id, u.request_id from :from
    where u.company_id = $1 and u.id > $2 order by u.id limit $3
) p
left join lateral (
    select array_agg(x.url) as incident_urls, array_agg(x.reference) as incident_references
    from (
        select i.reference, (
            select u.url from compliance_urls u where u.company_id = $1 and u.id = i.url_id limit 1
        ) as url
        from incidents i where i.company_id = $1 and i.case_id = p.id order by i.id
    ) x
) c on true
cross join lateral (:record) r
order by p.id

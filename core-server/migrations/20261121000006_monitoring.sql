-- What the internal write side needs beside the records themselves.

-- One sequence for all companies: two writers that add names at the same time need not agree on IDs.
create sequence vocabulary_entries_id_seq as integer start 1000 owned by vocabulary_entries.id;
alter table vocabulary_entries alter column id set default nextval('vocabulary_entries_id_seq');

-- A URL reads the case that it was attached to last: the one of its newest incident. The statement that attaches or
-- detaches has locked the URLs by then, and a trigger sees what others committed while it waited for them.
-- The rows are found and written by their keys: as the conflicts of an insert, which no plan can turn into a join with all URLs.
create function set_case_of_urls() returns trigger language plpgsql as $$
begin
    insert into compliance_urls (company_id, id, url, url_hash, case_id)
    select n.company_id, n.url_id, u.url, u.url_hash, n.case_id
    from (
        select r.company_id, r.url_id, (
            select i.case_id from incidents i
            where i.company_id = r.company_id and i.url_id = r.url_id order by i.id desc limit 1
        ) as case_id
        from (select distinct company_id, url_id from changed_rows where url_id is not null) r
    ) n
    cross join lateral (
        select u.url, u.url_hash, u.case_id from compliance_urls u
        where u.company_id = n.company_id and u.id = n.url_id
        limit 1
    ) u
    where u.case_id is distinct from n.case_id
    on conflict on constraint compliance_urls_pkey do update set case_id = excluded.case_id;
    return null;
end
$$;

create trigger incidents_attached after insert on incidents
    referencing new table as changed_rows for each statement execute function set_case_of_urls();
create trigger incidents_detached after delete on incidents
    referencing old table as changed_rows for each statement execute function set_case_of_urls();

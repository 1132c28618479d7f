-- Whether the company $1 has no changes, although its records or its dropped months show that it had some.
select not exists (select from changes where company_id = $1) and case
    when exists (select from change_drops where company_id = $1)
    then not exists (select from change_positions where company_id = $1)
    else exists (select from affiliates where company_id = $1)
        or exists (select from compliance_urls where company_id = $1)
        or exists (select from vocabulary_entries where company_id = $1)
    end

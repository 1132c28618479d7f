-- The entries of `page`, by rank, with the row of `reached`. Columns that did not exist when the change was recorded are null.
select s.last_position, coalesce(s.dropped, s.last_position) as dropped_position, s.lost_position,
    reached.*,
    p.position, p.changed_at, p.resource, p.operation, p.id, p.changed_by ->> 0 as request_id, p.changed_by ->> 1 as subject,
    case p.operation
        when 2 then '{' || substr(p.record, 2) || '}'
        when 4 then '{}' -- digests of the remaining fields
        else case p.resource
            when 1 then row_to_json(r.filled::recorded_affiliates)
            when 2 then row_to_json(r.filled::recorded_compliance_urls)
            when 3 then row_to_json(r.filled::recorded_infractions)
            when 4 then row_to_json(r.filled::recorded_compliance_cases)
            when 5 then row_to_json(r.filled::recorded_incidents)
            when 6 then row_to_json(r.filled::recorded_vocabulary_entries)
        end::text
    end as fields
from state s
cross join reached
left join page p on true
cross join lateral (
    -- Rows of releases that did not record the names of columns can have other columns.
    select case when p.is_of_before then filled_record(p.resource, p.columns, p.operation, p.record)
        else left(p.record, -1) || repeat(',', (s.columns[p.resource] - p.columns)::integer) || ')' end as filled
) r
order by p.rank

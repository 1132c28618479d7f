-- The position of each company's last change. Its row is locked until the change is committed, so a reader who has seen a position
-- never finds a smaller one later.
create table change_positions (
    company_id bigint not null,
    position bigint not null,
    changed_at timestamptz not null, -- never before that of a smaller position
    digest bytea not null default '', -- of what the last row says
    hash bytea not null default '', -- of the last row
    dropped_position bigint not null default 0, -- of the last row that is not kept
    dropped_hash bytea,
    constraint change_positions_pkey primary key (company_id)
) with (fillfactor = 60, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05);

-- Companies that have records already: position 1 stands for how these came about, which is not kept. A company is found by its key
-- after the one before.
do $$
declare
    recorded text; company bigint;
begin
    foreach recorded in array array['affiliates', 'compliance_urls', 'vocabulary_entries'] loop
        company := 0;
        loop
            execute format('select company_id from %I where company_id > $1 order by company_id limit 1', recorded)
                into company using company;
            exit when company is null;
            insert into change_positions (company_id, position, changed_at, dropped_position) values (company, 1, now(), 1)
            on conflict do nothing;
        end loop;
    end loop;
end
$$;

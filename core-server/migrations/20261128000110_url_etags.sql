-- URLs have etags, as affiliates and cases do. Statements count up the revision if a URL's infractions change. The trigger counts all
-- other changes, and none for an update to the same values.
alter table compliance_urls add column revision bigint not null default 1;
alter type recorded_compliance_urls add attribute revision bigint;
do $$ begin perform record_changes_of('compliance_urls', 2); end $$;

create trigger compliance_urls_revised before update on compliance_urls
    for each row when (new.revision = old.revision and old.* is distinct from new.*) execute function count_revision();
create trigger compliance_urls_revised_after_restore before update on compliance_urls
    for each row when (new.revision > old.revision and new.revision <= first_position()) execute function skip_lost_revisions();

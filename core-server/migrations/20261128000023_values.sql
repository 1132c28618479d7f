-- Values that no text of the interface shows, and IDs that no program reads: infinite dates, those before the year 1 or after 9999, and IDs
-- that are not positive or above 2^53. What is there already stays, and is read as null; `compliance doctor --counts` names it.
alter table affiliates
    add constraint affiliates_dates_check check (
            start_date between '0001-01-01' and '9999-12-31'
        ) not valid,
    add constraint affiliates_id_check check (id between 1 and 9007199254740991) not valid;
alter table compliance_urls
    add constraint compliance_urls_dates_check check (
            discovery_date >= '0001-01-01 00:00:00Z' and discovery_date < '10000-01-01 00:00:00Z'
            and last_review_date >= '0001-01-01 00:00:00Z' and last_review_date < '10000-01-01 00:00:00Z'
            and last_crawl_date >= '0001-01-01 00:00:00Z' and last_crawl_date < '10000-01-01 00:00:00Z'
            and last_seen >= '0001-01-01 00:00:00Z' and last_seen < '10000-01-01 00:00:00Z'
        ) not valid,
    add constraint compliance_urls_id_check check (id between 1 and 9007199254740991) not valid;
alter table infractions
    add constraint infractions_dates_check check (
            created_date >= '0001-01-01 00:00:00Z' and created_date < '10000-01-01 00:00:00Z'
        ) not valid,
    add constraint infractions_id_check check (id between 1 and 9007199254740991) not valid;
alter table compliance_cases
    add constraint compliance_cases_dates_check check (
            created_date >= '0001-01-01 00:00:00Z' and created_date < '10000-01-01 00:00:00Z'
            and reviewed_date >= '0001-01-01 00:00:00Z' and reviewed_date < '10000-01-01 00:00:00Z'
            and resolved_date >= '0001-01-01 00:00:00Z' and resolved_date < '10000-01-01 00:00:00Z'
            and first_action_date >= '0001-01-01 00:00:00Z' and first_action_date < '10000-01-01 00:00:00Z'
            and flagged_date >= '0001-01-01 00:00:00Z' and flagged_date < '10000-01-01 00:00:00Z'
            and follow_up_date >= '0001-01-01 00:00:00Z' and follow_up_date < '10000-01-01 00:00:00Z'
            and closed_date >= '0001-01-01 00:00:00Z' and closed_date < '10000-01-01 00:00:00Z'
            and last_updated_date >= '0001-01-01 00:00:00Z' and last_updated_date < '10000-01-01 00:00:00Z'
        ) not valid,
    add constraint compliance_cases_id_check check (id between 1 and 9007199254740991) not valid;
alter table incidents
    add constraint incidents_id_check check (id between 1 and 9007199254740991) not valid;
alter table webhooks
    add constraint webhooks_dates_check check (
            next_attempt_at >= '0001-01-01 00:00:00Z' and next_attempt_at < '10000-01-01 00:00:00Z'
            and failing_since >= '0001-01-01 00:00:00Z' and failing_since < '10000-01-01 00:00:00Z'
            and leased_until >= '0001-01-01 00:00:00Z' and leased_until < '10000-01-01 00:00:00Z'
            and created_at >= '0001-01-01 00:00:00Z' and created_at < '10000-01-01 00:00:00Z'
        ) not valid,
    add constraint webhooks_id_check check (id between 1 and 9007199254740991) not valid;
alter table webhook_deliveries
    add constraint webhook_deliveries_dates_check check (
            started_at >= '0001-01-01 00:00:00Z' and started_at < '10000-01-01 00:00:00Z'
        ) not valid;

-- Counts take an infinite date for the first or the last day that a text shows.
create or replace function utc_day(instant timestamptz) returns integer
    language sql immutable parallel safe
    return case
        when isfinite(instant) then (instant at time zone 'UTC')::date - date '1970-01-01'
        when instant > '1970-01-01 00:00:00Z' then date '9999-12-31' - date '1970-01-01'
        when instant < '1970-01-01 00:00:00Z' then date '0001-01-01' - date '1970-01-01'
    end;

//! Records every written value in the database, with the start time of its statement.

use std::{collections::BTreeSet, time::Duration};

use load_test::workload::LoadRequest;
use sqlx::PgConnection;

/// Creates a table, and triggers that record the key and value of each write, in order per key.
pub(crate) const SCHEMA: &str = "
create table witness (
    n bigint generated always as identity,
    company_id bigint not null,
    key text not null,
    value text not null,
    began timestamptz not null default statement_timestamp()
);
create function note_affiliate() returns trigger security definer set search_path = public language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into witness (company_id, key, value)
        values (new.company_id, 'affiliate ' || new.affiliate_name, new.client_affiliate_id);
    else
        insert into witness (company_id, key, value)
        values (new.company_id, 'notes of ' || new.id, coalesce(new.notes, ''));
    end if;
    return null;
end $$;
create function note_url() returns trigger security definer set search_path = public language plpgsql as $$
begin
    insert into witness (company_id, key, value)
    values (new.company_id, case when new.note is null then 'url ' else 'note of ' end || new.url, coalesce(new.note, ''));
    return null;
end $$;
create trigger note_affiliate after insert or update on affiliates for each row execute function note_affiliate();
create trigger note_url after insert or update on compliance_urls for each row execute function note_url();";

/// Waits until the service has no running statement and no open transaction.
pub(crate) async fn until_quiet(connection: &mut PgConnection) {
    let running = "select count(*) from pg_stat_activity
        where application_name = 'affiliate-compliance' and state <> 'idle' and query not like '%pg_is_in_recovery%'";
    for _ in 0..600 {
        if sqlx::query_scalar::<_, i64>(running).fetch_one(&mut *connection).await.unwrap() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the service's statements did not end");
}

/// Returns the keys and values that the triggers record for a write.
pub(crate) fn written(request: &LoadRequest) -> Vec<(String, String)> {
    match request {
        LoadRequest::Update { id, notes } => vec![(format!("notes of {id}"), notes.clone())],
        LoadRequest::BatchUpdate { ids, notes } => {
            let ids: BTreeSet<_> = ids.iter().collect();
            ids.into_iter().map(|id| (format!("notes of {id}"), notes.clone())).collect()
        }
        LoadRequest::Create(input) => vec![created(input)],
        LoadRequest::BatchCreate(inputs) => inputs.iter().map(created).collect(),
        LoadRequest::AddUrls(urls) => urls.iter().map(|url| (format!("url {url}"), String::new())).collect(),
        _ => Vec::new(),
    }
}

fn created(input: &compliance_api::v1::AffiliateInput) -> (String, String) {
    (format!("affiliate {}", input.affiliate_name()), input.client_affiliate_id().to_owned())
}

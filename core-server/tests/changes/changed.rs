//! Tests full lists with `changed_after`, which contain only records that have changed since a position.

use std::collections::BTreeSet;

use compliance_api::v1::{
    Affiliate, ComplianceUrl, ExportUrlsRequest, FieldChange, ListAffiliatesRequest, ListAllComplianceCasesRequest,
    ListAllComplianceUrlsRequest, ListChangesRequest,
};
use sqlx::AssertSqlSafe;
use test_support::{TestCore, new_company, reason_of};
use tokio_stream::StreamExt as _;
use tonic::Status;

use super::{
    all, list,
    past::{history, snapshot},
};

/// Collects the IDs from a stream of pages.
async fn listed<T>(
    stream: Result<tonic::Response<tonic::Streaming<T>>, Status>,
    ids: fn(T) -> Vec<i64>,
) -> Result<BTreeSet<i64>, Status> {
    let mut stream = stream?.into_inner();
    let mut listed = BTreeSet::new();
    while let Some(message) = stream.next().await {
        listed.extend(ids(message?));
    }
    Ok(listed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_after_returns_only_changed_records() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    // Changes more IDs than a page or its statement can hold, and then deletes the first 1,500 records.
    let many = format!(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name)
            select {company}, n, 'first ' || n from generate_series(1, 2500) n;
        delete from affiliates where company_id = {company} and client_affiliate_id::integer <= 1500"
    );
    sqlx::raw_sql(AssertSqlSafe(many)).execute(&core.pool).await.unwrap();
    let begin = list(&mut clients, ListChangesRequest::default()).await.unwrap().last_position;
    history(&core, company).await;
    let last = snapshot(&mut clients).await;
    let feed = all(&mut clients, 0, 1000).await;
    for after in [0, 1, begin - 1, begin, begin + 20, begin + 60, last.position - 1, last.position] {
        let changed = |kind: &str, id: i64| {
            feed.iter().any(|change| {
                let of_part = |field: &FieldChange| {
                    let value = field.before.as_ref().or(field.after.as_ref());
                    field.field == "url_id" && value == Some(&id.to_string())
                };
                let is_part = kind == "url" && change.resource == "infraction" && change.fields.iter().any(of_part);
                let is_record = (&*change.resource, change.id) == (kind, id) && change.operation != "deleted";
                change.position > after && (is_record || is_part)
            })
        };
        let expected =
            |kind: &str, ids: Vec<i64>| ids.into_iter().filter(|id| changed(kind, *id)).collect::<BTreeSet<_>>();
        let changed_after = Some(after);
        let affiliates =
            clients.affiliates.list_affiliates(ListAffiliatesRequest { changed_after, ..Default::default() }).await;
        let affiliates = listed(affiliates, |page| page.affiliates.into_iter().map(|record| record.id).collect());
        let all = last.affiliates.iter().map(|record| record.id).collect();
        assert_eq!(affiliates.await.unwrap(), expected("affiliate", all), "{after}");
        for identifier in [None, Some("A"), Some("B")] {
            let of_affiliate = |url: &&ComplianceUrl| identifier.is_none() || url.affiliate_id.as_deref() == identifier;
            let named = |record: &&Affiliate| record.client_distributor_id.as_deref() == identifier;
            let distributor_id = last.affiliates.iter().find(named).map(|record| record.id);
            let request = ListAllComplianceUrlsRequest { distributor_id, changed_after, ..Default::default() };
            let urls = clients.urls.list_all_compliance_urls(request).await;
            let urls = listed(urls, |page| page.urls.into_iter().map(|record| record.id).collect());
            let all = last.urls.iter().filter(of_affiliate);
            assert_eq!(urls.await.unwrap(), expected("url", all.map(|url| url.id).collect()), "{after}");
        }
        let request = ListAllComplianceCasesRequest { changed_after, ..Default::default() };
        let cases = clients.cases.list_all_compliance_cases(request).await;
        let cases = listed(cases, |page| page.cases.into_iter().map(|record| record.case_id).collect());
        assert_eq!(cases.await.unwrap(), BTreeSet::new(), "{after}");
        let urls = clients.monitoring.export_urls(ExportUrlsRequest { changed_after, ..Default::default() }).await;
        let urls =
            listed(urls, |page| vec![0; page.observations.len()].into_iter().chain([page.last_url_id]).collect());
        let all: Vec<i64> = last.urls.iter().map(|url| url.id).collect();
        let newest = expected("url", all).last().copied();
        assert_eq!(urls.await.unwrap().last().copied(), newest, "{after}");
    }
    let request = ListAffiliatesRequest { changed_after: Some(last.position + 1), ..Default::default() };
    let refused = listed(clients.affiliates.list_affiliates(request).await, |_| Vec::new()).await.unwrap_err();
    assert_eq!(reason_of(&refused), "POSITION_GONE");
}

/// Above a limit, the core stops collecting changed IDs and returns all records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_after_falls_back_to_all_records() {
    let core = TestCore::start().await;
    let company = new_company();
    let rows = core_server::limits::CHANGED_ROWS;
    let entries = core_server::limits::CHANGED_ENTRIES;
    let records = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) select {company}, n, n, n from generate_series(1, 3) n;
        update affiliates set city = 'X' where company_id = {company} and id = 2"
    );
    // Adds updates of the second record: `rows` rows with `entries` entries each.
    let many = |from: i64, rows: i64, entries: i64| {
        format!(
            "insert into changes (company_id, position, changed_at, resource, columns, operation, ids, records)
                select {company}, {from} + n * {entries}, now(), 1, 44, 2, array_fill(2::bigint, array[{entries}]),
                    array_fill(',\"city\":[null, null]'::text, array[{entries}])
                from generate_series(1, {rows}) n;
            update change_positions set position = {from} + {rows} * {entries} where company_id = {company}"
        )
    };
    for (number, (records, first)) in
        [(records, 4), (many(4, rows, 1), 4 + rows), (many(4 + rows, entries / 1000, 1000), 0)].into_iter().enumerate()
    {
        for statement in records.split(";\n") {
            sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&core.pool).await.unwrap();
        }
        let mut clients = core.company(company);
        let last = list(&mut clients, ListChangesRequest::default()).await.unwrap().last_position;
        let expected: &[(i64, &[i64])] = match number {
            0 => &[(0, &[1, 2, 3]), (3, &[2]), (4, &[])],
            // One row below the limit, and exactly at the limit.
            1 => &[(last - rows + 1, &[2]), (last - rows, &[1, 2, 3]), (0, &[1, 2, 3])],
            _ => &[(last - entries, &[2]), (last - entries - 1, &[1, 2, 3]), (first, &[1, 2, 3])],
        };
        for (after, ids) in expected {
            let request = ListAffiliatesRequest { changed_after: Some(*after), ..Default::default() };
            let found = clients.affiliates.list_affiliates(request).await;
            let found =
                listed(found, |page| page.affiliates.into_iter().map(|record| record.id).collect()).await.unwrap();
            assert_eq!(found.into_iter().collect::<Vec<_>>(), *ids, "{number}: after {after} of {last}");
        }
    }
}

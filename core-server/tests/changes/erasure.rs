//! Tests that erasure removes personal data, keeps the chain valid, and leaves other records intact.

use std::collections::BTreeSet;

use compliance_api::v1::{EraseAffiliateRequest, ListChangesRequest};
use core_server::{
    audit::{self, Broken},
    doctor::check_counts,
    erasure,
};
use futures::future::join_all;
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use test_support::{GrpcClients, TestCore, new_company};
use tonic::Code;

use super::{all, list, replay::Copy};
use crate::monitoring::builders::{observation, opening, some, url_incident};

/// Marker in every text of an erased affiliate or company.
const CANARY: &str = "qzcanary";

async fn run(pool: &PgPool, statements: &str, company: i64) {
    for statement in statements.split(";\n") {
        raw(pool, statement, company).await;
    }
}

async fn raw(pool: &PgPool, statement: &str, company: i64) {
    let statement = statement.replace("{company}", &company.to_string());
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// Adds affiliates 1 and 2 with records of every kind, in shared rows. Texts contain the canary or, for affiliate 2, `others`.
async fn fill(pool: &PgPool, company: i64) {
    let records = "
        insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, status, start_date)
            values ({company}, 1, 'a', 'a', 'active', '2024-01-02'), ({company}, 2, 'b', 'b', 'active', null);
        insert into compliance_cases (company_id, id, affiliate_id) values ({company}, 1, 1), ({company}, 2, 2), ({company}, 3, 1);
        insert into compliance_urls (company_id, id, url, url_hash, affiliate_id)
            values ({company}, 1, '1', 'qzcanary', 1), ({company}, 2, '2', '2', 2), ({company}, 3, '3', '3', 1);
        insert into infractions (company_id, url_id, infraction_type_id) values ({company}, 1, 1), ({company}, 2, 1);
        insert into incidents (company_id, id, case_id, incident_type, url_id) values ({company}, 11, 1, 1, 1), ({company}, 12, 2, 1, 2);
        insert into incidents (company_id, id, case_id, incident_type, reference)
            values ({company}, 13, 1, 2, 'qzcanary early'), ({company}, 14, 2, 2, 'others'), ({company}, 15, 3, 2, 'qzcanary')";
    run(pool, records, company).await;
    let texts = "select c.table_name::text, c.column_name::text, c.data_type::text, k.column_name is not null
        from information_schema.columns c
        left join information_schema.columns k on k.table_name = c.table_name and k.column_name = 'affiliate_id'
        where c.table_schema = current_schema() and c.data_type in ('text', 'ARRAY', 'bytea')
            and c.table_name in ('affiliates', 'compliance_cases', 'compliance_urls') and c.column_name <> 'status'";
    let texts: Vec<(String, String, String, bool)> = sqlx::query_as(texts).fetch_all(pool).await.unwrap();
    assert!(texts.len() > 50, "{texts:?}");
    for (table, column, kind, has_affiliate) in texts {
        let affiliate = if has_affiliate { "affiliate_id" } else { "id" };
        // Citus accepts only immutable functions here.
        let text = format!("case when {affiliate} = 1 then '{CANARY} ' else 'others ' end || id::text");
        let bytes = format!("case when {affiliate} = 1 then '{CANARY}' else 'others' end::bytea || int8send(id)");
        let value = match &*kind {
            "ARRAY" => format!("array[{text}]"),
            "bytea" => bytes,
            _ => text,
        };
        run(pool, &format!("update {table} set {column} = {value} where company_id = {{company}}"), company).await;
    }
    // Deleted records: an incident, and a URL with its infraction.
    let gone = "
        delete from incidents where company_id = {company} and id = 13;
        insert into compliance_urls (company_id, id, url, url_hash, affiliate_id) values ({company}, 4, 'qzcanary 4', '4', 1);
        insert into infractions (company_id, url_id, infraction_type_id) values ({company}, 4, 1);
        delete from infractions where company_id = {company} and url_id = 4;
        delete from compliance_urls where company_id = {company} and id = 4";
    run(pool, gone, company).await;
}

/// Returns the tables in which the company's rows contain `text`, even if it is stored as bytes.
async fn tables_with(pool: &PgPool, company: i64, text: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for table in erasure::tables() {
        let has = format!(
            "select exists (select from {table} t where company_id = $1 and (t::text like '%{text}%'
                or t::text like '%' || encode('{text}', 'hex') || '%'))"
        );
        if sqlx::query_scalar(AssertSqlSafe(has)).bind(company).fetch_one(pool).await.unwrap() {
            found.insert(table);
        }
    }
    found
}

async fn erase(clients: &mut GrpcClients, id: i64) -> Result<[i64; 4], tonic::Status> {
    let erased =
        clients.erasures.erase_affiliate(EraseAffiliateRequest { id, etag: String::new() }).await?.into_inner();
    Ok([erased.urls, erased.cases, erased.incidents, erased.infractions])
}

async fn broken(connection: &mut PgConnection, company: i64) -> Option<Broken> {
    audit::verify(connection, company).await.unwrap()
}

/// Rebuilds the current records from the changes alone.
async fn replayed(clients: &mut GrpcClients) -> Copy {
    let mut copy = Copy::default();
    for change in all(clients, 0, 1000).await {
        copy.apply(change);
    }
    copy
}

async fn assert_counts_are_right(pool: &PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    assert_eq!(check_counts(&mut connection, false).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn affiliate_erasure_removes_all_personal_data() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    fill(&core.pool, company).await;
    let with_canary = ["affiliates", "changes", "compliance_cases", "compliance_urls", "incidents"];
    assert_eq!(tables_with(&core.pool, company, CANARY).await, BTreeSet::from(with_canary));
    let mut connection = core.pool.acquire().await.unwrap();
    let before = audit::checkpoint(&mut *connection, company).await.unwrap().unwrap();
    let others_before = tables_with(&core.pool, company, "others").await;

    assert_eq!(erase(&mut clients, 1).await.unwrap(), [2, 2, 2, 1]);
    assert_eq!(tables_with(&core.pool, company, CANARY).await, BTreeSet::new());
    // The other affiliate's data is untouched, such as its reference in `incidents`.
    assert_eq!(tables_with(&core.pool, company, "others").await, others_before);
    assert_eq!(erase(&mut clients, 1).await.unwrap_err().code(), Code::NotFound);
    assert_counts_are_right(&core.pool).await;

    assert_eq!(broken(&mut connection, company).await, None);
    assert_eq!(audit::compare(&mut connection, &before).await.unwrap(), None);
    assert!(audit::erased(&mut *connection, company).await.unwrap() > 50);

    let changes = all(&mut clients, 0, 1000).await;
    let last = changes.last().unwrap();
    assert_eq!((&*last.resource, last.id, &*last.operation, last.fields.len()), ("affiliate", 1, "erased", 0));
    let first: Vec<_> = changes[0].fields.iter().map(|field| (&*field.field, field.after.as_deref())).collect();
    assert_eq!(first, [("etag", Some("1")), ("start_date", Some("2024-01-02")), ("status", Some("active"))]);
    let copy = replayed(&mut clients).await;
    for (kind, ids) in [("affiliate", &[2][..]), ("url", &[2]), ("case", &[2]), ("incident", &[12, 14])] {
        assert_eq!(copy.of(kind).map(|(id, _)| id).collect::<Vec<_>>(), ids, "{kind}");
    }
    assert!(copy.of("url").all(|(_, fields)| fields["note"] == "others 2" && fields["url"] == "others 2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_rows_can_be_erased_twice() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    fill(&core.pool, company).await;
    let mut connection = core.pool.acquire().await.unwrap();
    let before = audit::checkpoint(&mut *connection, company).await.unwrap().unwrap();
    for affiliate in [1, 2] {
        erase(&mut clients, affiliate).await.unwrap();
        assert_eq!(broken(&mut connection, company).await, None);
    }
    let left =
        "select count(*) from changes where company_id = $1 and resource < 6 and records::text ~ 'qzcanary|others'";
    assert_eq!(sqlx::query_scalar::<_, i64>(left).bind(company).fetch_one(&mut *connection).await.unwrap(), 0);
    assert_eq!(audit::compare(&mut connection, &before).await.unwrap(), None);
    assert_eq!(replayed(&mut clients).await.of("url").count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_distinguishes_manual_edits_from_erasures() {
    let core = TestCore::start().await;
    let altered = |first, last| Some(Broken::Altered { first, last });
    for (damage, expected) in [
        // Edits to the row that contains the erased affiliate.
        (
            "update changes set records[1] = replace(records[1], 'active', 'terminated') where position = 2",
            altered(1, 2),
        ),
        ("update changes set records[2] = replace(records[2], 'b', 'c') where position = 2", altered(1, 2)),
        ("update changes set key = '00000000-0000-4000-8000-000000000000' where position = 2", altered(1, 2)),
        ("update changes set erased_digest = null where position = 2", altered(1, 2)),
        ("update changes set erased_digest = sha256('x') where position = 2", altered(1, 2)),
        // A different row, edited to look erased.
        (
            "do $$
            declare
                digest bytea;
            begin
                select change_digest(resource, columns, operation, ids, records, changed_by, key) into digest
                from changes where company_id = {company} and position = 3;
                update changes set records[1] = '', erased_digest = digest where company_id = {company} and position = 3;
            end
            $$",
            altered(3, 3),
        ),
        // Edits to the erasure entry.
        ("update changes set records = '{}' where operation = 4", altered(1, 2)),
        ("update changes set records = '{x}' where operation = 4", altered(1, 2)),
        (r#"update changes set records = array['{"2": "x"}'] where operation = 4"#, altered(1, 2)),
    ] {
        let company = new_company();
        let records = "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, status)
                values ({company}, 1, 'a', 'a', 'active'), ({company}, 2, 'b', 'b', 'active');
            update affiliates set city = 'b' where company_id = {company} and id = 2";
        run(&core.pool, records, company).await;
        erase(&mut core.company(company), 1).await.unwrap();
        let mut connection = core.pool.acquire().await.unwrap();
        assert_eq!(broken(&mut connection, company).await, None);
        let of_company = if damage.starts_with("do") { "" } else { "and company_id = {company}" };
        raw(&core.pool, &format!("{damage} {of_company}"), company).await;
        assert_eq!(broken(&mut connection, company).await, expected, "{damage}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_affiliates_are_erased_in_batches() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    let many = core_server::limits::ERASED_RECORDS * 2 + 1;
    let records = format!(
        "insert into affiliates (company_id, id, client_affiliate_id, affiliate_name) values ({{company}}, 1, 'qzcanary', 'a');
        insert into compliance_urls (company_id, url, url_hash, affiliate_id)
            select {{company}}, 'qzcanary ' || n, int8send(n), 1 from generate_series(1, {many}) n"
    );
    run(&core.pool, &records, company).await;
    let before = all(&mut clients, 0, 1000).await;
    let refused = erase(&mut clients, 1).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(all(&mut clients, 0, 1000).await, before);

    let mut connection = core.pool.acquire().await.unwrap();
    let erased = erasure::erase_affiliate(&mut connection, company, 1).await.unwrap().unwrap();
    assert_eq!((erased.urls, erased.cases), (many, 0));
    assert_eq!(erasure::erase_affiliate(&mut connection, company, 1).await.unwrap(), None);
    assert_eq!(tables_with(&core.pool, company, CANARY).await, BTreeSet::new());
    assert_eq!(broken(&mut connection, company).await, None);
    let changes = all(&mut clients, 0, 1000).await;
    let erased: Vec<_> = changes.iter().filter(|change| change.operation == "erased").collect();
    assert_eq!(erased.len(), 3);
    assert!(erased.iter().all(|change| change.id == 1 && change.subject.as_deref() == Some("compliance erase")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn company_erasure_removes_all_personal_data() {
    let core = TestCore::start().await;
    let (company, other) = (new_company(), new_company());
    for company in [company, other] {
        fill(&core.pool, company).await;
        let name =
            "insert into vocabulary_entries (company_id, vocabulary, name) values ({company}, 1, 'qzcanary others')";
        run(&core.pool, name, company).await;
    }
    erase(&mut core.company(company), 2).await.unwrap();
    let with_company = "select table_name::text from information_schema.columns
        where table_schema = current_schema() and column_name = 'company_id'
            and table_name in (select relname from pg_class where relkind in ('r', 'p') and not relispartition)";
    let with_company: Vec<String> = sqlx::query_scalar(with_company).fetch_all(&core.pool).await.unwrap();
    assert_eq!(
        with_company.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        erasure::tables().collect(),
        "`erasure::tables` must list every table with a `company_id`"
    );
    let mut connection = core.pool.acquire().await.unwrap();
    let before = audit::checkpoint(&mut *connection, company).await.unwrap().unwrap();
    let tables = ["affiliates", "changes", "compliance_cases", "compliance_urls", "incidents", "vocabulary_entries"];
    for company in [company, other] {
        assert_eq!(tables_with(&core.pool, company, CANARY).await, BTreeSet::from(tables));
    }
    for _ in 0..2 {
        erasure::erase_company(&mut connection, company).await.unwrap();
        assert!(erasure::rows_by_table(&mut connection, company).await.unwrap().iter().all(|(_, rows)| *rows == 0));
        assert_eq!(tables_with(&core.pool, company, "%").await, BTreeSet::from(["change_positions", "changes"]));
        for text in [CANARY, "others"] {
            assert_eq!(tables_with(&core.pool, company, text).await, BTreeSet::new());
        }
        for company in [company, other] {
            assert_eq!(broken(&mut connection, company).await, None);
        }
        assert_counts_are_right(&core.pool).await;
    }
    assert_eq!(audit::compare(&mut connection, &before).await.unwrap(), None);
    assert_eq!(tables_with(&core.pool, other, CANARY).await, BTreeSet::from(tables));

    let mut clients = core.company(company);
    let changes = all(&mut clients, 0, 1000).await;
    let last = changes.last().unwrap();
    assert_eq!((&*last.resource, last.id, &*last.operation), ("company", company, "erased"));
    assert!(changes.iter().all(|change| change.operation == "erased" || change.subject.is_none()));
    assert!(
        ["affiliate", "url", "case", "incident", "vocabulary_entry"]
            .iter()
            .all(|kind| changes.iter().any(|change| change.resource == *kind))
    );
    // Retention drops erased rows like other rows.
    run(
        &core.pool,
        "update changes set changed_at = '2020-01-05Z' where position <= 5 and company_id = {company}",
        company,
    )
    .await;
    run(&core.pool, "select keep_changes(90)", company).await;
    let page =
        list(&mut clients, ListChangesRequest { after: Some(5), ..ListChangesRequest::default() }).await.unwrap();
    assert_eq!(page.dropped_position, 5);
    assert_eq!(broken(&mut connection, company).await, None);
}

/// A concurrent write either succeeds before the erasure or finds no affiliate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_succeeds_during_concurrent_writes() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut ids = Vec::new();
    for number in 0..8 {
        let mut clients = core.company(company);
        ids.push(clients.affiliate(&format!("{CANARY} {number}")).await);
    }
    let write = async |number: usize| {
        let mut clients = core.company(company);
        for round in 0..6 {
            let affiliate = some(&format!("{CANARY} {number}"));
            let mut seen = observation(&format!("https://{CANARY}.example/{number}/{round}"));
            seen.client_affiliate_id = affiliate.clone();
            clients.observe(vec![seen]).await;
            let mut one = opening(&format!("{number} {round}"));
            one.case.as_mut().unwrap().client_affiliate_id = affiliate;
            one.incidents = vec![url_incident(&format!("https://{CANARY}.example/{number}/{round}"))];
            if let Err(status) = clients.monitoring.open_case(one).await {
                assert!(matches!(status.code(), Code::NotFound | Code::InvalidArgument), "{status:?}");
                return;
            }
        }
    };
    let erase = async |id: i64| {
        erase(&mut core.company(company), id).await.unwrap();
    };
    tokio::join!(join_all((0..8).map(write)), join_all(ids.iter().map(|id| erase(*id))));
    let mut connection = core.pool.acquire().await.unwrap();
    assert_eq!(broken(&mut connection, company).await, None);
    assert_counts_are_right(&core.pool).await;
    let left = "select count(*) from affiliates where company_id = $1";
    assert_eq!(sqlx::query_scalar::<_, i64>(left).bind(company).fetch_one(&mut *connection).await.unwrap(), 0);
    // URLs observed after the erasure have no affiliate.
    erasure::erase_company(&mut connection, company).await.unwrap();
    assert_eq!(tables_with(&core.pool, company, CANARY).await, BTreeSet::new());
    assert_eq!(broken(&mut connection, company).await, None);
}

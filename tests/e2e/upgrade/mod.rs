//! Upgrades from released versions: all old responses stay the same, and new writes work.

mod answers;
mod dump;
mod fill;

use compliance_api::v1::{AffiliateInput, AffiliateUpdate, EraseAffiliateRequest, UpdateAffiliateRequest};
use core_server::{audit, database, doctor::check_counts};
use serde_json::Value;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{Options, TestService, fresh_database};

pub(crate) use self::{answers::Answers, fill::fill};

/// The companies in a dump. The second company has fewer records.
pub(crate) const COMPANIES: [i64; 2] = [101, 102];

/// Checks the dumps in `released/`. With `COMPLIANCE_RELEASE=0.2.0`, first adds a dump of that version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_released_database_can_be_upgraded() {
    if let Ok(version) = std::env::var("COMPLIANCE_RELEASE") {
        make(&version).await;
    }
    let versions = dump::versions();
    assert!(versions.contains(&"0.1.0".to_owned()), "{versions:?}");
    for version in versions {
        upgrade(&version).await;
    }
}

/// Fills a database with this version, and stores its dump and responses.
async fn make(version: &str) {
    let database = fresh_database().await;
    let service = TestService::over(database.options.clone(), Options::default()).await;
    let instants = fill(&service).await;
    let answers = Answers::record(&service, &instants).await;
    drop(service);
    dump::write(version, &database, &answers).await;
}

async fn upgrade(version: &str) {
    let database = dump::load(version).await;
    let pool = database::connect(database.options.clone(), 1).await.unwrap();
    database::migrate(&pool).await.unwrap();
    database::check_complete(&pool).await.unwrap();
    let service = TestService::over(database.options, Options::default()).await;
    let before = dump::answers(version);
    for (path, before, after) in before.repeat(&service).await {
        // A newer version can add fields.
        assert!(contains(&after, &before), "{version} {path}\nbefore: {before}\nafter: {after}");
    }
    is_whole(&pool).await;
    for company in COMPANIES {
        write(&service, company).await;
    }
    is_whole(&pool).await;
}

/// Extra columns must not break change reads. The test also drops one of the columns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn databases_with_extra_columns_can_be_upgraded() {
    let database = dump::load("0.1.0").await;
    let pool = database::connect(database.options.clone(), 1).await.unwrap();
    for change in
        ["add column own_text text default 'a \"b\", (c'", "add column own_number integer", "drop column own_text"]
    {
        let statements = format!(
            "alter table affiliates {change};
            alter table incidents {change};
            insert into affiliates (company_id, client_affiliate_id, affiliate_name, notes)
                select company_id, 'own', 'own ' || count(*), '(1,\"2' from affiliates group by company_id;
            create temporary table kept as table incidents;
            delete from incidents;
            insert into incidents select * from kept;
            drop table kept"
        );
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&pool).await.unwrap();
    }
    database::migrate(&pool).await.unwrap();
    let service = TestService::over(database.options, Options::default()).await;
    is_whole(&pool).await;
    for company in COMPANIES {
        let rest = service.rest(company);
        let mut after = 0;
        loop {
            let changes = rest.get(&format!("/changes?after={after}&limit=1000")).await.with_status(200);
            assert!(!changes.to_string().contains("own_"), "{changes}");
            let position = changes["data"]["position"].as_i64().unwrap();
            if position == after {
                break;
            }
            after = position;
        }
        rest.get("/audit?resource=affiliate").await.with_status(200);
        write(&service, company).await;
    }
    is_whole(&pool).await;
}

/// Checks the record of changes and the list counts.
async fn is_whole(pool: &PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    for company in COMPANIES {
        assert_eq!(audit::verify(&mut connection, company).await.unwrap(), None, "company {company}");
    }
    assert_eq!(check_counts(&mut connection, false).await.unwrap(), []);
}

/// Changes and erases old records, creates new records, and checks that the record of changes continues.
async fn write(service: &TestService, company: i64) {
    let rest = service.rest(company);
    let last = async || rest.get("/changes").await.with_status(200)["data"]["position"].as_i64().unwrap();
    let start = last().await;
    let mut grpc = service.grpc(company).await;
    let affiliates = rest.get("/affiliates").await.with_status(200);
    let ids: Vec<i64> =
        affiliates["data"].as_array().unwrap().iter().map(|record| record["id"].as_i64().unwrap()).collect();
    let fields = AffiliateInput { city: Some("Upgraded".to_owned()), ..AffiliateInput::default() };
    let update = AffiliateUpdate { id: Some(ids[0]), affiliate: Some(fields), ..AffiliateUpdate::default() };
    let request = UpdateAffiliateRequest { update: Some(update) };
    grpc.affiliates.update_affiliate(request).await.unwrap();
    grpc.erasures.erase_affiliate(EraseAffiliateRequest { id: ids[1], etag: String::new() }).await.unwrap();
    fill::write_kinds(service, company, "new").await;
    let urls = rest.get("/urls?sort_by=id&sort_dir=desc").await.with_status(200);
    assert!(urls["data"][0]["url"].as_str().unwrap().contains("/new"), "{urls}");
    let changes = rest.get(&format!("/changes?after={start}&limit=1000")).await.with_status(200);
    assert_eq!(changes["data"]["changes"][0]["position"].as_i64(), Some(start + 1), "{changes}");
    assert!(last().await > start + 10);
}

/// Returns whether a value contains another value. Arrays have equal lengths, and objects can have more fields.
fn contains(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(value), Value::Object(other)) => other.iter().all(|(name, other)| {
            value.get(name).is_some_and(|value| match name.as_str() {
                // A newer version can add an etag to a record.
                "etag" => other.is_null() || version_of(value) == version_of(other),
                _ => contains(value, other),
            })
        }),
        (Value::Array(value), Value::Array(other)) => {
            value.len() == other.len() && value.iter().zip(other).all(|(value, other)| contains(value, other))
        }
        (value, other) => value == other,
    }
}

/// Returns the record version from an etag. The part after the dot is the affiliate's version or, in earlier releases, a digest.
fn version_of(etag: &Value) -> Option<&str> {
    etag.as_str()?.trim_end_matches('"').split('.').next()
}

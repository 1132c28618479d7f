//! No company affects another company: responses and rows are the same as if each company were alone in its database.
//!
//! In one run, both companies share their identifiers, so a statement without the company finds two records or the wrong record. IDs, names, URLs
//! and request IDs are the same, but they identify different records. Vocabulary names and affiliate identifiers are swapped, and every other text
//! names its company. In another run, the company has no records, so every identifier belongs to the other company and must look unknown.

use std::collections::{BTreeMap, BTreeSet};

use compliance_api::v1::VocabularyKind;
use prost_reflect::{DynamicMessage, Kind};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{RestResponse, TestService, new_company, token};

use super::{
    operations,
    routes::{ROUTES, filled},
    rows_of,
    twin_calls::{Call, Twin, calls},
};
use crate::described::messages::{Path, contract, name, operations as described, paths, shown};

/// Text fields that identify a record.
const NAMING_TEXTS: [&str; 9] = [
    "affiliate_name",
    "case_status",
    "client_affiliate_id",
    "incident_status",
    "infraction_name",
    "name",
    "reference",
    "request_id",
    "url",
];

/// One of the two companies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

pub(super) const AFFILIATE: i64 = 5001;
pub(super) const UPLINE: i64 = 5002;
pub(super) const URL: i64 = 6001;
pub(super) const OTHER_URL: i64 = 6002;
pub(super) const CASE: i64 = 7001;
pub(super) const INCIDENT: i64 = 7501;
pub(super) const WEBHOOK: i64 = 7701;

impl Side {
    /// Returns the company's name in its texts.
    fn name(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    /// Returns the other company's name in its texts.
    pub(super) fn other(self) -> &'static str {
        match self {
            Self::Left => "RIGHT",
            Self::Right => "LEFT",
        }
    }

    /// Inserts the company's records.
    pub(super) async fn fill(self, pool: &PgPool, company: i64) {
        let (name, other) = (self.name(), self.other());
        let [first, second] = if self == Self::Left { ["A", "B"] } else { ["B", "A"] };
        let (incident, case) = (VocabularyKind::UrlIncidentStatus as i32, VocabularyKind::CaseStatus as i32);
        let statements = format!(
            "insert into vocabulary_entries (company_id, vocabulary, id, name) values
                ({company}, {incident}, 5101, 'Status {first}'), ({company}, {incident}, 5102, 'Status {second}'),
                ({company}, {case}, 5201, 'Case {first}'), ({company}, {case}, 5202, 'Case {second}');
            insert into affiliates (company_id, id, client_affiliate_id, affiliate_name, notes, upline) values
                ({company}, {AFFILIATE}, '{first}', 'Same', '{name} affiliate', '{second}'),
                ({company}, {UPLINE}, '{second}', '{name} upline', '{name} notes', null);
            insert into compliance_cases
                (company_id, id, affiliate_id, case_status_id, case_worker, request_id, created_date) values
                ({company}, {CASE}, {AFFILIATE}, 5201, '{name} worker', 'Same', '2024-05-06Z');
            insert into compliance_urls (company_id, id, url, url_hash, affiliate_id, incident_status_id, note,
                    discovery_date, last_review_date) values
                ({company}, {URL}, 'https://same.example/', sha256('https://same.example/'), {AFFILIATE}, 5101,
                    '{name} note', '2024-05-06Z', '2024-05-07Z'),
                ({company}, {OTHER_URL}, 'https://{low}.example/', sha256('https://{low}.example/'), {UPLINE}, 5102,
                    '{name} note', '2024-05-08Z', null);
            insert into infractions (company_id, id, url_id, infraction_type_id, infraction_name_id, created_date) values
                ({company}, 7601, {URL}, 2, 8, '2024-05-06Z');
            insert into incidents
                (company_id, id, case_id, incident_type, url_id, infraction_type_id, infraction_name_id) values
                ({company}, {INCIDENT}, {CASE}, 1, {URL}, 2, 8);
            insert into webhooks (company_id, id, url, types, description, secret, position) values
                ({company}, {WEBHOOK}, 'https://127.0.0.1:1/{low}', '{{}}', '{name} webhook', 'whsec_{name}', 0);
            insert into webhook_deliveries
                (company_id, webhook_id, number, message_id, after, position, attempt, started_at, duration_ms, error) values
                ({company}, {WEBHOOK}, 1, 'msg_1', 0, 1, 1, '2024-05-06Z', 5, '{name} error');",
            low = name.to_lowercase(),
        );
        assert!(!statements.contains(other), "{statements}");
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_has_a_call() {
    let called: BTreeSet<String> = calls().iter().map(|(operation, _)| (*operation).to_owned()).collect();
    assert_eq!(called, operations());
}

/// A company's step: a gRPC call, or a REST route with a local or remote core.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Grpc(&'static str, Call),
    Rest(bool, &'static (&'static str, &'static str, &'static str)),
}

impl Step {
    pub(super) fn name(self) -> String {
        match self {
            Self::Grpc(operation, _) => operation.to_owned(),
            Self::Rest(remote, (method, path, _)) => format!("{method} {path}, remote: {remote}"),
        }
    }
}

/// Returns every operation over gRPC, and every route with a local and a remote core.
pub(super) fn steps() -> Vec<Step> {
    let calls = calls().into_iter().map(|(operation, call)| Step::Grpc(operation, call));
    let routes = |remote| ROUTES.iter().map(move |route| Step::Rest(remote, route));
    calls.chain([false, true].into_iter().flat_map(routes)).collect()
}

/// Each operation's request messages.
type Requests = BTreeMap<&'static str, Vec<Vec<u8>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn companies_cannot_observe_each_other() {
    let (alone, together) = (TestService::start().await, TestService::start().await);
    for service in [&alone, &together] {
        // New IDs differ from the IDs above, and all belong to one count bucket.
        let sequences = "select setval(oid::regclass, 103500) from pg_class
            where relkind = 'S' and relnamespace = 'public'::regnamespace";
        sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
    }
    let (mut noticed, mut with_own_texts, mut requests) = (BTreeSet::new(), 0, Requests::new());
    for step in steps() {
        for (side, has_records) in [(Side::Left, true), (Side::Right, true), (Side::Left, false)] {
            let name = step.name();
            forget_all(&alone.pool).await;
            let expected = outcome(&alone, (side, has_records), false, step, &mut requests).await;
            let found = outcome(&together, (side, has_records), true, step, &mut requests).await;
            if found != expected {
                println!("{name}, with records: {has_records}\nalone: {expected:#?}\nwith another company: {found:#?}");
                noticed.insert(name.clone());
            }
            assert!(!has_records || !expected.0.starts_with("Err"), "{name} fails: {}", expected.0);
            with_own_texts += usize::from(expected.0.contains(side.name()));
        }
    }
    assert!(noticed.is_empty(), "these steps reveal another company: {noticed:#?}");
    // The responses include lists, single records, batches and exports, for both companies.
    assert!(with_own_texts >= 2 * 30, "only {with_own_texts} responses show their company's texts");
    let unnamed = unnamed(&requests);
    assert!(unnamed.is_empty(), "no call uses these fields: {unnamed:#?}");
}

/// Runs a company's step, with or without records and with or without the other company.
///
/// Returns the response and the company's rows, without random parts. The other company's rows must not change.
async fn outcome(
    service: &TestService,
    (side, has_records): (Side, bool),
    has_twin: bool,
    step: Step,
    requests: &mut Requests,
) -> (String, String) {
    // The company IDs are far from all other numbers. A statement without an order can find the lower company ID first.
    let mut companies = [new_company(), new_company()].map(|company| 1_000_000 + company);
    let twin = if side == Side::Left { Side::Right } else { Side::Left };
    if side == Side::Right {
        companies.reverse();
    }
    let [company, other] = companies;
    if has_records {
        side.fill(&service.pool, company).await;
    }
    if has_twin {
        twin.fill(&service.pool, other).await;
    }
    let before = rows_of(&service.pool, other).await;
    assert_eq!(before.is_empty(), !has_twin);
    let mut sent = Vec::new();
    let response = perform(service, (side, company), step, &mut sent).await;
    if let Step::Grpc(operation, _) = step {
        requests.entry(operation).or_default().append(&mut sent);
    }
    let rows = rows_of(&service.pool, company).await;
    let other =
        if rows_of(&service.pool, other).await == before { "" } else { "the other company's rows have changed" };
    (normalized(&response), normalized(&rows) + other)
}

/// Performs a step as a company and returns the response. `sent` receives the request messages.
pub(super) async fn perform(
    service: &TestService,
    (side, company): (Side, i64),
    step: Step,
    sent: &mut Vec<Vec<u8>>,
) -> String {
    match step {
        Step::Grpc(_, call) => {
            let (grpc, token) = (service.grpc(company).await, token(company));
            let mut caller = Twin { grpc, token, side, requests: Vec::new() };
            let response = call(&mut caller).await;
            sent.append(&mut caller.requests);
            response
        }
        Step::Rest(remote, (method, path, body)) => {
            let rest = if remote { service.rest_remote(company) } else { service.rest(company) };
            let ids = [AFFILIATE, UPLINE, URL, CASE].map(|id| id.to_string());
            let filled = |text: &str| filled(text, ids.each_ref().map(String::as_str));
            // The default request ID is random.
            let request = rest.request(method, &filled(path)).header("x-request-id", "twin");
            let response = RestResponse::of(request.body(filled(body))).await;
            format!("{} {}", response.status, response.text)
        }
    }
}

/// Returns fields that identify records but appear in no request. Calls must use each such field with the other company's record.
fn unnamed(requests: &Requests) -> Vec<String> {
    let mut unnamed = Vec::new();
    for (operation, method) in described(&contract()) {
        let names_a_record = |path: &Path| {
            let field = path.last().unwrap();
            let is_id = |name: &str| ["id", "ids"].contains(&name) || name.ends_with("_id");
            match field.kind() {
                Kind::Int64 | Kind::Int32 => is_id(field.name()),
                Kind::String => NAMING_TEXTS.contains(&field.name()),
                _ => false,
            }
        };
        let sent: Vec<_> = requests.get(operation.as_str()).into_iter().flatten().collect();
        let sent = sent.into_iter().map(|bytes| shown(&DynamicMessage::decode(method.input(), &bytes[..]).unwrap()));
        let sent: String = sent.collect();
        let missing = paths(&method.input()).into_iter().filter(names_a_record).filter(|path| {
            // A nested field counts if the requests contain every name on its path.
            !path.iter().all(|field| sent.contains(&format!("{}: ", field.name())))
        });
        unnamed.extend(missing.map(|path| format!("{operation} {}", name(&path))));
    }
    unnamed
}

/// Removes every company's rows. Skips empty tables, because there are many partitions.
async fn forget_all(pool: &PgPool) {
    let tables = sqlx::query_scalar(
        "select relname::text from pg_class join pg_attribute on attrelid = pg_class.oid
        where relkind = 'r' and relnamespace = 'public'::regnamespace and attname = 'company_id' and not attisdropped",
    );
    let tables: Vec<String> = tables.fetch_all(pool).await.unwrap();
    let has_rows = tables.iter().map(|table| format!("select '{table}' where exists (select 1 from {table})"));
    let has_rows = has_rows.collect::<Vec<_>>().join(" union all ");
    let filled: Vec<String> = sqlx::query_scalar(AssertSqlSafe(has_rows)).fetch_all(pool).await.unwrap();
    if !filled.is_empty() {
        let statement = format!("truncate {} cascade", filled.join(", "));
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
    }
}

/// Sorts a text's lines and replaces every number that can differ between runs with `#`.
///
/// Keeps single digits, the IDs above, result codes and statuses.
pub(super) fn normalized(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(|line| without_numbers(&without_chance(line))).collect();
    lines.sort();
    lines.join("\n")
}

/// Removes random webhook secrets and durations from a line.
fn without_chance(line: &str) -> String {
    let without = |line: &str, before: &str, other: &str| {
        let is_chance = |character: char| character.is_ascii_alphanumeric() || other.contains(character);
        let mut parts = line.split(before);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |kept, part| format!("{kept}{before}{}", part.trim_start_matches(is_chance)))
    };
    without(&without(line, "whsec_", "+/="), "duration_ms", "\": ")
}

fn without_numbers(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| start + length);
        kept.push_str(&rest[..start]);
        let number = &rest[start..digits];
        let is_known = |known: [&str; 2]| number.len() == known[0].len() && (known[0]..=known[1]).contains(&number);
        // The IDs above, result codes and statuses.
        let is_known = [["5000", "7999"], ["1000", "1099"], ["200", "599"]].into_iter().any(is_known);
        rest = &rest[digits..];
        // A fraction of a second can look like an ID.
        let is_fraction = kept.ends_with('.') && rest.starts_with('+');
        kept.push_str(if !is_fraction && (number.len() == 1 || is_known) { number } else { "#" });
    }
    kept.push_str(rest);
    kept
}

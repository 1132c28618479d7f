//! No company affects another company: responses and rows are the same as if each company were alone in its database.
//!
//! In one run, both companies share their identifiers, so a statement without the company finds two records or the wrong record. IDs, names, URLs
//! and request IDs are the same, but they identify different records. Vocabulary names and affiliate identifiers are swapped, and every other text
//! names its company. In another run, the company has no records, so every identifier belongs to the other company and must look unknown.

use std::collections::{BTreeMap, BTreeSet};

use compliance_api::v1::VocabularyKind;
use prost_reflect::{DynamicMessage, Kind};
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{RestResponse, new_company, token};

use super::{
    Fixture, operations,
    repeats::is_repeatable,
    routes::{ROUTES, filled},
    twin_calls::{self, CALLS, Call},
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
const OTHER_URL: i64 = 6002;
pub(super) const CASE: i64 = 7001;
const INCIDENT: i64 = 7501;
const WEBHOOK: i64 = 7701;

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
    let called: BTreeSet<String> = CALLS.iter().map(|(operation, _)| (*operation).to_owned()).collect();
    assert_eq!(called, operations());
}

/// A company's step: a gRPC call, or a REST route with a local or remote core.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Grpc(Call),
    Rest(bool, &'static (&'static str, &'static str, &'static str)),
}

impl Step {
    pub(super) fn name(self) -> String {
        match self {
            Self::Grpc((operation, _)) => operation.to_owned(),
            Self::Rest(remote, (method, path, _)) => format!("{method} {path}, remote: {remote}"),
        }
    }

    /// Returns the companies that run the step, with or without records. A gateway only translates, so each gateway runs some of them.
    fn sides(self) -> Vec<(Side, bool)> {
        match self {
            Self::Grpc(..) => vec![(Side::Left, true), (Side::Right, true), (Side::Left, false)],
            Self::Rest(false, _) => vec![(Side::Left, true), (Side::Left, false)],
            Self::Rest(true, _) => vec![(Side::Right, true)],
        }
    }
}

/// Returns every operation over gRPC, and every route with a local and a remote core.
fn steps() -> Vec<Step> {
    let calls = CALLS.iter().map(|call| Step::Grpc(*call));
    let routes = |remote| ROUTES.iter().map(move |route| Step::Rest(remote, route));
    calls.chain([false, true].into_iter().flat_map(routes)).collect()
}

/// Each operation's request messages.
type Requests = BTreeMap<&'static str, Vec<Vec<u8>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn companies_cannot_observe_each_other() {
    let (alone, together) = tokio::join!(Fixture::start(), Fixture::start());
    let (mut noticed, mut unrepeatable) = (BTreeSet::new(), BTreeSet::new());
    let (mut with_own_texts, mut requests) = (0, Requests::new());
    for step in steps() {
        for (side, has_records) in step.sides() {
            let (name, mut sent) = (step.name(), [Vec::new(), Vec::new()]);
            let [sent_alone, sent_together] = &mut sent;
            let ((expected, is_repeatable), found) = tokio::join!(
                run_alone(&alone, (side, has_records), step, sent_alone),
                run_together(&together, (side, has_records), step, sent_together),
            );
            if found != expected {
                println!("{name}, with records: {has_records}\nalone: {expected:#?}\nwith another company: {found:#?}");
                noticed.insert(name.clone());
            }
            if !is_repeatable {
                unrepeatable.insert(name.clone());
            }
            assert!(!has_records || !expected.response.starts_with("Err"), "{name} fails: {}", expected.response);
            with_own_texts += usize::from(expected.response.contains(side.name()));
            if let Step::Grpc((operation, _)) = step {
                requests.entry(operation).or_default().append(&mut sent.concat());
            }
        }
    }
    assert!(noticed.is_empty(), "these steps reveal another company: {noticed:#?}");
    assert!(unrepeatable.is_empty(), "these requests are not safe to repeat: {unrepeatable:#?}");
    // The responses include lists, single records, batches and exports, for both companies.
    assert!(with_own_texts >= 2 * 30, "only {with_own_texts} responses show their company's texts");
    let unnamed = unnamed(&requests);
    assert!(unnamed.is_empty(), "no call uses these fields: {unnamed:#?}");
}

/// The effects of a step, without random parts.
#[derive(Debug, PartialEq)]
struct Outcome {
    response: String,
    /// The company's rows.
    rows: String,
    /// Whether the other company's rows have changed.
    is_leaking: bool,
}

/// Returns the ID of a new company, far from all other numbers.
fn distant_company() -> i64 {
    1_000_000 + new_company()
}

/// Runs a step of a company without any other company. Returns the outcome, and whether the step can be repeated.
async fn run_alone(
    fixture: &Fixture,
    (side, has_records): (Side, bool),
    step: Step,
    sent: &mut Vec<Vec<u8>>,
) -> (Outcome, bool) {
    let company = distant_company();
    if has_records {
        side.fill(&fixture.service.pool, company).await;
    }
    let response = normalized(&perform(fixture, (side, company), step, sent).await);
    let rows = normalized(&fixture.rows_of(company).await);
    let is_first = side == Side::Left && has_records;
    let is_repeatable = !is_first || is_repeatable(fixture, (side, company), step, &rows).await;
    fixture.forget(company).await;
    (Outcome { response, rows, is_leaking: false }, is_repeatable)
}

/// Runs a step of a company while another company has records with the same IDs.
async fn run_together(
    fixture: &Fixture,
    (side, has_records): (Side, bool),
    step: Step,
    sent: &mut Vec<Vec<u8>>,
) -> Outcome {
    let (mut companies, mut twin) = ([distant_company(), distant_company()], Side::Right);
    // A statement without an order can find the lower company ID first.
    if side == Side::Right {
        companies.reverse();
        twin = Side::Left;
    }
    let [company, other] = companies;
    if has_records {
        side.fill(&fixture.service.pool, company).await;
    }
    twin.fill(&fixture.service.pool, other).await;
    let before = fixture.rows_of(other).await;
    assert!(!before.is_empty());
    let response = normalized(&perform(fixture, (side, company), step, sent).await);
    let rows = normalized(&fixture.rows_of(company).await);
    let is_leaking = fixture.rows_of(other).await != before;
    Outcome { response, rows, is_leaking }
}

/// Performs a step as a company and returns the response. `sent` receives the request messages.
pub(super) async fn perform(
    Fixture { service, core, .. }: &Fixture,
    (side, company): (Side, i64),
    step: Step,
    sent: &mut Vec<Vec<u8>>,
) -> String {
    match step {
        Step::Grpc(call) => {
            let (response, request) = twin_calls::perform(core, &token(company), side, call).await;
            sent.push(request);
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
    let line = without(&without(line, "whsec_", "+/="), "duration_ms", "\": ()");
    // A message omits a duration of zero.
    line.replace(", duration_ms}", "}")
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

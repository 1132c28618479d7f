//! Two companies with the same identifiers throughout: a statement that forgets the company somewhere finds two records,
//! or the wrong one.
//!
//! IDs, names, URLs and request IDs are the same in both; what they stand for is not. The names of the vocabulary and the
//! identifiers of the affiliates are swapped, and every other text names its company. Each operation has to respond, and
//! to leave the rows of its company, exactly as it does for a company that is alone in its database.

use std::collections::BTreeSet;

use compliance_api::v1::VocabularyKind;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{TestService, new_company, tests, token};

use super::{
    operations, rows_of, tables,
    twin_calls::{Call, Twin, calls, lists},
};

tests![every_operation_has_a_call, twins_do_not_notice_each_other];

/// One of the two companies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

pub(super) const AFFILIATE: i64 = 5001;
pub(super) const UPLINE: i64 = 5002;
pub(super) const URL: i64 = 6001;
pub(super) const OTHER_URL: i64 = 6002;
pub(super) const CASE: i64 = 7001;
pub(super) const INCIDENT: i64 = 7501;

impl Side {
    /// The name of the company in its texts.
    fn name(self) -> &'static str {
        match self {
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
        }
    }

    /// The name of the other company in its texts.
    pub(super) fn other(self) -> &'static str {
        match self {
            Self::Left => "RIGHT",
            Self::Right => "LEFT",
        }
    }

    /// Writes the company's records.
    async fn fill(self, pool: &PgPool, company: i64) {
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
                ({company}, {INCIDENT}, {CASE}, 1, {URL}, 2, 8);",
            low = name.to_lowercase(),
        );
        assert!(!statements.contains(other), "{statements}");
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(pool).await.unwrap();
    }
}

async fn every_operation_has_a_call() {
    let called: BTreeSet<String> = calls().into_keys().map(str::to_owned).collect();
    assert_eq!(called, operations());
}

async fn twins_do_not_notice_each_other() {
    let (alone, together) = (TestService::start().await, TestService::start().await);
    for service in [&alone, &together] {
        // What is new gets IDs that no record above has, all in one bucket of the counts.
        let sequences = "select setval(oid::regclass, 103500) from pg_class where relkind = 'S'";
        sqlx::raw_sql(sequences).execute(&service.pool).await.unwrap();
    }
    let mut with_own_texts = 0;
    for call in calls().into_values().chain(lists()) {
        for side in [Side::Left, Side::Right] {
            forget_all(&alone.pool).await;
            let (response, rows) = outcome(&alone, side, None, call).await;
            let other = if side == Side::Left { Side::Right } else { Side::Left };
            let (with_twin, rows_with_twin) = outcome(&together, side, Some(other), call).await;
            assert_eq!(with_twin, response, "the response differs when another company has the same identifiers");
            assert_eq!(rows_with_twin, rows, "the rows differ when another company has the same identifiers");
            with_own_texts += usize::from(response.contains(side.name()));
        }
    }
    // Lists, single records, records in bulk and exports, by either company.
    assert!(with_own_texts >= 2 * 13, "{with_own_texts} responses show a text of their company");
}

/// Fills a company, and its twin if there is to be one, and calls an operation: the response and the rows of the company
/// afterwards, without what differs by chance. The twin's rows must not change.
async fn outcome(service: &TestService, side: Side, twin: Option<Side>, call: Call) -> (String, String) {
    // Far from other numbers that occur.
    let [company, other] = [new_company(), new_company()].map(|company| 1_000_000 + company);
    side.fill(&service.pool, company).await;
    if let Some(twin) = twin {
        twin.fill(&service.pool, other).await;
    }
    let before = rows_of(&service.pool, other).await;
    assert_eq!(before.is_empty(), twin.is_none());
    let response = call(&mut Twin { grpc: service.grpc(company).await, token: token(company), side }).await;
    assert_eq!(rows_of(&service.pool, other).await, before, "a call of {company} changed rows of {other}");
    (normalized(&response), normalized(&rows_of(&service.pool, company).await))
}

/// Removes the rows of every company.
async fn forget_all(pool: &PgPool) {
    let statement = format!("truncate {}", tables(pool).await.join(", "));
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(pool).await.unwrap();
}

/// A text with `#` in place of every number that may differ from run to run: all but digits and the IDs above. Its lines
/// are sorted.
fn normalized(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(without_numbers).collect();
    lines.sort();
    lines.join("\n")
}

fn without_numbers(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[start..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |length| start + length);
        kept.push_str(&rest[..start]);
        let number = &rest[start..digits];
        let is_known = number.len() == 4 && ("5000"..="7999").contains(&number);
        kept.push_str(if number.len() == 1 || is_known { number } else { "#" });
        rest = &rest[digits..];
    }
    kept.push_str(rest);
    kept
}

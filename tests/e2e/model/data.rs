//! Random companies with affiliates, URLs and cases, in the database and as expected records.
//!
//! The values collide often: there are few days, fewer times of day and many nulls. IDs have gaps that span many buckets.

use compliance_api::catalogue::Vocabulary;
use serde_json::{Value, json};
use sqlx::PgPool;
use test_support::new_company;
use time::{OffsetDateTime, macros::format_description};

use super::{Dice, write};
use crate::cases::records;

pub(super) const DAY: i64 = 86_400;
/// Some countries: numeric code and short name.
const COUNTRY: &[(i16, &str)] =
    &[(276, "Germany"), (484, "Mexico"), (250, "France"), (392, "Japan"), (76, "Brazil"), (36, "Australia")];

pub(super) struct World {
    pub(super) companies: Vec<Company>,
}

/// A company with its records in ID order.
pub(super) struct Company {
    pub(super) number: i64,
    pub(super) affiliates: Vec<i64>,
    pub(super) urls: Vec<Url>,
    pub(super) cases: Vec<Case>,
}

/// A URL with its sort keys, the columns to write, and the expected record.
pub(super) struct Url {
    pub(super) id: i64,
    pub(super) discovery: i64,
    pub(super) review: Option<i64>,
    pub(super) seen: Option<i64>,
    pub(super) row: Value,
    pub(super) json: String,
}

pub(super) struct Case {
    pub(super) id: i64,
    pub(super) created: i64,
    pub(super) row: Value,
    pub(super) json: String,
}

/// Formats a timestamp as responses do.
pub(super) fn moment(seconds: i64) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    OffsetDateTime::from_unix_timestamp(seconds).unwrap().format(format).unwrap()
}

fn moment_json(seconds: Option<i64>) -> String {
    seconds.map_or("null".to_owned(), |seconds| format!("\"{}\"", moment(seconds)))
}

fn sql_moment(seconds: Option<i64>) -> Value {
    seconds.map_or(Value::Null, |seconds| json!(format!("{}Z", moment(seconds))))
}

/// Returns a time after 1 November 2023, often at the edge of a day. A few times are extreme.
pub(super) fn random_moment(dice: &mut Dice) -> i64 {
    const FIRST: i64 = 1_698_796_800;
    let day = if dice.once_in(100) {
        *dice.pick(&[-62_135_596_800, -DAY, 0, DAY, 4_102_444_800, 253_402_214_400])
    } else {
        FIRST + dice.below(140) as i64 * DAY
    };
    day + *dice.pick(&[0, 0, 1, 43_200, 86_398, 86_399, 86_399])
}

impl World {
    pub(super) async fn random(dice: &mut Dice, pool: &PgPool) -> Self {
        let mut companies = Vec::new();
        for (affiliates, urls, cases) in [(25, 2500, 900), (6, 500, 200), (2, 25, 10), (1, 0, 0)] {
            companies.push(Company::random(dice, pool, affiliates, urls, cases).await);
        }
        Self { companies }
    }
}

impl Company {
    async fn random(dice: &mut Dice, pool: &PgPool, affiliates: usize, urls: usize, cases: usize) -> Self {
        let number = new_company();
        let mut company = Self { number, affiliates: Vec::new(), urls: Vec::new(), cases: Vec::new() };
        for place in 0..affiliates {
            let id = sqlx::query_scalar(
                "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ($1, $2, $3) returning id",
            );
            let id = id.bind(number).bind(client_id(place)).bind(name(place)).fetch_one(pool).await.unwrap();
            company.affiliates.push(id);
        }
        company.cases = random_cases(dice, &company, cases);
        let rows: Vec<&Value> = company.cases.iter().map(|case| &case.row).collect();
        write::write(dice, pool, "compliance_cases", number, &rows).await;
        company.urls = random_urls(dice, &company, urls);
        let rows: Vec<&Value> = company.urls.iter().map(|url| &url.row).collect();
        write::write(dice, pool, "compliance_urls", number, &rows).await;
        company.add_infractions(dice, pool).await;
        company.add_incidents(dice, pool).await;
        company
    }

    /// Adds infractions to a third of the URLs and to their expected records.
    async fn add_infractions(&mut self, dice: &mut Dice, pool: &PgPool) {
        let mut rows = Vec::new();
        for url in &mut self.urls {
            if !dice.once_in(3) {
                continue;
            }
            let mut expected_rows = Vec::new();
            for kind in 0..=dice.below(3) {
                // A URL's infractions have different types and names.
                let kind = (kind > 0).then_some(kind);
                let (name, date) = (dice.unless(2, |dice| 1 + dice.below(21)), random_moment(dice));
                rows.push(json!({
                    "company_id": self.number, "url_id": url.id, "infraction_type_id": kind, "infraction_name_id": name,
                    "created_date": sql_moment(Some(date)),
                }));
                expected_rows.push(format!(
                    r#"{{"infraction_type":{},"infraction_name":{},"created_date":"{}"}}"#,
                    name_json(Vocabulary::InfractionType, kind),
                    name_json(Vocabulary::InfractionName, name),
                    moment(date)
                ));
            }
            let infractions = format!(r#""infractions":[{}]"#, expected_rows.join(","));
            url.json = url.json.replace(r#""infractions":[]"#, &infractions);
        }
        write::insert(pool, "infractions", &rows).await;
    }

    /// Adds incidents to most cases and to their expected records.
    async fn add_incidents(&mut self, dice: &mut Dice, pool: &PgPool) {
        let mut rows = Vec::new();
        for case in &mut self.cases {
            if dice.once_in(3) {
                continue;
            }
            let mut expected_rows = Vec::new();
            for number in 0..dice.below(4) {
                let (id, kind, reference) = (rows.len() + 1, 2 + dice.below(3), format!("ref {number}"));
                let infraction = dice.unless(2, |dice| 1 + dice.below(8));
                rows.push(json!({
                    "company_id": self.number, "case_id": case.id, "id": id, "incident_type": kind,
                    "reference": reference, "infraction_type_id": infraction,
                }));
                expected_rows.push(format!(
                    r#"{{"incident_id":{id},"incident_type":{},"infraction_type":{},"infraction_name":null,"url_id":null,"url":null,"reference":"{reference}"}}"#,
                    name_json(Vocabulary::IncidentType, Some(kind)),
                    name_json(Vocabulary::InfractionType, infraction)
                ));
            }
            case.json =
                case.json.replace(r#""incidents":[]"#, &format!(r#""incidents":[{}]"#, expected_rows.join(",")));
        }
        write::insert(pool, "incidents", &rows).await;
    }
}

/// Returns a default name as JSON, or `null` if the ID is absent.
fn name_json(vocabulary: Vocabulary, id: Option<usize>) -> String {
    id.map_or("null".to_owned(), |id| json!(vocabulary.default_name(id as i32).unwrap()).to_string())
}

fn client_id(place: usize) -> String {
    format!("C-{}", place + 1)
}

fn name(place: usize) -> String {
    format!("Affiliate {}", place + 1)
}

/// Returns the next ID, usually near the last ID, sometimes several buckets away.
fn next_id(dice: &mut Dice, last: i64) -> i64 {
    last + if dice.once_in(150) { 30_000 } else { 1 + dice.below(40) as i64 }
}

fn random_urls(dice: &mut Dice, company: &Company, count: usize) -> Vec<Url> {
    let mut records = Vec::new();
    let mut id = company.number * 10_000_000;
    for _ in 0..count {
        id = next_id(dice, id);
        let place = dice.unless(3, |dice| dice.below(company.affiliates.len()));
        let affiliate = place.map(|place| company.affiliates[place]);
        let (status, disabled, discovery) = (1 + dice.below(6), dice.once_in(4), random_moment(dice));
        let (review, seen) = (dice.unless(3, random_moment), dice.unless(2, random_moment));
        let (crawl, false_positive) = (dice.unless(2, random_moment), dice.unless(2, |dice| dice.once_in(2)));
        let country = dice.unless(2, |dice| *dice.pick(COUNTRY));
        let transcription = dice.unless(3, |dice| 1 + dice.below(4));
        let case = dice.unless(2, |_| ()).filter(|()| !company.cases.is_empty());
        let case = case.map(|()| dice.pick(&company.cases).id);
        let url = format!("https://example.org/{id}");
        let row = json!({
            "company_id": company.number, "id": id, "url": url, "url_hash": format!("\\x{id:016x}"),
            "domain": "example.org", "incident_status_id": status, "disabled": disabled,
            "false_positive": false_positive, "country": country.map(|(number, _)| number),
            "discovery_date": sql_moment(Some(discovery)), "last_review_date": sql_moment(review),
            "last_crawl_date": sql_moment(crawl), "last_seen": sql_moment(seen), "affiliate_id": affiliate,
            "case_id": case, "note": format!("note {id}"), "transcription_status_id": transcription,
        });
        let text = |text: Option<String>| text.map_or("null".to_owned(), |text| json!(text).to_string());
        let yes_no = |value: bool| if value { r#""yes""# } else { r#""no""# }.to_owned();
        let json = records::url(&[
            ("id", id.to_string()),
            ("url", json!(url).to_string()),
            ("domain", r#""example.org""#.to_owned()),
            ("incident_status", name_json(Vocabulary::UrlIncidentStatus, Some(status))),
            ("disabled", yes_no(disabled)),
            ("false_positive", false_positive.map_or("null".to_owned(), yes_no)),
            ("country", text(country.map(|(_, name)| name.to_owned()))),
            ("discovery_date", moment_json(Some(discovery))),
            ("last_review_date", moment_json(review)),
            ("last_crawl_date", moment_json(crawl)),
            ("last_seen", moment_json(seen)),
            ("affiliate_name", text(place.map(name))),
            ("affiliate_id", text(place.map(client_id))),
            ("case_id", case.map_or("null".to_owned(), |case| case.to_string())),
            ("note", format!("\"note {id}\"")),
            ("transcription_status", name_json(Vocabulary::TranscriptionStatus, transcription)),
        ]);
        records.push(Url { id, discovery, review, seen, row, json });
    }
    records
}

fn random_cases(dice: &mut Dice, company: &Company, count: usize) -> Vec<Case> {
    let mut records = Vec::new();
    let mut id = company.number * 10_000_000;
    for _ in 0..count {
        id = next_id(dice, id);
        let place = dice.below(company.affiliates.len());
        let (affiliate, status, created) = (company.affiliates[place], 1 + dice.below(9), random_moment(dice));
        let sub_status = dice.unless(2, |dice| 1 + dice.below(9));
        let (notice, risk) = (dice.unless(2, |dice| 1 + dice.below(8)), dice.unless(2, |dice| 1 + dice.below(4)));
        let (closed, country) = (dice.unless(2, random_moment), dice.unless(2, |dice| *dice.pick(COUNTRY)));
        let tags: Vec<String> = (0..dice.below(4)).map(|number| format!("tag {number}")).collect();
        let row = json!({
            "company_id": company.number, "id": id, "affiliate_id": affiliate, "tags": tags,
            "case_status_id": status, "sub_status_id": sub_status, "notice_status_id": notice, "risk_level_id": risk,
            "case_country": country.map(|(number, _)| number), "created_date": sql_moment(Some(created)),
            "closed_date": sql_moment(closed),
        });
        let json = records::case(&[
            ("case_id", id.to_string()),
            ("tags", json!(tags).to_string()),
            ("case_status", name_json(Vocabulary::CaseStatus, Some(status))),
            ("sub_status", name_json(Vocabulary::CaseSubStatus, sub_status)),
            ("notice_status", name_json(Vocabulary::NoticeStatus, notice)),
            ("risk_level", name_json(Vocabulary::RiskLevel, risk)),
            ("case_country", country.map_or("null".to_owned(), |(_, name)| json!(name).to_string())),
            ("created_date", moment_json(Some(created))),
            ("closed_date", moment_json(closed)),
            ("affiliate_name", json!(name(place)).to_string()),
            ("affiliate_id", json!(client_id(place)).to_string()),
            ("distributor_id", affiliate.to_string()),
        ]);
        records.push(Case { id, created, row, json });
    }
    records
}

//! Builds cases for any number of items or bytes. The expected results do not depend on the operation's strategy.

use compliance_api::{MAX_VIOLATION_BYTES, rules::MAX_VIOLATIONS};
use core_server::limits::{MANY_AFFILIATES, MESSAGE_RECORDS};
use serde_json::{Map, Value, json};
use storage::limits::COPIES;

use super::{
    Case,
    affiliates::list,
    expect::{
        bad_country_item, batch_created, batch_updated, created_item, duplicate_item, found, invalid, mixed, page,
        text, updated_item, urls_added,
    },
    records::{self, FIELDS, Field, affiliate},
    urls::{body, new_url},
};

/// An affiliate that a case writes and reads.
#[derive(Clone, Default)]
struct Record {
    written: Map<String, Value>,
    /// The non-null fields, by their request names.
    read: Vec<(&'static str, String)>,
}

impl Record {
    fn new(client_id: impl ToString, name: impl ToString) -> Self {
        let mut record = Self::default();
        record.set("client_affiliate_id", &client_id.to_string());
        record.set("affiliate_name", &name.to_string());
        record
    }

    fn set(&mut self, field: &'static str, value: &str) {
        self.written.insert(field.to_owned(), json!(value));
        self.read.push((field, text(value)));
    }

    fn with_sample(&mut self, field: &'static Field) {
        let (written, read) = field.sample();
        self.written.insert(field.0.to_owned(), json!(written));
        self.read.push((field.0, read));
    }

    fn client_id(&self) -> &str {
        self.written["client_affiliate_id"].as_str().unwrap()
    }

    /// Returns the affiliate as it appears in a response, with the ID `<number>`.
    fn read(&self, number: usize) -> String {
        affiliate(&format!("<{number}>"), &self.read)
    }
}

/// Returns the optional affiliate fields.
fn optional() -> Vec<&'static Field> {
    FIELDS.iter().filter(|field| !field.required()).collect()
}

/// Expects a list of these records, with the case's IDs in order.
fn listed_records<'r>(records: impl IntoIterator<Item = &'r Record>) -> super::Expect {
    let records = records.into_iter().enumerate().map(|(index, record)| record.read(index + 1));
    list(&records.collect::<Vec<_>>())
}

fn batch<'r>(records: impl IntoIterator<Item = &'r Record>) -> Value {
    json!({"affiliates": records.into_iter().map(|record| &record.written).collect::<Vec<_>>()})
}

impl Case {
    /// Creates affiliates in a batch.
    fn given_batch(self, records: &[Record]) -> Self {
        let results: Vec<String> = records.iter().map(|record| created_item(record.client_id())).collect();
        self.post("/affiliates", batch(records), batch_created(&results))
    }
}

/// Adds this number of URLs in one request. Some already exist, and some are equal. Each result and ID belongs to the URL at its position.
pub(super) fn urls(count: usize) -> Vec<Case> {
    let present = ["https://example.org/present", "https://example.org/other"];
    let mut urls: Vec<(String, bool)> =
        (0..count).map(|number| (format!("https://example.org/{number}"), true)).collect();
    urls[1] = ("HTTPS://example.ORG:443/present".to_owned(), false);
    urls[3] = ("https://EXAMPLE.org/twin".to_owned(), true);
    urls[4] = ("https://example.org/twin".to_owned(), false);
    urls[count - 2] = (present[1].to_owned(), false);
    urls[count - 1] = ("https://example.org:443/0".to_owned(), false);
    let texts: Vec<&str> = urls.iter().map(|(url, _)| url.as_str()).collect();
    let are_new: Vec<bool> = urls.iter().map(|(_, is_new)| *is_new).collect();
    let mut case = Case::new(format!("{count} URLs, some existing or equal")).given_urls(&present).post(
        "/urls",
        body(&texts),
        urls_added(&are_new),
    );
    let added = urls.iter().filter(|(_, is_new)| *is_new).map(|(url, _)| url);
    for (number, url) in added.enumerate() {
        let id = format!("<{}>", number + 3);
        case = case.get(&format!("/urls/{id}"), found("URL found.", &new_url(&id, url, "example.org")));
    }
    vec![case.post("/urls", body(&texts), urls_added(&vec![false; count]))]
}

/// Creates this number of affiliates in a batch, with their names out of order.
///
/// The batch sets each optional field on only one affiliate: the first or last affiliate, by request order or by name. One name is taken, one repeats
/// an earlier name, and two more items have unknown countries.
pub(super) fn creates(count: usize) -> Vec<Case> {
    let name = |item: usize| format!("N {:05}", (item * 7919 + 5000) % 10_007);
    let mut records: Vec<Record> = (0..count).map(|item| Record::new(format!("C{item}"), name(item))).collect();
    let first_name = (0..count).min_by_key(|item| name(*item)).unwrap();
    let last_name = (0..count).max_by_key(|item| name(*item)).unwrap();
    let ends = [count - 1, 0, last_name, first_name];
    for (number, field) in optional().into_iter().enumerate() {
        records[ends[(number + count) % ends.len()]].with_sample(field);
    }
    let others: Vec<usize> = (0..count).filter(|item| !ends.contains(item)).collect();
    let (taken, twin) = (others[0], others[others.len() - 1]);
    records[taken].written.insert("affiliate_name".to_owned(), json!("Old"));
    records[twin].written.insert("affiliate_name".to_owned(), json!(name(others[1])));

    let (mut items, mut results) = (Vec::new(), Vec::new());
    for (item, record) in records.iter().enumerate() {
        if item == 0 || item == count / 2 {
            let client_id = format!("bad {item}");
            items.push(json!({"client_affiliate_id": client_id, "affiliate_name": client_id, "country": "ZZ"}));
            results.push(bad_country_item(&client_id, "ZZ"));
        }
        items.push(json!(record.written));
        results.push(match record.client_id() {
            client_id if item == taken => duplicate_item(client_id, "<1>"),
            client_id if item == twin => duplicate_item(client_id, "<number>"),
            client_id => created_item(client_id),
        });
    }
    let created = (0..count).filter(|item| ![taken, twin].contains(item)).map(|item| records[item].clone());
    let all: Vec<Record> = std::iter::once(Record::new("0", "Old")).chain(created).collect();
    let case = Case::new(format!("{count} affiliates with optional fields at the ends")).given_affiliate("0", "Old");
    vec![
        case.post("/affiliates", json!({"affiliates": items}), mixed(&results))
            .get("/affiliates", listed_records(&all)),
    ]
}

/// Updates this number of affiliates in a batch, and half as many affiliates twice each.
pub(super) fn updates(count: usize) -> Vec<Case> {
    let reserved = ["city", "zip", "notes", "state"];
    let fields: Vec<_> = optional().into_iter().filter(|field| !reserved.contains(&field.0)).collect();
    let different = (0..count).map(|number| (number, count));
    let twice = (0..count).map(|number| (number % (count / 2), count / 2));
    let change = |(item, (affiliate, affiliates)): (usize, (usize, usize))| {
        let mut change = Map::from_iter([("id".to_owned(), json!(format!("<{}>", affiliate + 1)))]);
        if item < affiliates {
            change.insert(
                fields[affiliate % fields.len()].0.to_owned(),
                json!(fields[affiliate % fields.len()].sample().0),
            );
            change.insert("city".to_owned(), json!("set"));
            change.insert("notes".to_owned(), Value::Null);
        } else {
            change.insert("city".to_owned(), if affiliate % 2 == 0 { Value::Null } else { json!("") });
            change.insert("zip".to_owned(), json!(item.to_string()));
        }
        // IDs are numbers, so they need no quotes.
        (affiliate, json!(change).to_string().replace("\"<", "<").replace(">\"", ">"))
    };
    let case = |name: &str, affiliates: usize, changes: Vec<(usize, String)>| {
        let mut records: Vec<Record> =
            (0..affiliates).map(|number| Record::new(number, format!("N{number}"))).collect();
        let mut given = records.clone();
        for record in &mut given {
            record.set("notes", "before");
        }
        for (number, record) in records.iter_mut().enumerate() {
            record.with_sample(fields[number % fields.len()]);
            match changes.iter().rposition(|(affiliate, _)| *affiliate == number) {
                Some(last) if last >= affiliates => record.set("zip", &last.to_string()),
                _ => record.set("city", "set"),
            }
        }
        let results: Vec<String> = changes.iter().map(|(id, _)| updated_item(&format!("<{}>", id + 1))).collect();
        let changes: Vec<&str> = changes.iter().map(|(_, change)| change.as_str()).collect();
        let body = format!(r#"{{"affiliates":[{}]}}"#, changes.join(","));
        Case::new(format!("{count} updates of {name} affiliates"))
            .given_batch(&given)
            .put("/affiliates/<1>", body, batch_updated(&results))
            .get("/affiliates", listed_records(&records))
    };
    vec![
        case("different", count, different.enumerate().map(change).collect()),
        case("repeated", count / 2, twice.enumerate().map(change).collect()),
    ]
}

/// Sends a batch of this many creates, and a batch of this many updates.
pub(super) fn batches(count: usize) -> Vec<Case> {
    [creates(count), updates(count)].concat()
}

/// Lists this number of affiliates.
pub(super) fn listed(count: usize) -> Vec<Case> {
    let fields = optional();
    let records: Vec<Record> = (0..count)
        .map(|number| {
            let mut record = Record::new(number, format!("N{number}"));
            record.with_sample(fields[number % fields.len()]);
            record
        })
        .collect();
    vec![Case::new(format!("list of {count}")).given_batch(&records).get("/affiliates", listed_records(&records))]
}

/// Returns affiliates with about this total size, as rows and as messages.
fn records_of(count: usize, bytes: usize) -> Vec<Record> {
    let notes = "0123456789é".repeat(bytes / count / 10 + 1);
    let mut records: Vec<Record> =
        (0..count).map(|number| Record::new(format!("C{number}"), format!("N{number}"))).collect();
    for (number, record) in records.iter_mut().enumerate() {
        record.set("notes", &notes.chars().skip(number % 3).take(bytes / count).collect::<String>());
    }
    records
}

/// Lists affiliates in messages of about this size.
pub(super) fn long_records(bytes: usize) -> Vec<Case> {
    let case = |step: usize| {
        let records = records_of(2 * MESSAGE_RECORDS + 1, 2 * (bytes - 200 * step));
        let case = Case::new(format!("list with messages of {} bytes", bytes - 200 * step)).given_batch(&records);
        case.get("/affiliates", listed_records(&records))
    };
    (0..8).map(case).collect()
}

/// Creates batches of about this size, half this size and three times this size with `COPY`.
pub(super) fn copied(bytes: usize) -> Vec<Case> {
    let case = |bytes: usize| {
        let records = records_of(MANY_AFFILIATES, bytes);
        let case = Case::new(format!("copied batch of {bytes} bytes")).given_batch(&records);
        case.get("/affiliates", listed_records(&records))
    };
    [bytes / 2, bytes, 3 * bytes].map(case).to_vec()
}

/// Sends a body of exactly this size.
pub(super) fn bodies(bytes: usize) -> Vec<Case> {
    let count = bytes / 2400 + 1;
    let records = records_of(count, count * 1500);
    let results: Vec<String> = records.iter().map(|record| created_item(record.client_id())).collect();
    let body = batch(&records).to_string();
    let body = format!(r#"{{"pad":"{}",{}"#, "x".repeat(bytes - body.len() - r#""pad":"","#.len()), &body[1..]);
    assert_eq!(body.len(), bytes);
    let case = Case::new(format!("body of {bytes} bytes")).post("/affiliates", body, batch_created(&results));
    vec![case.get("/affiliates", listed_records(&records))]
}

/// Adds a URL with a transcript of this size to a case and to its expected list.
fn with_transcript(case: Case, records: &mut Vec<String>, bytes: usize) -> Case {
    let number = records.len() + 1;
    let transcript: String = ('a'..='z').cycle().skip(number).take(bytes).collect();
    records.push(records::url(&[
        ("id", format!("<{number}>")),
        ("url", format!(r#""http://u{number}/""#)),
        ("discovery_date", r#""2024-03-01 00:00:00""#.to_owned()),
        ("transcription_text", text(&transcript)),
    ]));
    case.sql(&format!(
        "insert into compliance_urls (company_id, url, url_hash, discovery_date, transcription_text)
        values (<company>, 'http://u{number}/', '{number}', '2024-03-01', '{transcript}') returning id"
    ))
}

/// Reads a URL with a transcript of this size, alone and on a page.
pub(super) fn transcripts(bytes: usize) -> Vec<Case> {
    let mut records = Vec::new();
    let case = with_transcript(Case::new(format!("transcript of {bytes} bytes")), &mut records, bytes);
    let case = case.get("/urls/<1>", found("URL found.", &records[0]));
    vec![case.get("/urls", page("URLs found", &records, 1, 100, 1, 1))]
}

/// Sends bodies and reads transcripts of this size.
pub(super) fn bodies_and_transcripts(bytes: usize) -> Vec<Case> {
    bodies(bytes).into_iter().chain(transcripts(bytes)).collect()
}

/// Reads URLs whose row, record and response copies together have this size.
pub(super) fn held(bytes: usize) -> Vec<Case> {
    [bytes / COPIES, bytes / COPIES + 1].into_iter().flat_map(transcripts).collect()
}

/// Reads pages slightly smaller and slightly larger than this size.
pub(super) fn large_pages(bytes: usize) -> Vec<Case> {
    let case = |bytes: usize| {
        let (mut records, count) = (Vec::new(), 8);
        let mut case = Case::new(format!("page of {bytes} bytes"));
        for _ in 0..count {
            case = with_transcript(case, &mut records, bytes / count as usize);
        }
        case.get("/urls?sort_dir=asc", page("URLs found", &records, count, 100, 1, 1))
    };
    [bytes / 10 * 9, bytes / 10 * 11].map(case).to_vec()
}

fn no_url(index: usize) -> (String, String) {
    (format!("urls.{index}"), format!("The urls.{index} field must contain entries for: url."))
}

/// Causes slightly fewer and slightly more violations than fit in this size. REST reports all of them.
pub(super) fn violations(bytes: usize) -> Vec<Case> {
    // A violation has about the same size in a status as in JSON.
    let sizes = (0..).map(no_url).scan(0, |sum, (path, message)| {
        *sum += path.len() + message.len() + 8;
        Some(*sum)
    });
    let sizes: Vec<usize> = sizes.take_while(|size| *size < 2 * bytes).collect();
    let fitting = sizes.iter().filter(|size| **size <= bytes).count();
    (fitting - 3..=fitting + 3)
        .map(|count| {
            let violations: Vec<_> = (0..count).map(no_url).collect();
            let case = Case::new(format!("all {count} violations are reported"));
            let case = case.post("/urls", json!({"urls": vec![json!({}); count]}), invalid(&violations));
            // A gRPC status truncates long violation lists.
            if sizes[count - 1] > MAX_VIOLATION_BYTES { case.only_rest() } else { case }
        })
        .collect()
}

/// Causes this number of violations. The error lists the first violations and counts all of them.
pub(super) fn many_violations(count: usize) -> Vec<Case> {
    let reported: Vec<_> = (0..count.min(MAX_VIOLATIONS)).map(no_url).collect();
    let mut expected = invalid(&reported);
    expected.body = expected.body.replacen(
        &format!("(and {} more errors)", reported.len() - 1),
        &format!("(and {} more errors)", count - 1),
        1,
    );
    let case = Case::new(format!("only the first of {count} violations are listed"));
    vec![case.post("/urls", json!({"urls": vec![json!({}); count]}), expected).only_rest()]
}

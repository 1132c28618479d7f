//! Records a version's responses: lists, single records, changes, audits and past records.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use test_support::{RestClient, TestService};

use super::COMPANIES;

/// Responses by company and path: the status, the etag of a single record, and the body.
pub(crate) struct Answers(pub(super) BTreeMap<i64, BTreeMap<String, Value>>);

const LISTS: [&str; 18] = [
    "/affiliates",
    "/affiliates:search?q=affiliate",
    "/cases?per_page=200",
    "/cases?case_status_id=1&per_page=5",
    "/urls?per_page=200",
    "/urls?per_page=7&page=2",
    "/urls?sort_by=last_seen&sort_dir=desc&page=2&per_page=5",
    "/urls?disabled=yes&per_page=5",
    "/urls?incident_status_id=1&per_page=5",
    "/urls:search?q=example&limit=5",
    "/vocabularies",
    "/webhooks",
    "/changes",
    "/changes?after=0&limit=1000",
    "/changes?after=3&limit=5&types=affiliate",
    "/audit?limit=15",
    "/audit?operation=erased&limit=5",
    "/audit?resource=affiliate&limit=10",
];

impl Answers {
    /// Requests every list and record, and some records also as of each instant.
    pub(crate) async fn record(service: &TestService, instants: &[String]) -> Self {
        let mut answers = BTreeMap::new();
        for company in COMPANIES {
            let rest = service.rest(company);
            let mut paths: Vec<String> = LISTS.map(str::to_owned).into();
            for (list, id) in [
                ("/affiliates", "id"),
                ("/cases?per_page=200", "case_id"),
                ("/urls?per_page=200", "id"),
                ("/webhooks", "id"),
            ] {
                let records = rest.get(list).await.with_status(200);
                for (number, record) in records["data"].as_array().unwrap().iter().enumerate() {
                    let path = format!("{}/{}", list.split('?').next().unwrap(), record[id]);
                    if list == "/webhooks" {
                        paths.push(format!("{path}/deliveries"));
                    } else if number % 4 == 0 {
                        paths.extend(instants.iter().map(|instant| format!("{path}?as_of={instant}")));
                    }
                    paths.push(path);
                }
            }
            let mut recorded = BTreeMap::new();
            for path in paths {
                let answer = ask(&rest, &path).await;
                recorded.insert(path, answer);
            }
            answers.insert(company, recorded);
        }
        Self(answers)
    }

    /// Repeats the requests in both topologies. Returns each path with its old and new response.
    pub(crate) async fn repeat(&self, service: &TestService) -> Vec<(String, Value, Value)> {
        let mut compared = Vec::new();
        for (&company, paths) in &self.0 {
            for rest in [service.rest(company), service.rest_remote(company)] {
                for (path, before) in paths {
                    compared.push((path.clone(), before.clone(), ask(&rest, path).await));
                }
            }
        }
        compared
    }
}

async fn ask(rest: &RestClient, path: &str) -> Value {
    let answer = rest.get(path).await;
    json!({"status": answer.status, "etag": answer.header("etag"), "body": answer.json()})
}

//! Writes and reads real addresses.
//!
//! The addresses come from `real_input.txt`, unless `COMPLIANCE_REAL_URLS` names another file.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};
use test_support::{RestClient, TestService, new_company};
use url::Url;

const BATCH: usize = 100;

/// Addresses of public pages as people write them, mixed with pasted text.
const SAMPLE: &str = include_str!("real_input.txt");

fn addresses() -> Vec<String> {
    let text = match std::env::var_os("COMPLIANCE_REAL_URLS") {
        Some(path) => std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        None => SAMPLE.to_owned(),
    };
    text.lines().map(str::to_owned).collect()
}

/// Returns the address as the `url` crate parses it, if the service can monitor it.
fn normalised(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then(|| url.to_string())
}

fn body(addresses: &[&String]) -> String {
    json!({"urls": addresses.iter().map(|url| json!({"url": url})).collect::<Vec<_>>()}).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn real_urls_are_stored_unchanged() {
    let addresses = addresses();
    let service = TestService::start().await;
    let rest = service.rest(new_company());

    rejects_invalid_addresses(&rest, &addresses).await;

    let good: Vec<&String> = addresses.iter().filter(|address| normalised(address).is_some()).collect();
    let mut seen = HashSet::new();
    // The service keeps the first of equal addresses, in its original form.
    let kept: Vec<&String> = good.iter().filter(|address| seen.insert(normalised(address))).copied().collect();
    println!("{} addresses: {} valid, {} of them distinct", addresses.len(), good.len(), kept.len());
    assert!(kept.len() < good.len());

    // In the second round, all addresses exist.
    let mut ids = Vec::new();
    let mut added = HashSet::new();
    for round in 0..2 {
        for batch in good.chunks(BATCH) {
            let results = rest.post("/urls", body(batch)).await.with_status(201);
            let results = results.as_array().unwrap();
            assert_eq!(results.len(), batch.len());
            for (address, result) in batch.iter().zip(results) {
                let new = round == 0 && added.insert(normalised(address));
                assert_eq!(result["code"], if new { "1020" } else { "1023" }, "{address}");
                ids.extend(result["detail"]["url_id"].as_i64());
            }
        }
    }
    assert_eq!(ids.len(), kept.len());
    lists_them(&rest, &kept, &ids).await;
}

/// Sends all addresses in one request. The service returns an error for each invalid address and saves nothing.
async fn rejects_invalid_addresses(rest: &RestClient, addresses: &[String]) {
    let bad: BTreeMap<String, Value> = addresses
        .iter()
        .enumerate()
        .filter(|(_, address)| normalised(address).is_none())
        .map(|(index, _)| {
            let path = format!("urls.{index}.url");
            let message = format!("The {path} field must be a valid URL.");
            (path, json!([message]))
        })
        .collect();
    assert!(!bad.is_empty(), "the file must contain addresses that are not HTTP");
    let answer = rest.post("/urls", body(&addresses.iter().collect::<Vec<_>>())).await.with_status(422);
    assert_eq!(answer["errors"], json!(bad));
    let summary = answer["message"].as_str().unwrap();
    assert!(summary.ends_with(&format!(" (and {} more errors)", bad.len() - 1)), "{summary}");
    assert_eq!(rest.get("/urls").await.with_status(200)["meta"]["total"], 0);
}

/// Checks that the pages contain each address exactly once, in its original form, sorted by ID.
async fn lists_them(rest: &RestClient, kept: &[&String], ids: &[i64]) {
    let pages = kept.len().div_ceil(200);
    let mut listed = Vec::new();
    for page in 1..=pages {
        let answer = rest.get(&format!("/urls?sort_dir=asc&per_page=200&page={page}")).await.with_status(200);
        let meta = json!({"total": kept.len(), "per_page": 200, "current_page": page, "last_page": pages});
        assert_eq!(answer["meta"], meta);
        for url in answer["data"].as_array().unwrap() {
            let text = url["url"].as_str().unwrap().to_owned();
            let host = Url::parse(&text).unwrap().host_str().map(str::to_owned);
            assert_eq!(url["domain"].as_str(), host.as_deref());
            assert_eq!((&url["incident_status"], &url["disabled"]), (&json!("New"), &json!("no")));
            listed.push((url["id"].as_i64().unwrap(), text));
        }
    }
    assert!(listed.is_sorted_by(|one, next| one.0 < next.0));
    let mut expected: Vec<(i64, String)> = ids.iter().copied().zip(kept.iter().map(|kept| (*kept).clone())).collect();
    expected.sort_unstable();
    assert!(listed == expected, "the listed addresses differ from the added addresses");
    assert_eq!(rest.get(&format!("/urls?per_page=200&page={}", pages + 1)).await.with_status(200)["data"], json!([]));
}

//! Requests with 10,000 items, and a list of 300,000 affiliates.

use serde_json::{Value, json};
use test_support::{RestClient, ServerProcess, TestService, fresh_database, new_company};

const ITEMS: usize = 10_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_affiliates_fit_in_one_request() {
    let service = TestService::shared().await;
    let rest = service.rest_remote(new_company());
    // Every hundredth affiliate repeats the previous affiliate's name.
    let name = |number: usize| format!("Affiliate {}", if number % 100 == 99 { number - 1 } else { number });
    let items: Vec<Value> = (0..ITEMS)
        .map(|number| json!({"client_affiliate_id": number.to_string(), "affiliate_name": name(number), "country": "DE"}))
        .collect();
    let results = rest.post("/affiliates", json!({"affiliates": items}).to_string()).await.with_status(207);
    let results = results.as_array().unwrap();
    assert_eq!(results.len(), ITEMS);
    let mut ids = Vec::new();
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result["code"], if number % 100 == 99 { "1023" } else { "1020" });
        assert_eq!(result["detail"]["client_affiliate_id"], number.to_string());
        ids.extend(result["detail"]["affiliate_id"].as_i64());
    }
    assert_eq!(ids.len(), ITEMS - ITEMS / 100);

    // Update all affiliates, and repeat the first affiliate to reach 10,000 items.
    let changes = |ids: &[i64]| -> Vec<Value> {
        let all = ids.iter().chain(std::iter::repeat_n(&ids[0], ITEMS - ids.len()));
        all.map(|id| json!({"id": id, "affiliate_name": format!("Renamed {id}"), "city": "Bonn"})).collect()
    };
    let path = format!("/affiliates/{}", ids[0]);
    let results = rest.put(&path, json!({"affiliates": changes(&ids)}).to_string()).await.with_status(200);
    assert_eq!(results.as_array().unwrap().len(), ITEMS);
    let list = rest.get("/affiliates").await.with_status(200);
    let list = list["data"].as_array().unwrap();
    assert_eq!(list.len(), ids.len());
    for (record, id) in list.iter().zip(&ids) {
        assert_eq!((&record["id"], &record["city"]), (&json!(id), &json!("Bonn")));
        assert_eq!(record["distributor_name"], format!("Renamed {id}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_urls_fit_in_one_request() {
    let service = TestService::shared().await;
    let rest = service.rest_remote(new_company());
    let urls: Vec<Value> =
        (0..ITEMS).map(|number| json!({"url": format!("https://host{}.example/{number}", number % 777)})).collect();
    let body = json!({"urls": urls}).to_string();
    for code in ["1020", "1023"] {
        let results = rest.post("/urls", body.clone()).await.with_status(201);
        let results = results.as_array().unwrap();
        assert_eq!(results.len(), ITEMS);
        assert!(results.iter().all(|result| result["code"] == code), "not all results are {code}");
    }
    assert_eq!(rest.get("/urls?per_page=1").await.with_status(200)["meta"]["total"], ITEMS);
}

const AFFILIATES: usize = 300_000;
/// Maximum process memory growth while sending the list, in KiB.
const MOST_KIB: u64 = 64 * 1024;

/// The list is complete and sorted, and the process barely grows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn large_lists_stream_in_bounded_memory() {
    let database = fresh_database().await;
    let (company, pool) = (new_company(), core_server::database::connect(database.options, 2).await.unwrap());
    sqlx::query(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name, email_one, notes, country)
        select $1, 'C-' || n, 'Affiliate ' || n, 'a' || n || '@example.org', repeat('note ', 40), 276
        from generate_series(1, $2) n",
    )
    .bind(company)
    .bind(AFFILIATES as i64)
    .execute(&pool)
    .await
    .unwrap();
    let server = ServerProcess::start(&database.url);
    for rest in server.clients(company) {
        // The first request allocates the memory that every request needs.
        assert_eq!(rest.get("/urls").await.status, 200);
        server.reset_peak();
        let before = server.peak_memory();
        let bytes = read_list(&rest).await;
        let grown = server.peak_memory() - before;
        println!("{AFFILIATES} affiliates: {} MiB, the process grew by {} MiB", bytes >> 20, grown >> 10);
        assert!(grown < MOST_KIB, "the process grew by {grown} KiB for a list of {bytes} bytes");
    }
}

/// Reads the list without storing it and returns its size in bytes.
async fn read_list(rest: &RestClient) -> usize {
    let mut response = rest.request("GET", "/affiliates").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let (mut seen, mut last, mut bytes) = (0, 0, 0);
    // The unread part of the last chunk, followed by the next chunk.
    let mut text = String::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        bytes += chunk.len();
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        let mut rest = text.as_str();
        if bytes == chunk.len() {
            let head = r#"{"code":"1026","status":"ok","detail":{"msg":"Affiliates found"},"data":["#;
            rest = rest.strip_prefix(head).unwrap_or_else(|| panic!("{rest:.200}"));
        }
        // These records contain no braces.
        while let Some((record, more)) = rest.split_once('}').filter(|(record, _)| *record != "]") {
            let record = record.strip_prefix(if seen == 0 { r#"{"id":"# } else { r#",{"id":"# });
            let record = record.unwrap_or_else(|| panic!("expected a record, got {rest:.200}"));
            let id: i64 = record.split(',').next().unwrap().parse().unwrap();
            assert!(id > last, "{id} after {last}");
            let name = format!(r#""distributor_name":"Affiliate {}","#, seen + 1);
            assert!(record.contains(&name), "{record}");
            (seen, last, rest) = (seen + 1, id, more);
        }
        text = rest.to_owned();
    }
    assert_eq!((seen, text.as_str()), (AFFILIATES, "]}"));
    bytes
}

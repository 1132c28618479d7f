//! Concurrent writers: no write is lost or fails because of a concurrent write.

use std::collections::HashSet;

use futures::future::join_all;
use serde_json::{Value, json};
use test_support::{RestClient, RestResponse, TestService, new_company};

/// Returns a client for each topology.
fn clients(service: &TestService, company: i64) -> [RestClient; 2] {
    [service.rest(company), service.rest_remote(company)]
}

fn affiliates(names: impl Iterator<Item = String>) -> String {
    let items: Vec<Value> =
        names.map(|name| json!({"client_affiliate_id": format!("C-{name}"), "affiliate_name": name})).collect();
    json!({"affiliates": items}).to_string()
}

fn statuses(answers: &[RestResponse], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_concurrent_create_per_name_succeeds() {
    let service = TestService::shared().await;
    let company = new_company();
    let clients = clients(&service, company);
    for round in 0..5 {
        let creators = (0..64).map(|number| {
            let body = json!({"client_affiliate_id": number.to_string(), "affiliate_name": format!("One {round}")});
            clients[number % 2].post("/affiliates", body.to_string())
        });
        let answers = join_all(creators).await;
        assert_eq!((statuses(&answers, 201), statuses(&answers, 409)), (1, 63), "{answers:?}");
    }
    let list = clients[0].get("/affiliates").await.with_status(200);
    assert_eq!(list["data"].as_array().unwrap().len(), 5);
}

/// Concurrent batches create the same names in opposite orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_batches_create_each_name_once() {
    let service = TestService::shared().await;
    for round in 0..4 {
        let company = new_company();
        let clients = clients(&service, company);
        let names: Vec<String> = (0..300).map(|number| format!("{round}-{number:03}")).collect();
        let batches = (0..8).map(|number| {
            let names = names.clone().into_iter();
            let body = if number % 2 == 0 { affiliates(names) } else { affiliates(names.rev()) };
            clients[number / 4].post("/affiliates", body)
        });
        let mut created = HashSet::new();
        for answer in join_all(batches).await {
            assert!(matches!(answer.status, 201 | 207), "{}", answer.text);
            for item in answer.json().as_array().unwrap() {
                match item["code"].as_str().unwrap() {
                    "1020" => assert!(created.insert(item["detail"]["client_affiliate_id"].to_string()), "{item}"),
                    code => assert_eq!(code, "1023", "{item}"),
                }
            }
        }
        assert_eq!(created.len(), names.len());
        assert_eq!(clients[0].get("/affiliates").await.with_status(200)["data"].as_array().unwrap().len(), names.len());
    }
}

async fn created(rest: &RestClient, count: usize) -> Vec<i64> {
    let body = affiliates((0..count).map(|number| format!("N{number:04}")));
    let answer = rest.post("/affiliates", body).await.with_status(201);
    answer.as_array().unwrap().iter().map(|item| item["detail"]["affiliate_id"].as_i64().unwrap()).collect()
}

/// Concurrent batches update the same affiliates in opposite orders. Each batch applies as a whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opposing_update_batches_all_succeed() {
    let service = TestService::shared().await;
    let clients = clients(&service, new_company());
    let ids = created(&clients[0], 200).await;
    for round in 0..4 {
        let batches = (0..8).map(|number| {
            let mut ids = ids.clone();
            if number % 2 == 1 {
                ids.reverse();
            }
            let items: Vec<Value> =
                ids.iter().map(|id| json!({"id": id, "city": format!("{round}-{number}")})).collect();
            let (client, path) = (&clients[number / 4], format!("/affiliates/{}", ids[0]));
            async move { client.put(&path, json!({"affiliates": items}).to_string()).await }
        });
        let answers = join_all(batches).await;
        assert_eq!(statuses(&answers, 200), 8, "{answers:?}");
        let list = clients[0].get("/affiliates").await.with_status(200);
        let cities: HashSet<String> =
            list["data"].as_array().unwrap().iter().map(|one| one["city"].to_string()).collect();
        assert_eq!(cities.len(), 1, "updates from several batches are mixed: {cities:?}");
    }
}

/// Concurrent batches compete for the same names. The service reports taken names, and no two affiliates ever share a name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_renames_never_duplicate_names() {
    let service = TestService::shared().await;
    let clients = clients(&service, new_company());
    let ids = created(&clients[0], 40).await;
    for round in 0..6 {
        let batches = (0..8_usize).map(|number| {
            let items: Vec<Value> = (0..ids.len())
                .map(|index| {
                    let index = if number % 2 == 0 { index } else { ids.len() - 1 - index };
                    // Each round and batch shifts the names by a different step.
                    let name = format!("N{:04}", (index + round * 3 + number) % (ids.len() + 10));
                    json!({"id": ids[index], "affiliate_name": name})
                })
                .collect();
            let body = json!({"affiliates": items}).to_string();
            let (client, id) = (&clients[number / 4], ids[0]);
            async move { client.put(&format!("/affiliates/{id}"), body).await }
        });
        for answer in join_all(batches).await {
            assert!(matches!(answer.status, 200 | 207), "{}", answer.text);
            for item in answer.json().as_array().unwrap() {
                assert!(matches!(item["code"].as_str(), Some("1020" | "1021")), "{item}");
            }
        }
    }
    let list = clients[0].get("/affiliates").await.with_status(200);
    let names: HashSet<String> =
        list["data"].as_array().unwrap().iter().map(|one| one["distributor_name"].to_string()).collect();
    assert_eq!(names.len(), ids.len());
}

/// Each writer updates a different field of the same affiliates, one by one or in a batch. Each field keeps its writer's last value.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_updates_to_different_fields_persist() {
    const FIELDS: [&str; 6] = ["city", "state", "zip", "notes", "first_name", "last_name"];
    let service = TestService::shared().await;
    let clients = clients(&service, new_company());
    let ids = created(&clients[0], 20).await;
    for round in 0..4 {
        let writers = FIELDS.iter().enumerate().map(|(number, field)| {
            let (client, ids) = (&clients[number % 2], &ids);
            async move {
                let items = ids.iter().map(|id| json!({"id": id, *field: format!("{field} {round}")}));
                if number < 3 {
                    let body = json!({"affiliates": items.collect::<Vec<_>>()}).to_string();
                    client.put(&format!("/affiliates/{}", ids[0]), body).await.with_status(200);
                } else {
                    let updates = ids.iter().zip(items).map(|(id, item)| async move {
                        client.put(&format!("/affiliates/{id}"), item.to_string()).await.with_status(200)
                    });
                    join_all(updates).await;
                }
            }
        });
        join_all(writers).await;
        let list = clients[0].get("/affiliates").await.with_status(200);
        for record in list["data"].as_array().unwrap() {
            for field in FIELDS {
                assert_eq!(record[field], format!("{field} {round}"), "{record}");
            }
        }
    }
}

/// Concurrent requests add the same URLs in opposite orders.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_add_each_url_once() {
    let service = TestService::shared().await;
    let clients = clients(&service, new_company());
    let urls: Vec<String> = (0..400).map(|number| format!("https://example.org/{number}")).collect();
    let requests = (0..8).map(|number| {
        let mut urls: Vec<Value> = urls.iter().map(|url| json!({"url": url})).collect();
        if number % 2 == 1 {
            urls.reverse();
        }
        clients[number / 4].post("/urls", json!({"urls": urls}).to_string())
    });
    let mut added = HashSet::new();
    for answer in join_all(requests).await {
        let results = answer.with_status(201);
        assert_eq!(results.as_array().unwrap().len(), urls.len());
        for result in results.as_array().unwrap() {
            if result["code"] == "1020" {
                assert!(added.insert(result["detail"]["url_id"].as_i64().unwrap()));
            }
        }
    }
    assert_eq!(added.len(), urls.len());
    assert_eq!(clients[0].get("/urls?per_page=1").await.with_status(200)["meta"]["total"], urls.len());
}

/// Single and batch creates and renames compete for the same few names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn competing_requests_and_batches_cause_no_errors() {
    let service = TestService::shared().await;
    let clients = clients(&service, new_company());
    let ids = created(&clients[0], 20).await;
    let work = (0..160_usize).map(|number| {
        let (client, id) = (clients[number % 2].clone(), ids[number % ids.len()]);
        let names = (0..7).map(move |name| format!("X{}", (name + number / 4) % 7));
        let renames: Vec<Value> =
            ids.iter().rev().zip(names.clone()).map(|(id, name)| json!({"id": id, "affiliate_name": name})).collect();
        let name = format!("X{}", number % 7);
        async move {
            match number % 4 {
                0 => {
                    let body = json!({"client_affiliate_id": "S", "affiliate_name": name}).to_string();
                    (client.post("/affiliates", body).await, [201, 409])
                }
                1 => {
                    let body = json!({"id": id, "affiliate_name": name}).to_string();
                    (client.put(&format!("/affiliates/{id}"), body).await, [200, 422])
                }
                2 => (client.post("/affiliates", affiliates(names)).await, [201, 207]),
                _ => {
                    let body = json!({"affiliates": renames}).to_string();
                    (client.put(&format!("/affiliates/{id}"), body).await, [200, 207])
                }
            }
        }
    });
    for (answer, expected) in join_all(work).await {
        assert!(expected.contains(&answer.status), "{}: {}", answer.status, answer.text);
    }
}

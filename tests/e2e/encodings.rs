//! Compressed responses, gzip request bodies, `HEAD`, and cross-origin requests.

use std::{collections::HashSet, io::Cursor};

use async_compression::tokio::bufread::{GzipDecoder, GzipEncoder};
use rest_gateway::Settings;
use serde_json::{Value, json};
use test_support::{Options, RestClient, RestResponse, TestService, new_company};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::http::envelope;

async fn all(mut reader: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn gzip(bytes: &[u8]) -> Vec<u8> {
    all(GzipEncoder::new(Cursor::new(bytes))).await
}

async fn with_affiliates(rest: &RestClient, count: usize) {
    let items: Vec<Value> = (0..count)
        .map(|number| json!({"client_affiliate_id": number.to_string(), "affiliate_name": format!("Name {number}")}))
        .collect();
    rest.post("/affiliates", json!({"affiliates": items}).to_string()).await.with_status(201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_use_the_accepted_encoding() {
    let rate_limit = "1000/s".parse().unwrap();
    let service = TestService::with(Options { rate_limit, ..Options::default() }).await;
    let company = new_company();
    with_affiliates(&service.rest(company), 300).await;
    for rest in [service.rest(company), service.rest_remote(company)] {
        let plain = rest.get("/affiliates").await;
        assert_eq!(plain.header("content-encoding"), None);
        for accepted in ["gzip", "br, zstd, gzip", "deflate, gzip;q=0.5, br;q=0.1"] {
            let response = rest.request("GET", "/affiliates").header("Accept-Encoding", accepted).send().await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-encoding"], "gzip");
            let varies: Vec<_> = response.headers().get_all("vary").iter().collect();
            assert_eq!(varies, ["accept", "accept-encoding"]);
            assert!(
                response.headers().contains_key("x-ratelimit-limit") && response.headers().contains_key("x-request-id")
            );
            let encoded = response.bytes().await.unwrap();
            assert!(encoded.len() * 5 < plain.text.len(), "{accepted}: {} of {}", encoded.len(), plain.text.len());
            assert!(all(GzipDecoder::new(Cursor::new(encoded))).await == plain.text.as_bytes(), "{accepted}");
        }
        for accepted in ["identity", "br, zstd", "unknown", "gzip;q=0", "", "identity;q=0", "*;q=0"] {
            let request = rest.request("GET", "/affiliates").header("Accept-Encoding", accepted);
            let response = RestResponse::of(request).await;
            assert_eq!(response.status, 200, "{accepted}");
            assert_eq!((response.header("content-encoding"), response.text == plain.text), (None, true), "{accepted}");
        }
        // The response is too short to compress.
        let one = RestResponse::of(rest.request("GET", "/affiliates/0").header("Accept-Encoding", "gzip")).await;
        assert_eq!((one.status, one.header("content-encoding")), (404, None));
    }
}

/// Tests the minimum size for compression, one byte less and one byte more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_responses_are_not_compressed() {
    let least = rest_gateway::limits::SMALLEST_COMPRESSED as usize;
    let service = TestService::shared().await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        for size in [least - 1, least, least + 1] {
            let (mut length, mut path, mut plain, mut number) = (1, String::new(), String::new(), 1000);
            // The number of digits in the ID can change once.
            while plain.len() != size {
                number += 1;
                let url = format!("https://example.org/{size}/{number}/{}", "x".repeat(length));
                let added = rest.post("/urls", json!({"urls": [{"url": url}]}).to_string()).await.with_status(201);
                path = format!("/urls/{}", added[0]["detail"]["url_id"]);
                plain = rest.get(&path).await.text;
                length = (length + size).saturating_sub(plain.len());
            }
            let response = rest.request("GET", &path).header("Accept-Encoding", "gzip").send().await.unwrap();
            let encoding =
                response.headers().get("content-encoding").map(|encoding| encoding.to_str().unwrap().to_owned());
            assert_eq!(encoding.as_deref(), (size >= least).then_some("gzip"), "{size} bytes");
            let body = response.bytes().await.unwrap();
            let body = if encoding.is_some() { all(GzipDecoder::new(Cursor::new(body))).await } else { body.to_vec() };
            assert_eq!(String::from_utf8(body).unwrap(), plain);
        }
    }
}

/// Embedded files are available with and without gzip.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn embedded_files_support_gzip() {
    let service = TestService::shared().await;
    let nobody = service.rest(new_company()).with_token(None);
    for path in ["/openapi.json", "/docs", "/docs/reference", "/docs/style.css", "/console/records.js"] {
        let get = async |accepted: &str, known: &str| {
            let request =
                nobody.request_to("GET", path).header("Accept-Encoding", accepted).header("If-None-Match", known);
            let response = request.send().await.unwrap();
            let (status, headers) = (response.status(), response.headers().clone());
            assert_eq!(headers["vary"], "accept-encoding", "{path}");
            (status, headers, response.bytes().await.unwrap())
        };
        let (_, head, plain) = get("identity", "none").await;
        assert!(!head.contains_key("content-encoding") && plain.len() >= 1024, "{path}: {} bytes", plain.len());
        for accepted in ["br, gzip;q=0.1, zstd", "X-GZIP", "*", "deflate,*;q=0.5", "*;q=0, gzip"] {
            let (status, head, encoded) = get(accepted, "none").await;
            assert_eq!((status.as_u16(), &head["content-encoding"]), (200, &"gzip".parse().unwrap()), "{accepted}");
            assert!(
                encoded.len() < plain.len() && all(GzipDecoder::new(Cursor::new(encoded))).await == plain,
                "{path}"
            );
            // Both forms have the same etag.
            let tag = head["etag"].to_str().unwrap();
            assert!(tag.starts_with("W/"), "{tag}");
            for accepted in [accepted, "identity"] {
                let (status, _, body) = get(accepted, tag).await;
                assert_eq!((status.as_u16(), body.len()), (304, 0), "{path}");
            }
        }
        for accepted in ["gzip;q=0", "gzip; Q=0.000, *", "*;q=0", "identity, gzip;q=x;q=0", "br, deflate", ""] {
            let (_, head, body) = get(accepted, "none").await;
            assert!(!head.contains_key("content-encoding") && body == plain, "{path}: {accepted}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gzip_request_bodies_are_accepted() {
    let rate_limit = "1000/s".parse().unwrap();
    let service = TestService::with(Options { rate_limit, ..Options::default() }).await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        let send = async |encoding: &str, body: Vec<u8>| {
            RestResponse::of(rest.request("POST", "/urls").header("Content-Encoding", encoding).body(body)).await
        };
        let body = |name: &str| json!({"urls": [{"url": format!("https://{name}.example/")}]}).to_string().into_bytes();
        for (encoding, bytes) in [
            ("gzip", gzip(&body("a")).await),
            ("X-GZIP", gzip(&body("b")).await),
            ("identity", body("c")),
            // Consecutive gzip members form one body (RFC 1952, section 2.2).
            ("gzip", [gzip(&body("d")[..10]).await, gzip(&body("d")[10..]).await].concat()),
        ] {
            assert_eq!(send(encoding, bytes).await.with_status(201)[0]["code"], "1020", "{encoding}");
        }
        let urls = rest.get("/urls").await.with_status(200);
        let urls: HashSet<_> =
            urls["data"].as_array().unwrap().iter().map(|url| url["url"].as_str().unwrap()).collect();
        assert_eq!(
            urls,
            ["a", "b", "c", "d"].map(|name| format!("https://{name}.example/")).iter().map(String::as_str).collect()
        );

        for encoding in ["br", "deflate", "gzip, gzip", "nonsense"] {
            let refused = send(encoding, gzip(&body("x")).await).await;
            assert_eq!(refused.status, 415, "{encoding}");
            envelope("415")(&refused);
            assert!(refused.header("x-ratelimit-limit").is_some());
        }
        let cut_off = gzip(&body("x")).await;
        for broken in [body("x"), cut_off[..cut_off.len() - 12].to_vec()] {
            let refused = send("gzip", broken).await;
            assert_eq!((refused.status, refused.paths()), (422, vec!["body".to_owned()]), "{}", refused.text);
        }
        let nobody = rest.with_token(None);
        let refused =
            RestResponse::of(nobody.request("POST", "/urls").header("Content-Encoding", "br").body("x")).await;
        assert_eq!(refused.status, 401, "the service checks the token first");
        assert_eq!(rest.get("/urls?per_page=1").await.with_status(200)["meta"]["total"], 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decompressed_bodies_obey_the_size_limit() {
    let limit = 1 << 20;
    let settings = Settings { body_limit: limit, ..Settings::default() };
    let service = TestService::with(Options { settings, ..Options::default() }).await;
    let rest = service.rest(new_company());
    // A gibibyte of spaces compresses to a mebibyte.
    let mebibyte = gzip(&vec![b' '; 1 << 20]).await;
    for members in [2, 1024] {
        let body = mebibyte.repeat(members);
        assert!(members == 1024 || body.len() < limit);
        let refused =
            RestResponse::of(rest.request("POST", "/urls").header("Content-Encoding", "gzip").body(body)).await;
        assert_eq!(refused.status, 413, "{members}: {}", refused.text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_requests_return_no_body() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    with_affiliates(&rest, 3).await;
    for path in ["/affiliates", "/urls", "/cases", "/affiliates/0"] {
        for accepted in ["identity", "gzip"] {
            let ask = async |method: &str| {
                rest.request(method, path).header("Accept-Encoding", accepted).send().await.unwrap()
            };
            let (get, head) = (ask("GET").await, ask("HEAD").await);
            assert_eq!(
                (get.status(), &get.headers()["content-type"]),
                (head.status(), &head.headers()["content-type"]),
                "{path}"
            );
            assert!(head.headers().contains_key("x-request-id"));
            assert_eq!(head.bytes().await.unwrap().len(), 0, "{path}");
        }
    }
}

/// Request headers that scripts send, including those of event and tracing clients.
const ALLOWED: [&str; 11] = [
    "authorization",
    "content-type",
    "content-encoding",
    "if-match",
    "if-none-match",
    "x-request-id",
    "last-event-id",
    "cache-control",
    "traceparent",
    "tracestate",
    "baggage",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cors_allows_only_configured_origins() {
    let origin = "https://partner.example";
    let settings = Settings { cors_origins: vec![origin.parse().unwrap()], ..Settings::default() };
    let open = TestService::with(Options { settings, ..Options::default() }).await;
    let closed = TestService::shared().await;
    let company = new_company();
    for (service, asked, allowed) in
        [(&open, origin, Some(origin)), (&open, "https://stranger.example", None), (&closed, origin, None)]
    {
        let rest = service.rest(company);
        let before = rest
            .with_token(None)
            .request("OPTIONS", "/affiliates/1")
            .header("Origin", asked)
            .header("Access-Control-Request-Method", "PUT")
            .header("Access-Control-Request-Headers", ALLOWED.join(","));
        let before = before.send().await.unwrap();
        let header = |response: &reqwest::Response, name: &str| {
            response.headers().get(name).map(|value| value.to_str().unwrap().to_lowercase())
        };
        assert_eq!(header(&before, "access-control-allow-origin").as_deref(), allowed, "{asked}");
        if allowed.is_some() {
            assert_eq!(before.status(), 200);
            let methods = header(&before, "access-control-allow-methods").unwrap();
            assert!(methods.contains("put") && methods.contains("delete"));
            let headers = header(&before, "access-control-allow-headers").unwrap();
            let headers: Vec<&str> = headers.split(',').map(str::trim).collect();
            assert!(ALLOWED.iter().all(|allowed| headers.contains(allowed)), "{headers:?}");
        }
        let response = rest.request("GET", "/affiliates").header("Origin", asked).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(header(&response, "access-control-allow-origin").as_deref(), allowed, "{asked}");
        let exposed = header(&response, "access-control-expose-headers").unwrap_or_default();
        assert!(allowed.is_none() || exposed.contains("x-ratelimit-remaining") && exposed.contains("x-request-id"));
        assert_eq!(header(&response, "access-control-allow-credentials"), None);
    }
}

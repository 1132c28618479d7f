//! HTTP: unknown paths, wrong methods, oversized bodies, tokens and headers.

use std::time::Duration;

use rest_gateway::Settings;
use serde_json::{Value, json};
use test_support::{Options, RestClient, RestResponse, TestService, new_company, now, sign, token};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

pub(crate) fn envelope(code: &str) -> impl Fn(&RestResponse) {
    move |answer| {
        let body = answer.json();
        let msg = body["detail"]["msg"].as_str().unwrap();
        let expected = format!(r#"{{"code":"{code}","status":"error","detail":{{"msg":{}}}}}"#, json!(msg));
        assert_eq!((answer.text.as_str(), msg.is_empty()), (expected.as_str(), false));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_paths_return_404_and_wrong_methods_405() {
    let service = TestService::shared().await;
    // These requests need no token.
    for rest in [service.rest(new_company()).with_token(None), service.rest_remote(new_company())] {
        for path in
            ["/api", "/api/", "/api/affiliate", "/api/affiliates/1/notes", "/affiliates", "/api/urls/1/2", "/API/urls"]
        {
            let answer = RestResponse::of(rest.request_to("GET", path)).await;
            assert_eq!(answer.status, 404, "{path}");
            envelope("404")(&answer);
        }
        for (method, path, allowed) in [
            ("DELETE", "/affiliates", &["GET", "POST"][..]),
            ("PUT", "/affiliates", &["GET", "POST"]),
            ("PATCH", "/affiliates/1", &["DELETE", "GET", "PUT"]),
            ("POST", "/affiliates/1", &["DELETE", "GET", "PUT"]),
            ("PUT", "/urls", &["GET", "POST"]),
            ("PUT", "/urls/1", &["GET", "PATCH"]),
            ("DELETE", "/urls/1", &["GET", "PATCH"]),
            ("PUT", "/cases", &["GET", "POST"]),
            ("PUT", "/cases/1", &["GET", "PATCH"]),
            ("OPTIONS", "/overview", &["GET"]),
        ] {
            let answer = RestResponse::of(rest.request(method, path)).await;
            assert_eq!(answer.status, 405, "{method} {path}");
            envelope("405")(&answer);
            let mut allow: Vec<&str> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
            allow.retain(|method| *method != "HEAD");
            allow.sort_unstable();
            assert_eq!(allow, allowed, "{method} {path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_bodies_return_413() {
    let settings = Settings { body_limit: 4096, ..Settings::default() };
    let service = TestService::with(Options { settings, ..Options::default() }).await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let body =
            |bytes: usize| format!(r#"{{"urls":[{{"url":"http://a.example/"}}],"x":"{}"}}"#, "x".repeat(bytes - 45));
        assert_eq!(body(4096).len(), 4096);
        assert_eq!(rest.post("/urls", body(4096)).await.status, 201);
        for (method, path) in [("POST", "/urls"), ("POST", "/affiliates"), ("PUT", "/affiliates/1")] {
            let answer = RestResponse::of(rest.request(method, path).body(body(4097))).await;
            assert_eq!(answer.status, 413, "{method} {path}");
            envelope("413")(&answer);
            let answer = RestResponse::of(rest.request(method, path).body(body(1 << 20))).await;
            assert_eq!(answer.status, 413, "{method} {path}");
        }
    }
    // The service measures a body without a `Content-Length` header as it arrives.
    for address in [service.rest, service.rest_remote] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /api/urls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
            token(company)
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..20 {
            stream.write_all(format!("400\r\n{}\r\n", "[".repeat(0x400)).as_bytes()).await.unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        tokio::time::timeout(Duration::from_mins(1), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.contains(r#"{"code":"413","status":"error","detail":{"msg":""#), "{answer}");
    }
    // The service still responds.
    assert_eq!(service.rest(company).get("/urls").await.with_status(200)["meta"]["total"], 1);
}

/// The service reads JSON bodies with any content type, and responds with JSON and the request ID.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_bodies_are_accepted_with_any_content_type() {
    let service = TestService::shared().await;
    for rest in [service.rest(new_company()), service.rest_remote(new_company())] {
        for (number, name) in
            [Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("x"), None].into_iter().enumerate()
        {
            let body = format!(r#"{{"client_affiliate_id":"C","affiliate_name":"{number}"}}"#);
            let mut request = rest.request("POST", "/affiliates").header("X-Request-Id", "abc-1").body(body);
            if let Some(name) = name {
                request = request.header("Content-Type", name);
            }
            let answer = RestResponse::of(request).await;
            assert_eq!(answer.status, 201, "{name:?}: {}", answer.text);
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.header("x-request-id"), Some("abc-1"));
            let id = &answer.json()["detail"]["affiliate_id"];
            let path = answer.header("location").unwrap().strip_prefix("/api").unwrap();
            assert_eq!(path, format!("/affiliates/{id}"));
            assert_eq!(rest.get(path).await.json()["data"]["id"], *id);
        }
        let batch = r#"{"affiliates":[{"client_affiliate_id":"C","affiliate_name":"of a batch"}]}"#;
        assert_eq!(rest.post("/affiliates", batch).await.header("location"), None);
        let answer = rest.get("/affiliates").await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(answer.header("x-request-id").is_some());
    }
}

/// Tests records, unchanged records, streams and errors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_responses_forbid_caching_and_sniffing() {
    let service = TestService::shared().await;
    let rest = service.rest(new_company());
    let created = rest.post("/affiliates", r#"{"client_affiliate_id":"C","affiliate_name":"N"}"#).await;
    let path = created.header("location").unwrap().strip_prefix("/api").unwrap().to_owned();
    let read = rest.get(&path).await;
    let unchanged = rest.request("GET", &path).header("If-None-Match", read.header("etag").unwrap());
    let mut responses = vec![(201, created), (200, read), (304, RestResponse::of(unchanged).await)];
    for (status, method, path, accept) in [
        (200, "GET", "/affiliates", "application/json"),
        (200, "GET", "/affiliates", "text/csv"),
        (200, "HEAD", "/urls", "application/x-ndjson"),
        (404, "GET", "/nothing", "*/*"),
        (405, "DELETE", "/urls", "*/*"),
        (415, "POST", "/urls", "*/*"),
        (422, "POST", "/affiliates", "*/*"),
    ] {
        let mut request = rest.request(method, path).header("Accept", accept);
        if status == 415 {
            request = request.header("Content-Encoding", "br");
        }
        responses.push((status, RestResponse::of(request).await));
    }
    responses.push((401, rest.with_token(None).get("/urls").await));
    for (status, response) in responses {
        assert_eq!(response.status, status, "{}", response.text);
        let headers = [response.header("cache-control"), response.header("x-content-type-options")];
        assert_eq!(headers, [Some("no-store"), Some("nosniff")], "{status}: {}", response.text);
    }
}

/// Requests with an invalid head receive a status without a body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_request_heads_are_rejected() {
    let service = TestService::shared().await;
    let long = "x".repeat(40_000);
    for (request, status) in [
        ("nonsense\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n".to_owned(), 400),
        ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 400),
        (format!("GET /api/urls HTTP/1.1\r\nHost: a\r\nX-Long: {long}\r\n\r\n"), 431),
        (format!("GET /api/urls HTTP/1.1\r\nHost: a\r\n{}\r\n", "X-Many: 1\r\n".repeat(200)), 431),
    ] {
        let mut stream = TcpStream::connect(service.rest).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The service can reject the request before it has received the rest.
        let _ = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut answer)).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.40}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

/// The service closes the connection after an unknown or repeated transfer encoding, because a proxy could see the body end elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ambiguous_transfer_encodings_close_the_connection() {
    let service = TestService::shared().await;
    let company = new_company();
    let added = r#"{"urls":[{"url":"http://a.example/"}]}"#;
    for address in [service.rest, service.rest_remote] {
        for (lines, status) in [
            ("Transfer-Encoding: chunked\r\n", 201),
            ("transfer-encoding:Chunked \r\n", 201),
            ("Transfer-Encoding: chunked, chunked\r\n", 400),
            ("Transfer-Encoding: gzip, chunked\r\n", 400),
            ("Transfer-Encoding: identity, chunked\r\n", 400),
            ("Transfer-Encoding: , chunked\r\n", 400),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 400),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", 400),
            ("Transfer-Encoding: chunked, gzip\r\n", 400),
            ("Transfer-Encoding: gzip\r\n", 400),
            ("Transfer-Encoding: xchunked\r\n", 400),
            ("Transfer-Encoding:\r\n", 400),
        ] {
            // Rejections do not depend on the token, because no operation sees the request.
            for token in [format!("Authorization: Bearer {}\r\n", token(company)), String::new()] {
                let status = if status == 201 && token.is_empty() { 401 } else { status };
                let request = format!(
                    "POST /api/urls HTTP/1.1\r\nHost: a\r\n{token}{lines}\r\n{:x}\r\n{added}\r\n0\r\n\r\n\
                     GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                    added.len()
                );
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut answers = Vec::new();
                let _ = tokio::time::timeout(Duration::from_mins(1), stream.read_to_end(&mut answers)).await.unwrap();
                let answers = String::from_utf8(answers).unwrap();
                assert!(answers.starts_with(&format!("HTTP/1.1 {status} ")), "{lines:?}: {answers}");
                let others = answers.matches("HTTP/1.1 ").count() - 1;
                assert_eq!(others, usize::from(status != 400), "{lines:?}: {answers}");
                if status == 400 {
                    let (head, body) = answers.split_once("\r\n\r\n").unwrap();
                    assert!(head.contains("\r\nconnection: close"), "{head}");
                    // hyper rejects some encodings itself, without a body.
                    let is_envelope = body.starts_with(r#"{"code":"400","status":"error","detail":{"msg":""#);
                    assert!(body.is_empty() || is_envelope && head.contains("\r\nx-request-id: "), "{head} {body}");
                }
            }
        }
    }
}

/// The service checks the token before the path, the query and the body.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_checked_first() {
    let service = TestService::with(Options { rate_limit: "1/m".parse().unwrap(), ..Options::default() }).await;
    let company = new_company();
    let expired = compliance_api::token::Claims::new(company, now() - 100, 50);
    let tokens = [
        (None, "Bearer"),
        (Some(sign(&expired)), r#"Bearer error="invalid_token""#),
        (Some("x".to_owned()), r#"Bearer error="invalid_token""#),
    ];
    for address in [service.rest, service.rest_remote] {
        for (token, challenge) in &tokens {
            let rest = RestClient::new(address, token.clone());
            for request in [
                rest.request("POST", "/affiliates").body("{"),
                rest.request("POST", "/affiliates").body(vec![b' '; 33 << 20]),
                rest.request("PUT", "/affiliates/abc").body("\u{0}"),
                rest.request("POST", "/urls").body("{}"),
                rest.request("GET", "/affiliates/abc"),
                rest.request("GET", "/urls?page=0"),
                rest.request("GET", "/cases/1.0"),
                rest.request("GET", "/cases?per_page=x"),
            ] {
                let answer = RestResponse::of(request).await;
                assert_eq!(answer.status, 401, "{}", answer.text);
                envelope("401")(&answer);
                assert_eq!(answer.header("www-authenticate"), Some(*challenge));
            }
        }
        // Two tokens are ambiguous, and only the `Bearer` scheme is accepted.
        let rest = RestClient::new(address, None);
        let good = token(company);
        let with = |value: String| rest.request("GET", "/urls").header("Authorization", value);
        let scheme = "The Authorization header must have the form: Bearer TOKEN.";
        for (request, message) in [
            (
                with(format!("Bearer {good}")).header("Authorization", format!("Bearer {good}")),
                "The bearer token is invalid.",
            ),
            (with(format!("Basic {good}")), scheme),
            (with(format!("Token {good}")), scheme),
            (with(good.clone()), scheme),
            (with("Bearer".to_owned()), "The bearer token is invalid."),
            (rest.request("GET", &format!("/urls?access_token={good}")), "A bearer token is required."),
        ] {
            let answer = RestResponse::of(request).await;
            assert_eq!((answer.status, &answer.json()["detail"]["msg"]), (401, &json!(message)));
        }
    }
    // The rate limit counted none of these requests. The scheme is case-insensitive.
    let rest = RestClient::new(service.rest, None);
    let answer =
        RestResponse::of(rest.request("GET", "/urls").header("Authorization", format!("bEARER {}", token(company))))
            .await;
    assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, Some("0")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_endpoints_report_ok() {
    let service = TestService::shared().await;
    for address in [service.rest, service.rest_remote] {
        let rest = RestClient::new(address, None);
        assert_eq!(RestResponse::of(rest.request_to("GET", "/livez")).await.status, 200);
        // The first database check can still be running.
        let ready = async {
            loop {
                let answer = RestResponse::of(rest.request_to("GET", "/readyz")).await;
                if answer.status == 200 {
                    break answer;
                }
                assert_eq!(answer.status, 503);
            }
        };
        let answer = tokio::time::timeout(Duration::from_mins(1), ready).await.unwrap();
        assert_eq!(answer.json()["status"], Value::from("ok"));
    }
}

//! Change watches, over REST and gRPC.

use std::time::Duration;

use compliance_api::{
    token::Claims,
    v1::{Change, ListChangesRequest, ListChangesResponse, WatchChangesRequest, WatchChangesResponse},
};
use core_server::CoreSettings;
use embedded_postgres::ClusterOptions;
use futures::future::join_all;
use sqlx::{AssertSqlSafe, PgPool};
use test_support::{
    GrpcClients, Layer, Options, Proxy, RestClient, RestResponse, TestCluster, TestDatabase, TestService, new_company,
    now, reason_of, sign, token, token_with_scope,
};
use tokio::time::{Instant, timeout};
use tonic::{Code, Status, Streaming};

const LAYERS: [Layer; 3] = [Layer::Rest, Layer::RestRemote, Layer::Grpc];
/// Maximum wait for a message on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A watch over REST or gRPC.
enum Watch {
    Grpc(Box<Streaming<WatchChangesResponse>>),
    Rest(reqwest::Response, String),
}

/// A received message, with its position and changes.
#[derive(Debug)]
struct Message {
    position: i64,
    page: Option<ListChangesResponse>,
}

impl Message {
    fn positions(&self) -> Vec<i64> {
        self.page.iter().flat_map(|page| page.changes.iter().map(|change| change.position)).collect()
    }
}

impl Watch {
    async fn open(service: &TestService, layer: Layer, token: &str, after: Option<i64>, types: &[&str]) -> Self {
        match layer {
            Layer::Grpc => {
                let mut grpc = GrpcClients::connect(service.grpc, token).await;
                let types = types.iter().map(|&kind| kind.to_owned()).collect();
                let watch = grpc.changes.watch_changes(WatchChangesRequest { after, types }).await.unwrap();
                Self::Grpc(Box::new(watch.into_inner()))
            }
            layer => {
                let address = if layer == Layer::Rest { service.rest } else { service.rest_remote };
                let rest = RestClient::new(address, Some(token.to_owned()));
                let types = types.join(",");
                // The header overrides the parameter.
                let path = format!("/changes?types={types}&after=9000000000000000");
                let mut request = rest.request("GET", if after.is_some() { &path } else { "/changes" });
                if let Some(after) = after {
                    request = request.header("Last-Event-ID", after.to_string());
                }
                let response = request.header("Accept", "text/event-stream").send().await.unwrap();
                assert_eq!(response.status(), 200);
                Self::Rest(response, String::new())
            }
        }
    }

    /// Returns the next message, or `None` if the event stream has ended.
    async fn next(&mut self) -> Result<Option<Message>, Status> {
        timeout(PATIENCE, self.received()).await.expect("timed out waiting for a message")
    }

    async fn received(&mut self) -> Result<Option<Message>, Status> {
        match self {
            Self::Grpc(messages) => {
                let message = messages.message().await?;
                Ok(message
                    .map(|message| Message { position: message.page.as_ref().unwrap().position, page: message.page }))
            }
            Self::Rest(response, text) => loop {
                if let Some((event, rest)) = text.split_once("\n\n") {
                    let message = event_message(event);
                    text.drain(..text.len() - rest.len());
                    return Ok(Some(message));
                }
                match response.chunk().await.unwrap() {
                    Some(chunk) => text.push_str(std::str::from_utf8(&chunk).unwrap()),
                    None => return Ok(None),
                }
            },
        }
    }

    /// Waits for the next message.
    async fn message(&mut self) -> Message {
        self.next().await.unwrap().expect("the watch ended")
    }

    /// Reads up to a position and returns all changes' positions.
    async fn up_to(&mut self, position: i64) -> Vec<i64> {
        let mut positions = Vec::new();
        loop {
            let message = self.message().await;
            positions.extend(message.positions());
            if message.position >= position {
                return positions;
            }
        }
    }
}

fn event_message(event: &str) -> Message {
    let (mut position, mut page, mut kind) = (None, None, None);
    for line in event.lines().filter(|line| !line.starts_with(':')) {
        let (name, value) = line.split_once(": ").unwrap();
        match name {
            "id" => position = Some(value.parse().unwrap()),
            "event" => kind = Some(value.to_owned()),
            "retry" => assert_eq!(value, "1000"),
            "data" => page = Some(page_of(value)),
            _ => panic!("{event}"),
        }
    }
    assert_eq!(kind.is_some(), page.is_some(), "{event}");
    let position = position.expect("each event has an ID");
    assert!(page.as_ref().is_none_or(|page: &ListChangesResponse| page.position == position), "{event}");
    Message { position, page }
}

/// Parses the page in an event's `data`.
fn page_of(data: &str) -> ListChangesResponse {
    let json: serde_json::Value = serde_json::from_str(data).unwrap();
    let number = |name: &str| json[name].as_i64().unwrap();
    let change = |json: &serde_json::Value| Change {
        position: json["position"].as_i64().unwrap(),
        resource: json["resource"].as_str().unwrap().to_owned(),
        id: json["id"].as_i64().unwrap(),
        operation: json["operation"].as_str().unwrap().to_owned(),
        subject: json["subject"].as_str().map(str::to_owned),
        request_id: json["request_id"].as_str().map(str::to_owned),
        ..Change::default()
    };
    ListChangesResponse {
        changes: json["changes"].as_array().unwrap().iter().map(change).collect(),
        position: number("position"),
        last_position: number("last_position"),
        dropped_position: number("dropped_position"),
    }
}

/// Adds URLs with these numbers.
async fn add(pool: &PgPool, company: i64, numbers: std::ops::RangeInclusive<i64>) {
    sqlx::raw_sql(AssertSqlSafe(insert(company, numbers))).execute(pool).await.unwrap();
}

fn insert(company: i64, numbers: std::ops::RangeInclusive<i64>) -> String {
    format!(
        "insert into compliance_urls (company_id, url, url_hash)
        select {company}, 'https://a.example/' || n, sha256(n::text::bytea) from generate_series({}, {}) n",
        numbers.start(),
        numbers.end()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_changes_arrive_in_order() {
    let service = TestService::shared().await;
    let (company, other) = (new_company(), new_company());
    add(&service.pool, company, 1..=2).await;
    let mut watches = Vec::new();
    for layer in LAYERS {
        let mut watch = Watch::open(&service, layer, &token(company), None, &[]).await;
        let first = watch.message().await;
        assert_eq!((first.position, first.positions()), (2, vec![]), "{layer:?}");
        watches.push(watch);
    }
    // Eight writers delay their commits while another company also writes.
    let writers = (1..=8).map(async |writer: i64| {
        for number in 0..5 {
            let mut transaction = service.pool.begin().await.unwrap();
            let first = writer * 1000 + number * 10;
            sqlx::raw_sql(AssertSqlSafe(insert(company, first..=first))).execute(&mut *transaction).await.unwrap();
            tokio::time::sleep(Duration::from_millis(u64::try_from(writer).unwrap() * 3)).await;
            if number == 3 {
                transaction.rollback().await.unwrap();
            } else {
                transaction.commit().await.unwrap();
            }
            add(&service.pool, other, first..=first).await;
        }
    });
    let (_, received) = tokio::join!(join_all(writers), join_all(watches.iter_mut().map(|watch| watch.up_to(34))));
    for positions in received {
        assert_eq!(positions, (3..=34).collect::<Vec<_>>());
    }
    // A large set of changes is split across several messages.
    add(&service.pool, company, 20_001..=23_000).await;
    for watch in &mut watches {
        assert_eq!(watch.up_to(3034).await, (35..=3034).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_receive_only_requested_types() {
    let service = TestService::shared().await;
    let company = new_company();
    let mut watches = Vec::new();
    for layer in LAYERS {
        let mut watch = Watch::open(&service, layer, &token(company), Some(0), &["affiliate", "case"]).await;
        assert_eq!(watch.message().await.position, 0);
        watches.push(watch);
    }
    add(&service.pool, company, 1..=50).await;
    let affiliate = format!(
        "insert into affiliates (company_id, client_affiliate_id, affiliate_name) values ({company}, 'A', 'A')"
    );
    sqlx::raw_sql(AssertSqlSafe(affiliate)).execute(&service.pool).await.unwrap();
    for watch in &mut watches {
        assert_eq!(watch.up_to(51).await, [51]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_resume_where_they_left_off() {
    let service = TestService::shared().await;
    let company = new_company();
    let writing = async {
        for number in 1..=300 {
            add(&service.pool, company, number..=number).await;
        }
    };
    let reading = LAYERS.map(|layer| {
        let service = &service;
        async move {
            let (mut seen, mut last) = (Vec::new(), 0);
            while last < 300 {
                let mut watch = Watch::open(service, layer, &token(company), Some(last), &[]).await;
                // Each connection breaks after a few messages.
                for _ in 0..7 {
                    let message = watch.message().await;
                    seen.extend(message.positions());
                    last = message.position;
                    if last == 300 {
                        break;
                    }
                }
            }
            assert_eq!(seen, (1..=300).collect::<Vec<_>>(), "{layer:?}");
        }
    });
    tokio::join!(writing, join_all(reading));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_watches_receive_heartbeats() {
    let service = TestService::shared().await;
    let company = new_company();
    let heartbeats = LAYERS.map(async |layer| {
        let mut watch = Watch::open(&service, layer, &token(company), Some(0), &["case"]).await;
        assert_eq!(watch.message().await.positions(), [0; 0]);
        add(&service.pool, company, (layer as i64) * 10 + 1..=(layer as i64) * 10 + 2).await;
        // A filtered change moves the position. The new position arrives without changes.
        let mut message = watch.message().await;
        while message.position < 6 {
            assert_eq!(message.positions(), [0; 0]);
            message = watch.message().await;
        }
        assert_eq!((message.position, message.positions()), (6, vec![]));
    });
    join_all(heartbeats).await;
}

/// Tests lists and watches over all layers, even if watchers share a page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_auditors_see_change_authors() {
    let service = TestService::shared().await;
    let company = new_company();
    let scopes =
        [(None, false), (Some("monitor erase webhooks"), false), (Some("audit"), true), (Some("erase audit"), true)];
    let tokens = scopes.map(|(scope, is_audit)| {
        let sub = Some("reader".to_owned());
        let scope = scope.map(str::to_owned);
        (sign(&Claims { sub, scope, ..Claims::new(company, now(), 3600) }), is_audit)
    });
    let mut watches = Vec::new();
    for (layer, (token, is_audit)) in LAYERS.iter().flat_map(|layer| tokens.iter().map(move |token| (*layer, token))) {
        let mut watch = Watch::open(&service, layer, token, Some(0), &[]).await;
        watch.message().await;
        watches.push((watch, *is_audit));
    }
    let rest = RestClient::new(service.rest, Some(tokens[0].0.clone()));
    for name in ["A", "B"] {
        let body = format!(r#"{{"client_affiliate_id":"{name}","affiliate_name":"{name}"}}"#);
        let created = rest.request("POST", "/affiliates").header("x-request-id", "private").body(body);
        assert_eq!(RestResponse::of(created).await.status, 201);
    }
    let check = |changes: &[Change], is_audit: bool| {
        let expected = is_audit.then_some(("reader", "private"));
        let writers = changes.iter().map(|change| change.subject.as_deref().zip(change.request_id.as_deref()));
        assert_eq!(writers.collect::<Vec<_>>(), vec![expected; changes.len()], "{changes:?}");
        assert!(is_audit || changes.iter().all(|change| change.subject.is_none() && change.request_id.is_none()));
    };
    for (mut watch, is_audit) in watches {
        let mut seen = 0;
        while seen < 2 {
            let page = watch.message().await.page;
            let changes = page.map_or(Vec::new(), |page| page.changes);
            check(&changes, is_audit);
            seen += changes.len();
        }
    }
    for (token, is_audit) in &tokens {
        let request = ListChangesRequest { after: Some(0), ..ListChangesRequest::default() };
        let mut grpc = GrpcClients::connect(service.grpc, token).await;
        let page = grpc.changes.list_changes(request).await.unwrap().into_inner();
        assert_eq!(page.changes.len(), 2);
        check(&page.changes, *is_audit);
        for address in [service.rest, service.rest_remote] {
            let rest = RestClient::new(address, Some(token.clone()));
            let listed = RestResponse::of(rest.request("GET", "/changes?after=0")).await;
            assert_eq!((listed.status, listed.text.contains("private")), (200, *is_audit), "{}", listed.text);
            let refused = RestResponse::of(rest.request("GET", "/audit")).await;
            assert_eq!(refused.status, if *is_audit { 200 } else { 403 });
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_connection_expiry_does_not_interrupt_watches() {
    let age = Duration::from_millis(500);
    let service = TestService::with(Options { max_connection_age: age, ..Options::default() }).await;
    let (company, proxy) = (new_company(), Proxy::tcp(service.grpc).await);
    let mut watches = Vec::new();
    for layer in LAYERS {
        let mut watch = Watch::open(&service, layer, &token(company), None, &[]).await;
        watch.message().await;
        watches.push(watch);
    }
    let (grpc, remote) = (GrpcClients::connect(proxy.address(), &token(company)).await, service.rest_remote(company));
    let started = Instant::now();
    let mut changes = 0;
    while started.elapsed() < age * 8 {
        changes += 1;
        add(&service.pool, company, changes..=changes).await;
        let list = async || grpc.clone().changes.list_changes(ListChangesRequest::default()).await;
        if let Err(status) = list().await {
            // tonic can send a call just after a GOAWAY and, unlike other gRPC libraries, does not retry the call.
            assert!(format!("{status:?}").contains("GoAway(b\"\", NO_ERROR, Remote)"), "{status:?}");
            list().await.unwrap();
        }
        let body = format!(r#"{{"urls":[{{"url":"https://b.example/{changes}"}}]}}"#);
        assert_eq!(remote.post("/urls", body).await.status, 201);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(proxy.connections() >= 4, "only {} connections", proxy.connections());
    for watch in &mut watches {
        assert_eq!(watch.up_to(changes * 2).await, (1..=changes * 2).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_end_when_their_token_expires() {
    let service = TestService::shared().await;
    let company = new_company();
    let ended = LAYERS.map(async |layer| {
        let token = token_with_scope(company, None, 3);
        let mut watch = Watch::open(&service, layer, &token, Some(0), &[]).await;
        let expiry = now() + 3;
        watch.message().await;
        let end = watch.next().await;
        match layer {
            Layer::Grpc => {
                let status = end.unwrap_err();
                assert_eq!((status.code(), &*reason_of(&status)), (Code::Unauthenticated, "TOKEN_EXPIRED"));
            }
            _ => assert!(end.unwrap().is_none()),
        }
        assert!((expiry - 2..expiry + 30).contains(&now()));
    });
    join_all(ended).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_watches_are_rejected() {
    let service = TestService::shared().await;
    let company = new_company();
    add(&service.pool, company, 1..=3).await;
    let refused = [
        (410, Code::OutOfRange, Some(4), None),
        (422, Code::InvalidArgument, Some(-1), None),
        (422, Code::InvalidArgument, Some(0), Some("affiliate,unknown")),
    ];
    for (http, grpc, after, types) in refused {
        for rest in [service.rest(company), service.rest_remote(company)] {
            let path = format!("/changes?after={}&types={}", after.unwrap_or_default(), types.unwrap_or_default());
            let response = RestResponse::of(rest.request("GET", &path).header("Accept", "text/event-stream")).await;
            assert_eq!(response.status, http, "{}", response.text);
        }
        let types = types.iter().flat_map(|types| types.split(',')).map(str::to_owned).collect();
        let request = WatchChangesRequest { after, types };
        let status = service.grpc(company).await.changes.watch_changes(request).await.unwrap_err();
        assert_eq!(status.code(), grpc, "{status:?}");
    }
    for id in ["x", "-1", "1.5", "é"] {
        let request = service.rest(company).request("GET", "/changes").header("Accept", "text/event-stream");
        let response = RestResponse::of(request.header("Last-Event-ID", id)).await;
        assert_eq!((response.status, response.paths()), (422, vec!["Last-Event-ID".to_owned()]), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_event_id_applies_only_to_event_streams() {
    let service = TestService::shared().await;
    let company = new_company();
    add(&service.pool, company, 1..=3).await;
    for rest in [service.rest(company), service.rest_remote(company)] {
        for accept in ["application/json", "application/x-ndjson", "text/csv", "*/*"] {
            let request = rest.request("GET", "/changes?after=1&lastEventId=x").header("Accept", accept);
            let response = RestResponse::of(request.header("Last-Event-ID", "3")).await;
            assert_eq!(response.header("x-ignored-parameters"), Some("lastEventId"));
            let changes = response.with_status(200)["data"]["changes"].clone();
            assert_eq!(changes.as_array().map(Vec::len), Some(2), "{accept}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_set_proxy_and_cache_headers() {
    let service = TestService::shared().await;
    let company = new_company();
    for rest in [service.rest(company), service.rest_remote(company)] {
        let request = rest.request("GET", "/changes").header("Accept", "text/event-stream");
        // Compression would delay events until more bytes arrive.
        let mut response = request.header("Accept-Encoding", "gzip, br, zstd").send().await.unwrap();
        let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
        assert_eq!(header("content-type"), Some("text/event-stream"));
        assert_eq!(header("cache-control"), Some("no-store"));
        assert_eq!(header("x-accel-buffering"), Some("no"));
        assert_eq!((header("vary"), header("content-encoding")), (Some("accept"), None));
        assert!(header("x-request-id").is_some());
        let mut text = Vec::new();
        while !text.ends_with(b"\n\n") {
            text.extend(response.chunk().await.unwrap().unwrap());
        }
        assert_eq!(String::from_utf8(text).unwrap(), "retry: 1000\n: nothing new\nid: 0\n\n");
        for path in ["/changes", "/affiliates", "/urls", "/cases"] {
            let response = rest.get(path).await;
            assert_eq!((response.status, response.header("vary")), (200, Some("accept")), "{path}");
        }
    }
}

/// Many watches open at the same time, as after a restart. They outnumber the streams on a core connection, and the other calls that the company can
/// have in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_can_exceed_the_company_call_limit() {
    let calls = CoreSettings::default().max_in_flight / core_server::limits::CALL_SHARE;
    let watches = calls + 100;
    assert!((300..core_server::limits::WATCHERS_OF_A_COMPANY).contains(&watches));
    let service = TestService::start().await;
    for layer in [Layer::Rest, Layer::RestRemote] {
        let company = new_company();
        let token = token(company);
        let open = (0..watches).map(async |_| {
            let mut watch = Watch::open(&service, layer, &token, Some(0), &[]).await;
            assert_eq!(watch.message().await.position, 0);
            watch
        });
        let mut watches = join_all(open).await;
        service.rest_remote(company).get("/affiliates").await.with_status(200);
        add(&service.pool, company, 1..=1).await;
        for received in join_all(watches.iter_mut().map(|watch| watch.up_to(1))).await {
            assert_eq!(received, [1]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_survive_database_outages() {
    let cluster = TestCluster::start(ClusterOptions { supervise: false, ..ClusterOptions::temporary() }).await;
    let database = TestDatabase::create(&cluster.endpoint, "watch").await;
    let service = TestService::over(database.options, Options::default()).await;
    let company = new_company();
    let mut watches = Vec::new();
    for layer in LAYERS {
        let mut watch = Watch::open(&service, layer, &token(company), Some(0), &[]).await;
        assert_eq!(watch.message().await.position, 0);
        watches.push(watch);
    }
    cluster.stop().await;
    for watch in &mut watches {
        // The watch continues without new changes.
        let message = watch.message().await;
        assert_eq!((message.position, message.positions()), (0, vec![]));
    }
}

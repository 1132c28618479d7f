//! Checks that no log, error, metric or trace contains personal data or secrets. Two tiers and their database log everything while they process texts
//! that contain a canary. After an erasure, no table or dump contains the canary.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    thread,
};

use compliance_api::{
    record::Record as _,
    token::{Claims, SCOPE_MONITOR, Secret, issue},
    v1::{
        AddVocabularyEntriesRequest, AffiliateInput, AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput,
        ExportCasesRequest, IncidentInput, IncidentType, ObserveUrlsRequest, OpenCaseRequest, UpdateCaseRequest,
        UrlObservation, VocabularyEntryInput, VocabularyKind,
    },
};
use embedded_postgres::{ClusterOptions, Endpoint, Installation, OWNER_ROLE};
use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use sqlx::{Connection as _, PgConnection};
use test_support::{GrpcClients, TestCluster};
use tonic::Status;

use crate::{
    common::{DataDir, Service, compliance, output},
    observability::{Collector, metrics},
};

/// Part of every text that must not leak. The search ignores case.
const CANARY: &str = "qzcanary";
/// Subject of the token, which only the access log contains.
const SUBJECT: &str = "qzsubject";
const SECRET: &str = "qzcanary-secret-0123456789abcdef";

/// Serves a key set to every request.
fn key_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let body = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"Ynf0goelchueOQCh_N0XFwE1JwtS2Lty6HMqCyEgh3k"}]}"#;
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        }
    });
    address
}

/// Returns an affiliate with a canary in every possible field.
fn affiliate(number: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    for (index, name) in AffiliateInput::names().into_iter().enumerate() {
        let value = match name {
            "country" => "US".to_owned(),
            "status" => "active".to_owned(),
            "start_date" => "2024-01-31".to_owned(),
            "replicated_website" => format!("https://{CANARY}.example/{CANARY}?{CANARY}#{CANARY}"),
            _ if name.starts_with("email") || name.ends_with("email") => format!("{CANARY}{index}@{CANARY}.example"),
            _ => format!("{CANARY}{number}-{index}"),
        };
        fields.insert(name.to_owned(), value.into());
    }
    fields
}

/// Sends a raw request. Returns the raw response.
fn raw(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

/// Fails if a text contains a canary, a part of the token, or a subject outside the access log.
fn assert_clean(what: &str, text: &str, token: &str) {
    let lower = text.to_lowercase();
    assert!(!lower.contains(CANARY), "{what} leaks personal data: {}", around(text, lower.find(CANARY).unwrap()));
    let access = "\"target\":\"access\"";
    let line = text.lines().find(|line| line.contains(SUBJECT) && !line.contains(access));
    assert_eq!(line, None, "{what} leaks the subject");
    for part in token.split('.').skip(1) {
        assert!(!text.contains(&part[..20]), "{what} leaks a token: {}", around(text, text.find(&part[..20]).unwrap()));
    }
}

/// Returns the line at a byte position.
fn around(text: &str, position: usize) -> &str {
    let start = text[..position].rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or_default()
}

/// Sends failing and successful requests. Returns the number of errors.
fn over_rest(gateway: &Service, token: &str) -> usize {
    let text = |value: Value| value.to_string();
    let invalid = |field: &str, value: &str| {
        let mut fields = affiliate(3);
        fields.insert(field.to_owned(), value.into());
        text(Value::Object(fields))
    };
    let long = CANARY.repeat(500);
    let send = |method: &str, path: &str, body: &str| gateway.request(method, path, token, body);
    let (status, made) = send("POST", "/api/affiliates", &text(Value::Object(affiliate(1))));
    assert_eq!(status, 201, "{made}");
    let id = made["detail"]["affiliate_id"].as_i64().unwrap();
    let (status, made) = send("POST", "/api/affiliates", &text(json!({"affiliates": [affiliate(1), affiliate(2)]})));
    assert_eq!(status, 207, "{made}");
    let path = format!("/api/affiliates/{id}");
    let url = format!("https://{CANARY}.example/{CANARY}?q={CANARY}#{CANARY}");
    assert_eq!(send("POST", "/api/urls", &text(json!({"urls": [{"url": url}, {"url": url}]}))).0, 201);
    assert_eq!(send("PUT", &path, &text(json!({"id": id, "notes": CANARY, "zip": ""}))).0, 200);
    for list in ["/api/affiliates", "/api/urls", "/api/cases", &path] {
        assert_eq!(send("GET", list, "").0, 200);
    }
    let errors = [
        ("POST", "/api/affiliates", text(Value::Object(affiliate(1)))),
        ("POST", "/api/affiliates", invalid("email_one", CANARY)),
        ("POST", "/api/affiliates", invalid("status", CANARY)),
        ("POST", "/api/affiliates", invalid("country", CANARY)),
        ("POST", "/api/affiliates", invalid("start_date", CANARY)),
        ("POST", "/api/affiliates", invalid("replicated_website", CANARY)),
        ("POST", "/api/affiliates", invalid("city", &long)),
        ("POST", "/api/affiliates", invalid("notes", "qzcanary\0")),
        // An unknown constraint rejects this request, which causes an unexpected error.
        ("POST", "/api/affiliates", invalid("affiliate_name", "qzcanary refused")),
        ("POST", "/api/affiliates", text(json!({"affiliates": [{"city": {"x": CANARY}, "zip": [CANARY]}, CANARY]}))),
        ("POST", "/api/affiliates", text(json!({"affiliates": CANARY}))),
        ("POST", "/api/affiliates", format!("{{\"affiliate_name\": \"{CANARY}\", ")),
        ("POST", "/api/affiliates", format!("{CANARY} is no JSON")),
        ("PUT", &path, text(json!({"id": id, "affiliate_name": affiliate(2)["affiliate_name"]}))),
        ("PUT", &path, text(json!({"id": CANARY, "affiliate_name": CANARY}))),
        ("PUT", &path, text(json!({"id": id, "notes": "qzcanary refused"}))),
        ("PUT", "/api/affiliates/qzcanary", text(json!({"id": 1, "notes": CANARY}))),
        ("PUT", "/api/affiliates/999999999", text(json!({"id": 999_999_999, "notes": CANARY}))),
        ("POST", "/api/urls", text(json!({"urls": [{"url": format!("ftp://{CANARY}.example/")}, {"url": CANARY}]}))),
        ("POST", "/api/urls", text(json!({"urls": [{"uri": CANARY}, CANARY]}))),
        ("POST", "/api/urls", text(json!({"urls": [{"url": "https://refused.example/qzcanary"}]}))),
        ("GET", "/api/affiliates/qzcanary", String::new()),
        ("GET", "/api/qzcanary", String::new()),
        ("GET", "/qzcanary?qzcanary=qzcanary", String::new()),
        ("DELETE", "/api/urls/qzcanary", String::new()),
        ("GET", "/api/urls?disabled=qzcanary&sort_by=qzcanary&page=qzcanary&discovery_after=qzcanary", String::new()),
        ("GET", "/api/cases?distributor_id=qzcanary&sort_dir=qzcanary&per_page=qzcanary", String::new()),
    ];
    let mut seen = [0; 600];
    for (method, path, body) in &errors {
        let (status, mut answer) = send(method, path, body);
        assert!(status >= 400, "{method} {path}: {status} {answer}");
        seen[usize::from(status)] += 1;
        // The response for a duplicate repeats the affiliate's name.
        if status == 409 {
            answer["detail"].as_object_mut().unwrap().remove("client_affiliate_id");
        }
        // The message about an unknown affiliate repeats the affiliate ID.
        let answer = answer.to_string().replace("for the provided affiliate ID qzcanary.", "");
        assert_clean(&format!("the response to {method} {path}"), &answer, token);
    }
    assert!(
        seen[500] == 3 && seen[422] > 10 && seen[404] == 5 && seen[405] == 1 && seen[409] == 1,
        "{:?}",
        &seen[400..]
    );
    // Put secrets in other places: a token in the query, cookies, a forged token, and malformed heads.
    let forged = issue(&Secret::new([7; 32]).unwrap(), &claims()).unwrap();
    for request in [
        format!(
            "GET /api/urls?access_token={token}&key={CANARY} HTTP/1.0\r\nCookie: id={CANARY}\r\nX-{CANARY}: {CANARY}\r\n\r\n"
        ),
        format!("GET /api/urls HTTP/1.0\r\nAuthorization: Bearer {forged}\r\nUser-Agent: {CANARY}\r\n\r\n"),
        format!("GET /api/urls HTTP/1.0\r\nAuthorization: Basic {CANARY}\r\nReferer: https://{CANARY}/\r\n\r\n"),
        format!("GET /api/urls HTTP/1.0\r\nAuthorization: Bearer {token}\r\nAuthorization: Bearer {CANARY}\r\n\r\n"),
        format!("GET /api/urls HTTP/1.0\r\nAuthorization: Bearer {token} {CANARY}\r\n\r\n"),
        format!("GET /api/urls HTTP/1.0\r\n{CANARY} {CANARY}\r\n\r\n"),
        format!("{CANARY} {CANARY} {CANARY}\r\n\r\n"),
        format!("{CANARY}\0\u{1}\r\n\r\n"),
    ] {
        let response = raw(gateway.rest, &request);
        assert_clean(&request, &response, token);
        assert_clean(&request, &response, &forged);
    }
    errors.len()
}

#[expect(clippy::unnecessary_wraps, reason = "text fields of messages are optional")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Calls the internal write API. Returns the number of errors.
async fn over_grpc(core: SocketAddr, token: &str) -> usize {
    let mut clients = GrpcClients::connect(core, token).await;
    let m = &mut clients.monitoring;
    let client_id = affiliate(1)["client_affiliate_id"].as_str().unwrap().to_owned();
    let url = format!("https://{CANARY}.example/seen");
    let observation = UrlObservation {
        url: Some(url.clone()),
        client_affiliate_id: Some(client_id.clone()),
        note: some(CANARY),
        owner_email: some("qzcanary@qzcanary.example"),
        transcription_text: some(&CANARY.repeat(1000)),
        phone_one: some(CANARY),
        social_one: some(CANARY),
        ..UrlObservation::default()
    };
    let bad = |change: fn(&mut UrlObservation)| {
        let mut observation = observation.clone();
        change(&mut observation);
        observation
    };
    let observations = vec![
        observation.clone(),
        bad(|o| o.incident_status = some(CANARY)),
        bad(|o| o.url = some(CANARY)),
        bad(|o| o.client_affiliate_id = some(CANARY)),
        bad(|o| o.sub_affiliate_id = some(&CANARY.repeat(200))),
        bad(|o| o.note = some("qzcanary\0")),
        bad(|o| o.clear = vec![CANARY.to_owned()]),
        bad(|o| o.country = some(CANARY)),
    ];
    let results = m.observe_urls(ObserveUrlsRequest { observations }).await.unwrap().into_inner().results;
    assert!(results[0].code == 1020 && results[1..].iter().all(|result| result.code != 1020), "{results:?}");
    assert_clean("results of observations", &format!("{results:?}"), token);
    let case = CaseInput {
        client_affiliate_id: Some(client_id),
        case_worker: some(CANARY),
        submitter: some(CANARY),
        tags: vec![CANARY.to_owned()],
        ..CaseInput::default()
    };
    let incident =
        IncidentInput { incident_type: IncidentType::Form.into(), reference: some(CANARY), ..IncidentInput::default() };
    let opening = OpenCaseRequest {
        request_id: some(CANARY),
        case: Some(case.clone()),
        incidents: vec![incident.clone()],
        ..OpenCaseRequest::default()
    };
    let case_id = m.open_case(opening.clone()).await.unwrap().into_inner().case_id;
    let attach = AttachIncidentsRequest {
        id: case_id,
        incidents: vec![IncidentInput { reference: some("qzcanary 2"), ..incident.clone() }],
    };
    m.attach_incidents(attach).await.unwrap();
    let mut exported = m.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
    while exported.message().await.unwrap().is_some() {}

    let mut errors: Vec<Status> = Vec::new();
    let cases = [
        CaseInput { case_status: some(CANARY), ..case.clone() },
        CaseInput { client_affiliate_id: some("qzcanary unknown"), ..case.clone() },
        CaseInput { case_worker: some("qzcanary\0"), ..case.clone() },
        CaseInput { case_worker: some("qzcanary refused"), ..case.clone() },
        CaseInput { case_country: some(CANARY), ..case.clone() },
    ];
    for case in cases {
        let update =
            UpdateCaseRequest { id: case_id, case: Some(case.clone()), update_mask: None, etag: String::new() };
        errors.push(m.update_case(update).await.unwrap_err());
        let opening = OpenCaseRequest { request_id: some("qzcanary other"), case: Some(case), ..opening.clone() };
        errors.push(m.open_case(opening.clone()).await.unwrap_err());
        let results = m.batch_open_cases(BatchOpenCasesRequest { cases: vec![opening] }).await;
        match results {
            Ok(results) => assert_clean("results of cases", &format!("{results:?}"), token),
            Err(status) => errors.push(status),
        }
    }
    let entry = |vocabulary: VocabularyKind, name: &str, infraction_type: Option<String>| VocabularyEntryInput {
        vocabulary: vocabulary.into(),
        name: some(name),
        infraction_type,
    };
    let entries = vec![entry(VocabularyKind::InfractionName, CANARY, some(CANARY))];
    match m.add_vocabulary_entries(AddVocabularyEntriesRequest { entries }).await {
        Ok(results) => assert_clean("results of names", &format!("{results:?}"), token),
        Err(status) => errors.push(status),
    }
    let unexpected = errors.iter().filter(|status| status.code() == tonic::Code::Internal).count();
    assert!(unexpected >= 2, "{errors:?}");
    for status in &errors {
        assert_clean("an error over gRPC", &format!("{status:?} {}", String::from_utf8_lossy(status.details())), token);
    }
    errors.len()
}

fn claims() -> Claims {
    let claims = Claims::new(7, test_support::now(), 3600);
    Claims { scope: some(&format!("{SCOPE_MONITOR} erase")), sub: some(SUBJECT), ..claims }
}

/// Returns a lowercase dump of the records.
fn dump(endpoint: &Endpoint) -> String {
    let programs = tokio::runtime::Runtime::new().unwrap().block_on(Installation::find(None)).unwrap();
    let mut dump = Command::new(programs.program("pg_dump"));
    // Dump only data, because a constraint of this test contains the canary.
    dump.args(["--data-only", "--dbname", &endpoint.url(OWNER_ROLE, "given")]);
    let (status, dump, log) = output(&mut dump);
    assert!(status.success(), "{log}");
    dump.to_lowercase()
}

/// Syncs affiliates and imports a file. Erases an affiliate with a request, and the company with the command. Returns both commands' logs.
fn import_and_erase(
    gateway: &Service,
    token: &str,
    command: &dyn Fn(&[&str]) -> Command,
    endpoint: &Endpoint,
) -> (String, String) {
    let roster = json!({"affiliates": [affiliate(4), {"client_affiliate_id": CANARY}]}).to_string();
    assert_eq!(gateway.request("POST", "/api/affiliates:sync", token, &roster).0, 207);
    let folder = DataDir::new();
    fs::create_dir_all(folder.path()).unwrap();
    let file = folder.path().join("affiliates.csv");
    fs::write(&file, format!("client_affiliate_id,affiliate_name,notes\n{CANARY}5,{CANARY}5,{CANARY}\n")).unwrap();
    let (status, _, imported) =
        output(&mut command(&["import", "affiliates", file.to_str().unwrap(), "--company", "7"]));
    assert!(status.success(), "{imported}");

    let list = gateway.get("/api/affiliates", token)["data"].clone();
    let one = list.as_array().unwrap().iter().find(|one| one["distributor_name"] == format!("{CANARY}1-1")).unwrap();
    let (path, name) = (format!("/api/affiliates/{}", one["id"]), format!("{CANARY}1-"));
    assert!(dump(endpoint).contains(&name));
    let (status, erased) = gateway.request("DELETE", &path, token, "");
    assert!(status == 200 && erased["data"]["cases"] == 1, "{erased}");
    assert!(!dump(endpoint).contains(&name));

    assert!(dump(endpoint).contains(CANARY));
    let (status, _, log) = output(&mut command(&["erase", "--company", "7", "--yes"]));
    assert!(status.success(), "{log}");
    let dump = dump(endpoint);
    assert!(!dump.contains(CANARY), "the dump leaks personal data: {}", around(&dump, dump.find(CANARY).unwrap()));
    (imported, log)
}

#[test]
fn logs_and_errors_contain_no_personal_data() {
    let threads = tokio::runtime::Runtime::new().unwrap();
    let (data, database) = (DataDir::new(), DataDir::new());
    let cluster = threads.block_on(async {
        let cluster = TestCluster::start(ClusterOptions::new(database.path())).await;
        cluster.endpoint.create_database("given").await.unwrap();
        cluster
    });
    let database_url = cluster.endpoint.url(OWNER_ROLE, "given");
    let (collector, collector_address) = Collector::start(&threads);
    let keys = format!("http://{CANARY}:{CANARY}@{}/{CANARY}?key={CANARY}", key_server());
    let command = |arguments: &[&str]| -> Command {
        let mut command = compliance(&data);
        command.args(arguments).envs([("COMPLIANCE_LOG", "trace"), ("DATABASE_URL", &database_url)]);
        command.envs([("COMPLIANCE_JWT_SECRET", SECRET), ("COMPLIANCE_JWKS_URL", &keys)]);
        command.envs([("COMPLIANCE_JWKS_REFRESH", "1s"), ("COMPLIANCE_RATE_LIMIT", "off")]);
        if arguments != ["migrate"] {
            command.envs([
                ("COMPLIANCE_OTLP_ENDPOINT", collector_address.as_str()),
                ("COMPLIANCE_ADMIN_ADDR", "127.0.0.1:0"),
            ]);
        }
        command
    };
    let (status, _, migrated) = output(&mut command(&["migrate"]));
    assert!(status.success(), "{migrated}");
    // These constraints cause unexpected errors, with the row in their details.
    let unexpected = "
        alter table affiliates add constraint refused check
            (affiliate_name <> 'qzcanary refused' and notes is distinct from 'qzcanary refused');
        alter table compliance_cases add constraint refused check (case_worker <> 'qzcanary refused');
        alter table compliance_urls add constraint refused check (url not like '%refused%');";
    threads.block_on(async {
        let mut connection = PgConnection::connect(&database_url).await.unwrap();
        sqlx::raw_sql(unexpected).execute(&mut connection).await.unwrap();
    });

    let core = Service::start_as(&mut command(&["core"]));
    let gateway = Service::start_as(command(&["gateway"]).env("COMPLIANCE_CORE_URL", format!("http://{}", core.grpc)));
    let token = issue(&Secret::new(SECRET).unwrap(), &claims()).unwrap();
    let mut errors = over_rest(&gateway, &token);
    errors += threads.block_on(over_grpc(core.grpc, &token));
    assert!(errors > 35, "{errors}");
    let (imported, erased) = import_and_erase(&gateway, &token, &command, &cluster.endpoint);

    let mut logs = vec![("the migration log", migrated), ("the import log", imported), ("the erasure log", erased)];
    for (name, admin) in [("the gateway's metrics", gateway.admin), ("the core's metrics", core.admin)] {
        let metrics = metrics(admin);
        assert!(metrics.len() > 100, "{metrics:?}");
        logs.push((name, format!("{metrics:?}")));
    }
    for (name, service) in [("the gateway log", gateway), ("the core log", core)] {
        service.signal(Signal::SIGTERM);
        let (status, log) = service.end_with_log();
        assert_eq!(status.code(), Some(0));
        // The programs and their libraries logged everything that the filter allows.
        assert!(log.contains("\"TRACE\"") && log.contains("\"ERROR\"") && log.contains(SUBJECT), "{log}");
        logs.push((name, log));
    }
    // The programs sent their remaining spans before they stopped.
    let spans = collector.spans();
    assert!(spans.len() > 100, "{}", spans.len());
    logs.push(("the traces", format!("{spans:?}")));
    threads.block_on(cluster.stop());
    let log = fs::read_to_string(database.path().join("postgres.log")).unwrap();
    assert!(log.contains("refused"), "{log}");
    logs.push(("the PostgreSQL log", log));
    for (name, log) in &logs {
        assert_clean(name, log, &token);
    }
}

//! Creates and changes every kind of record.

use std::ops::Range;

use compliance_api::v1::{CaseInput, EraseAffiliateRequest, OpenCaseRequest};
use prost_reflect::DynamicMessage;
use sqlx::PgPool;
use test_support::{TestService, token};

use super::COMPANIES;
use crate::described::{
    calls::Core,
    json::request,
    messages::{method, shown},
};

/// Fills both companies. Returns instants between the changes, in the format of `as_of`.
pub(crate) async fn fill(service: &TestService) -> Vec<String> {
    let mut instants = Vec::new();
    for (round, name) in ["first", "second"].into_iter().enumerate() {
        for company in &COMPANIES[..2 - round] {
            write_kinds(service, *company, name).await;
        }
        instants.push(next_second(&service.pool).await);
    }
    let company = COMPANIES[0];
    let mut grpc = service.grpc(company).await;
    let erased = grpc.affiliate("To be erased").await;
    let case = CaseInput { affiliate_id: Some(erased), ..CaseInput::default() };
    grpc.open(OpenCaseRequest {
        request_id: Some("erased".to_owned()),
        case: Some(case),
        ..OpenCaseRequest::default()
    })
    .await;
    grpc.erasures.erase_affiliate(EraseAffiliateRequest { id: erased, etag: String::new() }).await.unwrap();
    by_hand(&service.pool).await;
    for company in COMPANIES {
        let body = r#"{"url":"https://receiver.example/hook","types":["affiliate","case"],"description":"Copy"}"#;
        let created = service.rest(company).post("/webhooks", body).await.with_status(201);
        let id = created["data"]["webhook"]["id"].as_i64().unwrap();
        let delivered = "insert into webhook_deliveries (company_id, webhook_id, number, message_id, after, position, attempt,
                started_at, duration_ms, http_status, error)
            values ($1, $2, 1, 'msg_1', 0, 2, 1, now(), 12, 200, null), ($1, $2, 2, 'msg_2', 2, 4, 1, now(), 15000, null, 'no response')";
        sqlx::query(delivered).bind(company).bind(id).execute(&service.pool).await.unwrap();
    }
    instants
}

/// Waits until the next second has passed, and returns that second. No later change falls within it.
async fn next_second(pool: &PgPool) -> String {
    let second =
        "select to_char((clock_timestamp() + interval '1 s') at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    let begun = sqlx::query_scalar(second).fetch_one(pool).await.unwrap();
    sqlx::query("select pg_sleep(2)").execute(pool).await.unwrap();
    begun
}

/// Writes rows with SQL, as other programs do.
async fn by_hand(pool: &PgPool) {
    let statements = "
        insert into affiliates (company_id, client_affiliate_id, affiliate_name, start_date, notes)
            values (101, 'hand', 'By hand', '2024-01-02', E'a, (b) \"c\" \\\\ d\\ne');
        update compliance_urls set last_seen = '2026-01-31 12:00:00+00', note = E'\"\\\\,()\\t' where company_id = 101 and id % 3 = 0;
        delete from compliance_urls where company_id = 101 and url like '%second/7';
        update compliance_cases set tags = '{x,\"y z\"}' where company_id = 101";
    sqlx::raw_sql(statements).execute(pool).await.unwrap();
}

/// Calls every write operation. All names contain `name`, so two calls write different records.
pub(super) async fn write_kinds(service: &TestService, company: i64, name: &str) {
    let each = |numbers: Range<usize>, item: &str| {
        let items: Vec<String> = numbers.map(|number| item.replace("<n>", &number.to_string())).collect();
        items.join(",")
    };
    let affiliate = r#"{"client_affiliate_id":"<name>-<n>","affiliate_name":"<name> Nàme <n> \ud83c\udf10 \\ \"quoted\"\t",
        "email_one":"<name>.<n>@example.org","country":"DE","city":"Zürich","upline":"<name> affiliate","start_date":"2024-02-29",
        "status":"active"}"#;
    let observed = r#"{"url":"<url>/<n>","client_affiliate_id":"<name>-1","country":"DE",<status>,
        "infractions":[{<own>},{"infraction_type":"Trademark","infraction_name":"brand bidding"}]}"#;
    let observed = [
        each(0..3, &observed.replace("<status>", r#""disabled":true,"incident_status":"In Violation""#)),
        each(3..6, &observed.replace("<status>", r#""disabled":false,"incident_status":"New""#)),
    ];
    let form = r#"{"incident_type":"form","reference":"form"}"#;
    let opening = r#"{"request_id":"<name> <n>","case":{"client_affiliate_id":"<name>-<n>"},
        "incidents":[{"incident_type":"url","url":"<url>/<n>"},<form>]}"#;
    let opening = |number: usize| opening.replace("<n>", &number.to_string());
    let calls = [
        // Affiliate <0>, and affiliates <1> to <5>.
        (
            "AffiliateService/CreateAffiliate",
            r#"{"client_affiliate_id":"<name> affiliate","affiliate_name":"<name> affiliate"}"#.to_owned(),
        ),
        ("AffiliateService/BatchCreateAffiliates", format!(r#"{{"affiliates":[{}]}}"#, each(0..5, affiliate))),
        (
            "AffiliateService/BatchUpdateAffiliates",
            r#"{"affiliates":[{"id":<1>,"affiliate_name":"<name> renamed"},{"id":<0>,"affiliate_name":"<name> affiliate 1"}]}"#
                .to_owned(),
        ),
        (
            "ComplianceUrlService/AddComplianceUrls",
            format!(r#"{{"urls":[{}]}}"#, each(0..10, r#"{"url":"<url>/<n>"}"#)),
        ),
        (
            "MonitoringService/AddVocabularyEntries",
            r#"{"entries":[{"vocabulary":"infraction_type","name":"<name> type"},
                {"vocabulary":"infraction_name","name":"<name> infraction","infraction_type":"<name> type"},
                {"vocabulary":"risk_level","name":"<name> risk"}]}"#
                .to_owned(),
        ),
        ("MonitoringService/ObserveUrls", format!(r#"{{"observations":[{}]}}"#, observed.join(","))),
        ("MonitoringService/ObserveUrls", r#"{"observations":[{"url":"<url>/1","clear":["country"]}]}"#.to_owned()),
        (
            "MonitoringService/RecordInfractions",
            r#"{"infractions":[{"url":"<url>/8",<own>},{"url":"<url>/9",<own>}]}"#.to_owned(),
        ),
        ("MonitoringService/WithdrawInfractions", r#"{"infractions":[{"url":"<url>/9",<own>}]}"#.to_owned()),
        // Cases <6> to <9>.
        ("MonitoringService/OpenCase", opening(0)),
        ("MonitoringService/OpenCase", opening(1)),
        ("MonitoringService/OpenCase", opening(2)),
        ("MonitoringService/OpenCase", opening(3)),
        ("MonitoringService/UpdateCase", r#"{"id":<6>,"risk_level":"<name> risk","tags":["a","b, c"]}"#.to_owned()),
        (
            "MonitoringService/AttachIncidents",
            format!(r#"{{"id":<7>,"incidents":[{}]}}"#, each(4..6, r#"{"incident_type":"url","url":"<url>/<n>"}"#)),
        ),
        ("MonitoringService/DetachIncidents", r#"{"id":<7>,"incidents":[<form>]}"#.to_owned()),
        ("MonitoringService/ResolveCase", r#"{"id":<7>}"#.to_owned()),
        ("MonitoringService/CloseCase", r#"{"id":<8>}"#.to_owned()),
        ("MonitoringService/ReopenCase", r#"{"id":<8>}"#.to_owned()),
    ];

    let (core, token) = (Core::connect(service.grpc).await, format!("Bearer {}", token(company)));
    let own = r#""infraction_type":"<name> type","infraction_name":"<name> infraction""#;
    let mut ids: Vec<String> = Vec::new();
    for (operation, json) in calls {
        let json = json.replace("<own>", own).replace("<form>", form).replace("<url>", "https://example.org/<name>");
        let json = json.replace("<name>", name);
        let json = ids.iter().enumerate().fold(json, |json, (number, id)| json.replace(&format!("<{number}>"), id));
        let method = method(operation);
        let answer = core.call(operation, &[&token], request(method.input(), &json)).await;
        assert!(answer.error.is_none(), "{operation}: {answer:?}");
        if ["CreateAffiliate", "OpenCase"].iter().any(|kind| operation.contains(kind)) {
            let saved = shown(&DynamicMessage::decode(method.output(), &*answer.messages[0]).unwrap());
            let known = saved.split("affiliate_id: I64(").flat_map(|part| part.split("case_id: I64(")).skip(1);
            ids.extend(known.map(|part| part.split(')').next().unwrap().to_owned()));
        }
    }
}

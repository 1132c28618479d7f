//! Translates case work and reviews to gRPC calls.

use compliance_api::v1::{
    AttachIncidentsRequest, CloseCaseRequest, DetachIncidentsRequest, IncidentKey, IncidentResult, InfractionInput,
    OpenCaseRequest, ReopenCaseRequest, ResolveCaseRequest, ReviewUrlRequest, UpdateCaseRequest, UrlReview,
};
use prost_types::{FieldMask, Timestamp};
use serde_json::{Value, json};
use test_support::GrpcClients;
use time::{PrimitiveDateTime, macros::format_description};
use tonic::Status;

use super::expect::NO_KNOWN_FIELD;

/// Sends a REST request as a gRPC call and returns the response in REST form.
pub(super) async fn ask(grpc: &mut GrpcClients, path: &str, body: Option<&str>) -> Result<String, Status> {
    let body: Value = serde_json::from_str(body.unwrap_or("{}")).unwrap();
    let mut segments = path[1..].split('/');
    let (resource, id, action) = (segments.next().unwrap(), segments.next(), segments.next().unwrap_or_default());
    let id = id.map_or(0, |id| id.parse().unwrap());
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let date = |name: &str| body[name].as_str().map(timestamp);
    let mask = Some(FieldMask { paths: body.as_object().unwrap().keys().cloned().collect() });
    let has_fields = body.as_object().is_some_and(|fields| !fields.is_empty());
    let client = &mut grpc.monitoring;
    Ok(match (resource, id, action) {
        ("urls", id, "") => {
            let given = |name: &str| match &body[name] {
                Value::Bool(flag) => Some(*flag),
                other => other.as_str().map(|text| text == "yes"),
            };
            let infractions = body["infractions"].as_array().into_iter().flatten();
            let infractions = infractions.map(|item| serde_json::from_value::<InfractionInput>(item.clone()).unwrap());
            let review = UrlReview {
                incident_status: text("incident_status"),
                false_positive: given("false_positive"),
                disabled: given("disabled"),
                note: text("note"),
                infractions: infractions.collect(),
            };
            let request = ReviewUrlRequest { id, review: Some(review), update_mask: mask, etag: String::new() };
            let url_id = client.review_url(request).await?.into_inner().url_id;
            let msg = if has_fields { "URL reviewed." } else { NO_KNOWN_FIELD };
            format!(r#"{{"code":"1020","status":"ok","detail":{{"url_id":{url_id},"msg":"{msg}"}}}}"#)
        }
        ("cases", 0, "") => {
            let request: OpenCaseRequest = serde_json::from_value(body).unwrap();
            let opened = client.open_case(request).await?.into_inner();
            saved(opened.case_id, opened.created, ["Case opened.", "The case was already opened."])
        }
        ("cases", id, "") => {
            let case = serde_json::from_value(body.clone()).unwrap();
            let request = UpdateCaseRequest { id, case: Some(case), update_mask: mask, etag: String::new() };
            let updated = client.update_case(request).await?.into_inner();
            let unchanged = if has_fields { "The case already has these values." } else { NO_KNOWN_FIELD };
            saved(updated.case_id, updated.changed, ["Case updated.", unchanged])
        }
        ("cases", id, "resolve") => {
            let request = ResolveCaseRequest { id, resolved_date: date("resolved_date"), etag: String::new() };
            let resolved = client.resolve_case(request).await?.into_inner();
            saved(resolved.case_id, resolved.changed, ["Case resolved.", "The case was already resolved."])
        }
        ("cases", id, "close") => {
            let (case_status, closed_date) = (text("case_status"), date("closed_date"));
            let request = CloseCaseRequest { id, case_status, closed_date, etag: String::new() };
            let closed = client.close_case(request).await?.into_inner();
            saved(closed.case_id, closed.changed, ["Case closed.", "The case was already closed."])
        }
        ("cases", id, "reopen") => {
            let request = ReopenCaseRequest { id, case_status: text("case_status"), etag: String::new() };
            let reopened = client.reopen_case(request).await?.into_inner();
            saved(reopened.case_id, reopened.changed, ["Case reopened.", "The case was already open."])
        }
        ("cases", id, "incidents") => {
            let OpenCaseRequest { incidents, .. } = serde_json::from_value(body).unwrap();
            let request = AttachIncidentsRequest { id, incidents };
            results(&client.attach_incidents(request).await?.into_inner().results)
        }
        ("cases", id, "incidents:detach") => {
            let items = body["incidents"].as_array().unwrap().iter();
            let incidents =
                items.map(|item| IncidentKey { incident_id: item["incident_id"].as_i64(), ..IncidentKey::default() });
            let request = DetachIncidentsRequest { id, incidents: incidents.collect() };
            results(&client.detach_incidents(request).await?.into_inner().results)
        }
        _ => panic!("{path}: no matching gRPC operation"),
    })
}

fn saved(id: i64, changed: bool, [done, before]: [&str; 2]) -> String {
    let msg = if changed { done } else { before };
    format!(r#"{{"code":"1020","status":"ok","detail":{{"case_id":{id},"msg":"{msg}"}}}}"#)
}

fn results(results: &[IncidentResult]) -> String {
    let result = |result: &IncidentResult| {
        let id = result.incident_id.map(|id| format!(r#""incident_id":{id},"#)).unwrap_or_default();
        let status = if result.code == 1020 { "ok" } else { "error" };
        format!(r#"{{"code":"{}","status":"{status}","detail":{{{id}"msg":{}}}}}"#, result.code, json!(result.msg))
    };
    format!("[{}]", results.iter().map(result).collect::<Vec<_>>().join(","))
}

fn timestamp(text: &str) -> Timestamp {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    let seconds = PrimitiveDateTime::parse(text, format).unwrap().assume_utc().unix_timestamp();
    Timestamp { seconds, nanos: 0 }
}

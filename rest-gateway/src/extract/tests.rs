use std::collections::BTreeSet;

use compliance_api::{
    description::{Field, Kind, Message},
    error::Error,
    rules::{Check as _, Violations},
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, AttachIncidentsRequest, BatchCreateAffiliatesRequest,
        BatchSyncAffiliatesRequest, BatchUpdateAffiliatesRequest, CaseInput, CloseCaseRequest, DetachIncidentsRequest,
        OpenCaseRequest, ReopenCaseRequest, ResolveCaseRequest, UrlInput, UrlReview, WebhookInput,
    },
};
use http::{HeaderMap, HeaderValue, header::IF_MATCH};
use serde_json::{Map, Value, json};

use super::bodies::{self, Input};
use crate::{
    head::{IfMatch, PathId},
    route::Ignored,
};

const MEMORY: usize = 1 << 20;

/// Reads a body as the operation does.
fn read(operation: &str, body: &Value, ignored: &mut Ignored) -> Result<(), Error> {
    let body = serde_json::to_vec(body).unwrap();
    let input = Input { bytes: &body, memory: MEMORY, ignored };
    let (path, none) = (PathId::of("1"), IfMatch::of(&HeaderMap::new()));
    match operation {
        "post /api/affiliates" => bodies::create_affiliates(input).map(drop),
        "put /api/affiliates/{id}" => bodies::update_affiliates(input, &path, &none).map(drop),
        "post /api/affiliates:sync" => bodies::sync_affiliates(input).map(drop),
        "post /api/urls" => bodies::add_urls(input).map(drop),
        "post /api/webhooks" => bodies::create_webhook(input).map(drop),
        "put /api/webhooks/{id}" => bodies::update_webhook(input, &path).map(drop),
        "patch /api/urls/{id}" => bodies::review_url(input, &path, &none).and_then(|it| valid(it.violations)),
        "post /api/cases" => bodies::open_case(input).and_then(|it| valid(it.violations)),
        "patch /api/cases/{id}" => bodies::update_case(input, &path, &none).and_then(|it| valid(it.violations)),
        "post /api/cases/{id}/resolve" => bodies::case_status::<ResolveCaseRequest>(input, &path, &none).map(drop),
        "post /api/cases/{id}/close" => bodies::case_status::<CloseCaseRequest>(input, &path, &none).map(drop),
        "post /api/cases/{id}/reopen" => bodies::case_status::<ReopenCaseRequest>(input, &path, &none).map(drop),
        "post /api/cases/{id}/incidents" => bodies::incidents::<AttachIncidentsRequest>(input, &path).map(drop),
        "post /api/cases/{id}/incidents:detach" => bodies::incidents::<DetachIncidentsRequest>(input, &path).map(drop),
        unknown => panic!("add {unknown} to this match"),
    }
}

fn valid(violations: Violations) -> Result<(), Error> {
    if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
}

/// Returns the operations with a body, and the documented examples of each body.
fn documented() -> Vec<(String, Vec<Value>)> {
    let document: Value = serde_json::from_str(include_str!("../../../docs/openapi.json")).unwrap();
    let mut bodies = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let Some(body) = operation.get("requestBody") else { continue };
            let examples = body["content"]["application/json"]["examples"].as_object();
            let examples = examples.into_iter().flat_map(Map::values).map(|example| example["value"].clone());
            bodies.push((format!("{method} {path}"), examples.collect()));
        }
    }
    bodies
}

/// The objects in a body.
struct Parts {
    /// The fields of the body itself.
    top: &'static Message,
    /// The name of the list, the message with the list and its options, and the message with an element's fields.
    list: Option<(&'static str, &'static Message, &'static Message)>,
    /// Whether objects contain their record's ID.
    has_id: bool,
}

fn parts(operation: &str) -> Parts {
    let (affiliate, none) = (AffiliateInput::MESSAGE, &Message { name: "", doc: "", size: 0, fields: &[] });
    let of = |top, list, has_id| Parts { top, list, has_id };
    match operation {
        "post /api/affiliates" => {
            of(affiliate, Some(("affiliates", BatchCreateAffiliatesRequest::MESSAGE, affiliate)), false)
        }
        "put /api/affiliates/{id}" => {
            of(affiliate, Some(("affiliates", BatchUpdateAffiliatesRequest::MESSAGE, affiliate)), true)
        }
        "post /api/affiliates:sync" => {
            of(none, Some(("affiliates", BatchSyncAffiliatesRequest::MESSAGE, affiliate)), false)
        }
        "post /api/urls" => of(none, Some(("urls", AddComplianceUrlsRequest::MESSAGE, UrlInput::MESSAGE)), false),
        "patch /api/urls/{id}" => of(UrlReview::MESSAGE, None, false),
        "post /api/cases" => of(OpenCaseRequest::MESSAGE, None, false),
        "patch /api/cases/{id}" => of(CaseInput::MESSAGE, None, false),
        "post /api/cases/{id}/resolve" => of(ResolveCaseRequest::MESSAGE, None, false),
        "post /api/cases/{id}/close" => of(CloseCaseRequest::MESSAGE, None, false),
        "post /api/cases/{id}/reopen" => of(ReopenCaseRequest::MESSAGE, None, false),
        "post /api/cases/{id}/incidents" => of(AttachIncidentsRequest::MESSAGE, None, false),
        "post /api/cases/{id}/incidents:detach" => of(DetachIncidentsRequest::MESSAGE, None, false),
        _ => of(WebhookInput::MESSAGE, None, false),
    }
}

/// Returns a value of the field's type that violates its rules, if possible.
fn refused_by_rules(field: &Field) -> Option<Value> {
    let text = json!("x".repeat(field.max_chars.or(field.exact_chars).unwrap_or_default() + 1));
    match field.kind {
        Kind::Text if field.max_chars.or(field.exact_chars).is_none() && field.one_of.is_empty() => None,
        Kind::Text if field.is_list => Some(json!([text])),
        Kind::Text => Some(text),
        Kind::Integer(_) => field.at_least.map(|least| json!(least - 1)),
        _ => None,
    }
}

/// Returns an object with an invalid value in every field, and the paths of all invalid values.
///
/// The values have the wrong type. If `mixed` is set, every other value violates the rules instead.
fn wrong(fields: &'static Message, mixed: bool, prefix: &str) -> (Map<String, Value>, Vec<String>) {
    let (mut object, mut paths) = (Map::new(), Vec::new());
    // These fields are in the path and in a header.
    let sent: Vec<&Field> = fields.fields.iter().filter(|field| !["id", "etag"].contains(&field.name)).collect();
    for (index, field) in sent.iter().enumerate() {
        // The core checks the rules, unless the gateway rejects another value's type.
        let by_rules = refused_by_rules(field).filter(|_| mixed && sent.len() > 1 && index % 2 == 0);
        let element = if field.is_list && by_rules.is_some() { ".0" } else { "" };
        let wrong_type = || if matches!(field.kind, Kind::Message(_)) { json!(5) } else { json!({}) };
        object.insert(field.name.to_owned(), by_rules.unwrap_or_else(wrong_type));
        paths.push(format!("{prefix}{}{element}", field.name));
    }
    (object, paths)
}

/// Returns invalid batch options, and their paths.
fn options(list: &str, request: &'static Message, mixed: bool) -> (Map<String, Value>, Vec<String>) {
    let (mut object, mut paths) = wrong(request, mixed, "");
    for no_option in [list, "anchor_id"] {
        object.remove(no_option);
        paths.retain(|path| path.split('.').next() != Some(no_option));
    }
    (object, paths)
}

fn assert_reported(operation: &str, body: Value, expected: Vec<String>) {
    let error = read(operation, &body, &mut Ignored::default()).expect_err(operation);
    let reported: BTreeSet<String> = error.violations.iter().map(|violation| violation.path.clone()).collect();
    assert_eq!(reported, expected.into_iter().collect(), "{operation} {body}");
    let order: Vec<usize> = error.violations.iter().map(|it| it.path.matches('.').count().min(1)).collect();
    assert!(order.is_sorted(), "{operation}: violations of the body itself must come first");
}

#[test]
fn every_body_violation_is_reported() {
    let operations = documented();
    assert!(operations.len() >= 14);
    for (operation, mixed) in operations.iter().flat_map(|(operation, _)| [(operation, false), (operation, true)]) {
        let Parts { top, list, has_id } = parts(operation);
        if !top.fields.is_empty() {
            let (mut object, mut paths) = wrong(top, mixed, "");
            if has_id {
                object.insert("id".into(), json!("1"));
                paths.push("id".into());
            }
            if list.is_some() {
                object.insert("validate_only".into(), json!({}));
                paths.push("validate_only".into());
            }
            assert_reported(operation, object.into(), paths);
        }
        let Some((list, request, fields)) = list else { continue };
        let (mut element, mut paths) = wrong(fields, mixed, &format!("{list}.1."));
        if has_id {
            element.insert("id".into(), json!("1"));
            paths.push(format!("{list}.1.id"));
        }
        let (mut object, of_options) = options(list, request, mixed);
        object.insert(list.into(), json!([5, element]));
        paths.push(format!("{list}.0"));
        paths.extend(of_options);
        assert_reported(operation, object.into(), paths);
        // The list itself is invalid.
        for no_list in [json!({}), json!(null), json!([])] {
            let (mut object, mut paths) = options(list, request, mixed);
            object.insert(list.into(), no_list);
            paths.push(list.into());
            if object[list].is_object() || paths.len() > 1 {
                assert_reported(operation, object.into(), paths);
            }
        }
    }
}

#[test]
fn missing_webhook_url_and_wrong_types_are_reported() {
    assert_reported("post /api/webhooks", json!({"types": 5}), vec!["url".into(), "types".into()]);
    assert_reported("put /api/webhooks/{id}", json!({"types": 5}), vec!["types".into()]);
}

#[test]
fn if_match_is_rejected_for_batches() {
    let if_match = IfMatch::of(&HeaderMap::from_iter([(IF_MATCH, HeaderValue::from_static("*"))]));
    let body = br#"{"affiliates":[{"id":"x"},7],"validate_only":1}"#;
    let mut ignored = Ignored::default();
    let input = Input { bytes: body, memory: MEMORY, ignored: &mut ignored };
    let error = bodies::update_affiliates(input, &PathId::of("1"), &if_match).unwrap_err();
    let paths: Vec<&str> = error.violations.iter().map(|violation| &*violation.path).collect();
    assert_eq!(paths, ["If-Match", "validate_only", "affiliates.0.id", "affiliates.1"]);
}

#[test]
fn documented_examples_are_fully_accepted() {
    let mut bodies = 0;
    for (operation, examples) in documented() {
        for body in examples {
            let mut ignored = Ignored::default();
            assert!(read(&operation, &body, &mut ignored).is_ok(), "{operation} {body}");
            assert_eq!(ignored.header(), None, "{operation} {body}");
            bodies += 1;
        }
    }
    assert!(bodies >= 14, "{bodies}");
}

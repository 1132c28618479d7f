//! Translates REST requests to gRPC calls, and gRPC messages to REST responses.
//!
//! This mapping is independent of the gateway's. The two share only the documented paths of single reads.

use compliance_api::{
    description::Kind,
    record::{Access, Record as _},
    rules::Check,
    v1::{
        AddComplianceUrlsRequest, Affiliate, AffiliateInput, AffiliateResult, AffiliateUpdate,
        BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest, ComplianceCase, ComplianceUrl,
        CreateAffiliateRequest, CreateWebhookRequest, DeleteWebhookRequest, EraseAffiliateRequest, GetOverviewRequest,
        GetVocabulariesRequest, GetWebhookRequest, ListAffiliatePageRequest, ListAffiliatesRequest, ListChangesRequest,
        ListComplianceCasesRequest, ListComplianceUrlsRequest, ListWebhookDeliveriesRequest, ListWebhooksRequest,
        PageMeta, RotateWebhookSecretRequest, SearchAffiliatesRequest, SearchChangesRequest,
        SearchComplianceUrlsRequest, TestWebhookRequest, UpdateAffiliateRequest, UpdateWebhookRequest, UrlInput,
        WebhookInput,
    },
    wire::Operation,
};
use heck::ToLowerCamelCase as _;
use prost::{
    Message as _,
    encoding::{int64, string},
};
use prost_reflect::{DynamicMessage, Kind as FieldKind, Value as Field};
use prost_types::FieldMask;
use serde::Serialize;
use serde_json::Value;
use test_support::{DocumentedRoute, GrpcClients, documented_route};
use tonic::Status;
use tonic_types::StatusExt as _;

use super::{expect::NO_KNOWN_FIELD, over_case_work};
use crate::described::messages::contract;

/// Sends a REST request as a gRPC call and returns the response in REST form.
pub(crate) async fn ask(grpc: &GrpcClients, method: &str, path: &str, body: Option<&str>) -> Result<String, Status> {
    let mut grpc = grpc.clone();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if let Some(rest) = path.strip_prefix("/webhooks") {
        return over_webhooks(&mut grpc, method, rest, query, body).await;
    }
    let route = documented_route(method, path).filter(|route| method == "GET" && !route.values.is_empty());
    if let Some(DocumentedRoute { operation, values, .. }) = route {
        let as_of = query.strip_prefix("as_of=");
        return read_one(&grpc, &operation, &values, as_of).await;
    }
    if method == "PATCH" || (method == "POST" && path.starts_with("/cases")) {
        return over_case_work::ask(&mut grpc, path, body).await;
    }
    let (resource, id) = path[1..].split_once('/').map_or((&path[1..], None), |(resource, id)| (resource, Some(id)));
    let id = id.map(|id| id.parse::<i64>().unwrap_or_else(|_| panic!("{path}: gRPC cannot express this ID")));
    let body: Value = body.map(|body| serde_json::from_str(body).unwrap()).unwrap_or_default();
    match (method, resource, id) {
        ("GET", "affiliates", None) if query.is_empty() || query.starts_with("changed_after=") => {
            list_affiliates(&mut grpc, list_request(query)).await
        }
        ("GET", "affiliates", None) => {
            let request = list_request::<ListAffiliatePageRequest>(query);
            let page = grpc.affiliates.list_affiliate_page(request).await?.into_inner();
            Ok(found("Affiliates found", &page.affiliates, page.meta.as_ref()))
        }
        ("POST", "affiliates", None) => create(&mut grpc, &body).await,
        ("PUT", "affiliates", Some(id)) => update(&mut grpc, id, &body).await,
        ("DELETE", "affiliates", Some(id)) => {
            let erased =
                grpc.erasures.erase_affiliate(EraseAffiliateRequest { id, etag: String::new() }).await?.into_inner();
            let data = serde_json::to_string(&erased).unwrap();
            Ok(format!(
                r#"{{"code":"1020","status":"ok","detail":{{"msg":"The affiliate is erased."}},"data":{data}}}"#
            ))
        }
        ("GET", "urls", None) => {
            let page =
                grpc.urls.list_compliance_urls(list_request::<ListComplianceUrlsRequest>(query)).await?.into_inner();
            Ok(found("URLs found", &page.urls, page.meta.as_ref()))
        }
        ("POST", "urls", None) => {
            let urls = elements(&body, "urls", |element| UrlInput { url: element["url"].as_str().map(str::to_owned) });
            let done = grpc
                .urls
                .add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: body["validate_only"] == true })
                .await?
                .into_inner();
            let results =
                done.results.iter().map(|result| rest_form(result.code, None, None, result.url_id, &result.msg));
            Ok(format!("[{}]", results.collect::<Vec<_>>().join(",")))
        }
        ("GET", "cases", None) => {
            let page =
                grpc.cases.list_compliance_cases(list_request::<ListComplianceCasesRequest>(query)).await?.into_inner();
            Ok(found("Cases found", &page.cases, page.meta.as_ref()))
        }
        ("GET", "affiliates:search", None) => {
            let found = grpc.affiliates.search_affiliates(list_request::<SearchAffiliatesRequest>(query)).await?;
            Ok(self::found("Affiliates found", &found.into_inner().affiliates, None))
        }
        ("GET", "urls:search", None) => {
            let found = grpc.urls.search_compliance_urls(list_request::<SearchComplianceUrlsRequest>(query)).await?;
            Ok(self::found("URLs found", &found.into_inner().urls, None))
        }
        ("GET", "changes", None) => {
            let changes = grpc.changes.list_changes(list_request::<ListChangesRequest>(query)).await?;
            Ok(found("Changes found", &changes.into_inner(), None))
        }
        ("GET", "audit", None) => {
            let changes = grpc.audit.search_changes(list_request::<SearchChangesRequest>(query)).await?;
            Ok(found("Changes found", &changes.into_inner(), None))
        }
        ("GET", "overview", None) => {
            let overview = grpc.overview.get_overview(GetOverviewRequest {}).await?;
            Ok(found("Overview found", &overview.into_inner(), None))
        }
        ("GET", "vocabularies", None) => {
            let found = grpc.vocabularies.get_vocabularies(GetVocabulariesRequest {}).await?;
            Ok(self::found("Vocabularies found", &found.into_inner().vocabularies, None))
        }
        _ => panic!("{method} {path}: no matching gRPC operation"),
    }
}

/// Sends a webhook request as a gRPC call. `path` is the part after `/webhooks`.
async fn over_webhooks(
    grpc: &mut GrpcClients,
    method: &str,
    path: &str,
    query: &str,
    body: Option<&str>,
) -> Result<String, Status> {
    let body: Value = body.map(|body| serde_json::from_str(body).unwrap()).unwrap_or_default();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let (id, action) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    let id = if id.is_empty() { 0 } else { id.parse().unwrap() };
    let types = elements(&body, "types", |element| element.as_str().unwrap().to_owned());
    let (url, description, status) = (text("url"), text("description"), text("status"));
    let webhook = Some(WebhookInput { url, types, description, status, position: body["position"].as_i64() });
    let client = &mut grpc.webhooks;
    Ok(match (method, id, action) {
        ("GET", 0, "") => {
            let webhooks = client.list_webhooks(ListWebhooksRequest {}).await?.into_inner().webhooks;
            found("Webhooks found", &webhooks, None)
        }
        ("POST", 0, "") => {
            let request = CreateWebhookRequest { webhook };
            saved("Webhook created successfully.", &client.create_webhook(request).await?.into_inner())
        }
        ("GET", id, "") => {
            found("Webhook found.", &client.get_webhook(GetWebhookRequest { id }).await?.into_inner(), None)
        }
        ("PUT", id, "") => {
            let request = UpdateWebhookRequest { id, webhook };
            let updated = client.update_webhook(request).await?.into_inner();
            saved("Webhook updated successfully.", &updated.webhook.unwrap())
        }
        ("DELETE", id, "") => {
            client.delete_webhook(DeleteWebhookRequest { id }).await?;
            rest_form(1020, None, None, None, "Webhook deleted successfully.")
        }
        ("POST", id, "secret") => {
            let rotated = client.rotate_webhook_secret(RotateWebhookSecretRequest { id }).await?.into_inner();
            saved("Secret rotated successfully.", &rotated)
        }
        ("POST", id, "test") => {
            found("Webhook tested.", &client.test_webhook(TestWebhookRequest { id }).await?.into_inner(), None)
        }
        ("GET", id, "deliveries") => {
            let request = ListWebhookDeliveriesRequest { id, ..list_request(query) };
            let found = client.list_webhook_deliveries(request).await?.into_inner();
            self::found("Deliveries found", &found.deliveries, None)
        }
        _ => panic!("{method} {path}: no matching gRPC operation"),
    })
}

/// Wraps the response to a write in the envelope.
fn saved<T: Serialize>(msg: &str, data: &T) -> String {
    found(msg, data, None).replacen("1026", "1020", 1)
}

/// Reads one record with the gRPC operation with this ID. `values` are the request fields in the path.
async fn read_one(
    grpc: &GrpcClients,
    id: &str,
    values: &[(&str, String)],
    as_of: Option<&str>,
) -> Result<String, Status> {
    let named = |operation: &&Operation| {
        let name = operation.path.rsplit('/').next().unwrap_or_default();
        name.replace("Compliance", "").to_lower_camel_case() == id
    };
    let operation = Operation::ALL.iter().find(named).unwrap_or_else(|| panic!("no gRPC operation {id}"));
    let mut request = Vec::new();
    for (name, value) in values {
        let field = operation.request.field(name).unwrap_or_else(|| panic!("{id}: no request field {name}"));
        if field.kind == Kind::Text {
            string::encode(field.number, value, &mut request);
        } else {
            let number = value.parse().unwrap_or_else(|_| panic!("gRPC cannot express the number {value}"));
            int64::encode(field.number, &number, &mut request);
        }
    }
    if let (Some(as_of), Some(field)) = (as_of, operation.request.field("as_of")) {
        string::encode(field.number, &as_of.replace("%20", " "), &mut request);
    }
    let record = grpc.call(operation.path, request).await?;
    let record = record.as_slice();
    Ok(match operation.path.split('/').nth(1) {
        Some("compliance.v1.AffiliateService") => found("Affiliate found.", &Affiliate::decode(record).unwrap(), None),
        Some("compliance.v1.ComplianceUrlService") => {
            found("URL found.", &ComplianceUrl::decode(record).unwrap(), None)
        }
        Some("compliance.v1.ComplianceCaseService") => {
            found("Case found.", &ComplianceCase::decode(record).unwrap(), None)
        }
        _ => panic!("{id}: unknown record type"),
    })
}

async fn list_affiliates(grpc: &mut GrpcClients, request: ListAffiliatesRequest) -> Result<String, Status> {
    let mut stream = grpc.affiliates.list_affiliates(request).await?.into_inner();
    let mut affiliates = Vec::new();
    while let Some(some) = stream.message().await? {
        affiliates.extend(some.affiliates);
    }
    Ok(found("Affiliates found", &affiliates, None))
}

async fn create(grpc: &mut GrpcClients, body: &Value) -> Result<String, Status> {
    if body.get("affiliates").is_some() {
        let affiliates = elements(body, "affiliates", input);
        let done = grpc
            .affiliates
            .batch_create_affiliates(BatchCreateAffiliatesRequest {
                affiliates,
                validate_only: body["validate_only"] == true,
            })
            .await?;
        return Ok(results(&done.into_inner().results));
    }
    let request = CreateAffiliateRequest { affiliate: Some(input(body)) };
    let made = grpc.affiliates.create_affiliate(request).await?.into_inner();
    let (id, client_id) = (made.affiliate_id, made.client_affiliate_id);
    Ok(rest_form(1020, Some(id), Some(&client_id), None, "Affiliate created successfully."))
}

async fn update(grpc: &mut GrpcClients, id: i64, body: &Value) -> Result<String, Status> {
    if body.get("affiliates").is_some() {
        let affiliates = elements(body, "affiliates", change);
        let request = BatchUpdateAffiliatesRequest {
            anchor_id: Some(id),
            affiliates,
            validate_only: body["validate_only"] == true,
        };
        return Ok(results(&grpc.affiliates.batch_update_affiliates(request).await?.into_inner().results));
    }
    let request = UpdateAffiliateRequest { update: Some(change(body)) };
    let id = grpc.affiliates.update_affiliate(request).await?.into_inner().affiliate_id;
    let has_fields = body.as_object().is_some_and(|fields| fields.keys().any(|name| name != "id"));
    let msg = if has_fields { "Affiliate updated successfully." } else { NO_KNOWN_FIELD };
    Ok(rest_form(1020, Some(id), None, None, msg))
}

fn elements<T>(body: &Value, name: &str, element: impl Fn(&Value) -> T) -> Vec<T> {
    body[name].as_array().into_iter().flatten().map(element).collect()
}

/// Returns an affiliate's fields. Null means absent.
fn input(object: &Value) -> AffiliateInput {
    let mut input = AffiliateInput::default();
    for (name, value) in object.as_object().unwrap() {
        let Some(field) = AffiliateInput::field(name) else { continue };
        match value {
            Value::String(text) if matches!(field.access, Access::Text { .. }) || !text.is_empty() => {
                assert!(field.set_written(&mut input, Some(text.clone())), "{name}: {text}");
            }
            Value::Number(_) | Value::Bool(_) if !matches!(field.access, Access::Text { .. }) => {
                assert!(field.set_written(&mut input, Some(value.to_string())), "{name}: {value}");
            }
            Value::Null | Value::String(_) => {}
            _ => panic!("{name}: gRPC cannot express {value}"),
        }
    }
    input
}

/// Returns an update whose mask lists the object's fields.
fn change(object: &Value) -> AffiliateUpdate {
    let fields = object.as_object().unwrap().keys().filter(|name| AffiliateInput::field(name).is_some());
    AffiliateUpdate {
        id: object["id"].as_i64(),
        affiliate: Some(input(object)),
        update_mask: Some(FieldMask { paths: fields.cloned().collect() }),
        etag: String::new(),
    }
}

/// Builds a list request from a query. Request fields are named after parameters, and enum values after parameter values.
fn list_request<M: prost::Message + Default + Check>(query: &str) -> M {
    let descriptor = contract().get_message_by_name(&format!("compliance.v1.{}", M::MESSAGE.name)).unwrap();
    let mut request = DynamicMessage::new(descriptor.clone());
    for (name, text) in parameters(query) {
        let field = descriptor.get_field_by_name(name);
        let field = field.unwrap_or_else(|| panic!("no gRPC field for the parameter {name}"));
        let value = match field.kind() {
            FieldKind::Int64 => text.parse().ok().map(Field::I64),
            FieldKind::Bool => Some(Field::Bool(text == "yes")),
            FieldKind::String if field.is_list() => {
                Some(Field::List(text.split(',').map(|text| Field::String(text.to_owned())).collect()))
            }
            FieldKind::String => Some(Field::String(text.replace("%20", " "))),
            FieldKind::Enum(values) => {
                let unspecified = values.default_value().name().to_owned();
                let name = unspecified.replace("UNSPECIFIED", &text.to_uppercase());
                values.get_value_by_name(&name).map(|value| Field::EnumNumber(value.number()))
            }
            _ => None,
        };
        request.set_field(&field, value.unwrap_or_else(|| panic!("gRPC cannot express {name}={text}")));
    }
    request.transcode_to().unwrap()
}

fn parameters(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap())
}

/// Wraps records in the envelope.
fn found<T: Serialize>(msg: &str, data: &T, meta: Option<&PageMeta>) -> String {
    let data = serde_json::to_string(data).unwrap();
    let meta = meta.map(|meta| {
        let PageMeta { total, per_page, current_page, last_page } = meta;
        format!(
            r#","meta":{{"total":{total},"per_page":{per_page},"current_page":{current_page},"last_page":{last_page}}}"#
        )
    });
    let meta = meta.unwrap_or_default();
    format!(r#"{{"code":"1026","status":"ok","detail":{{"msg":"{msg}"}},"data":{data}{meta}}}"#)
}

fn results(results: &[AffiliateResult]) -> String {
    let items: Vec<String> = results
        .iter()
        .map(|result| {
            let client_id = result.client_affiliate_id.as_deref();
            rest_form(result.code, result.affiliate_id, client_id, None, &result.msg)
        })
        .collect();
    format!("[{}]", items.join(","))
}

/// Returns a write's result in REST form.
pub(crate) fn rest_form(code: i32, id: Option<i64>, client_id: Option<&str>, url_id: Option<i64>, msg: &str) -> String {
    let status = if code == 1020 { "ok" } else { "error" };
    let mut detail = Vec::new();
    detail.extend(id.map(|id| format!(r#""affiliate_id":{id}"#)));
    detail.extend(client_id.map(|id| format!(r#""client_affiliate_id":{}"#, serde_json::to_string(id).unwrap())));
    detail.extend(url_id.map(|id| format!(r#""url_id":{id}"#)));
    detail.push(format!(r#""msg":{}"#, serde_json::to_string(msg).unwrap()));
    format!(r#"{{"code":"{code}","status":"{status}","detail":{{{}}}}}"#, detail.join(","))
}

/// Returns an error in REST form. Only REST has result codes, so the code comes from the expectation.
pub(crate) fn rest_form_of(status: &Status, expected: &str) -> String {
    let details = status.get_error_details();
    let text = |text: &str| serde_json::to_string(text).unwrap();
    if let Some(violations) = details.bad_request() {
        let mut paths: Vec<(String, Vec<String>)> = Vec::new();
        for violation in &violations.field_violations {
            match paths.iter_mut().find(|(path, _)| *path == violation.field) {
                Some((_, messages)) => messages.push(text(&violation.description)),
                None => paths.push((violation.field.clone(), vec![text(&violation.description)])),
            }
        }
        let errors = paths.iter().map(|(path, messages)| format!("{}:[{}]", text(path), messages.join(",")));
        let errors = errors.collect::<Vec<_>>().join(",");
        return format!(r#"{{"message":{},"errors":{{{errors}}}}}"#, text(status.message()));
    }
    let expected: Value = serde_json::from_str(expected).unwrap_or_default();
    let code = expected["code"].as_str().and_then(|code| code.parse().ok()).unwrap_or_default();
    let value = |name: &str| details.error_info().and_then(|info| info.metadata.get(name)).map(String::as_str);
    let client_id = value("client_affiliate_id");
    let form = rest_form(code, None, client_id, None, status.message());
    let Some(fields) = value("fields").or_else(|| value("field")) else { return form };
    // Only the error for a reused request ID contains `fields`.
    let case =
        value("fields").and_then(|_| value("case_id")).map(|id| format!(r#""case_id":{id},"#)).unwrap_or_default();
    let fields: Vec<&str> = fields.split(',').collect();
    form.replacen(r#""msg""#, &format!(r#"{case}"fields":{},"msg""#, serde_json::to_string(&fields).unwrap()), 1)
}

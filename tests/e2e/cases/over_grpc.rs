//! Translates REST requests to gRPC calls, and gRPC messages to REST responses.
//!
//! This mapping is independent of the gateway's. Both follow the contract: operations have the names in the OpenAPI document, and fields have the names
//! of JSON keys and parameters.

use compliance_api::{
    v1::{
        Affiliate, ComplianceCase, ComplianceUrl, CreateWebhookResponse, EraseAffiliateResponse,
        GetVocabulariesResponse, ListAffiliatePageResponse, ListAffiliatesRequest, ListChangesResponse,
        ListComplianceCasesResponse, ListComplianceUrlsResponse, ListWebhookDeliveriesResponse, ListWebhooksResponse,
        Overview, PageMeta, RotateWebhookSecretResponse, SearchAffiliatesResponse, SearchChangesResponse,
        SearchComplianceUrlsResponse, TestWebhookResponse, UpdateWebhookResponse, Webhook,
    },
    wire::Operation,
};
use heck::ToLowerCamelCase as _;
use prost::Message;
use prost_reflect::{DynamicMessage, ReflectMessage as _, Value as Field};
use serde::Serialize;
use serde_json::{Value, json};
use test_support::{DocumentedRoute, GrpcClients, documented_route};
use tonic::Status;
use tonic_types::StatusExt as _;

use super::expect::NO_KNOWN_FIELD;
use crate::described::{
    json::{fill, value_of},
    messages::contract,
};

/// Sends a REST request as a gRPC call and returns the response in REST form.
pub(crate) async fn ask(grpc: &GrpcClients, method: &str, path: &str, body: Option<&str>) -> Result<String, Status> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let route = documented_route(method, path).unwrap_or_else(|| panic!("{method} {path} is not documented"));
    let DocumentedRoute { operation: id, values, .. } = route;
    let body: Value = serde_json::from_str(body.unwrap_or("{}")).unwrap();
    let is_batch = body.get("affiliates").is_some();
    let id = match (id.as_str(), is_batch) {
        ("listAffiliates", _) if query.is_empty() || query.starts_with("changed_after=") => "listAffiliates",
        ("listAffiliates", _) => "listAffiliatePage",
        ("createAffiliates", false) => "createAffiliate",
        ("createAffiliates", true) => "batchCreateAffiliates",
        ("updateAffiliates", false) => "updateAffiliate",
        ("updateAffiliates", true) => "batchUpdateAffiliates",
        (id, _) => id,
    };
    let name_of =
        |operation: &Operation| operation.path.rsplit('/').next().unwrap_or_default().replace("Compliance", "");
    let operation = Operation::ALL.iter().find(|operation| name_of(operation).to_lower_camel_case() == id);
    let operation = operation.unwrap_or_else(|| panic!("no gRPC operation {id}"));
    let named = |name: &str| contract().get_message_by_name(&format!("compliance.v1.{name}")).unwrap();

    let mut fields = body.as_object().unwrap().clone();
    fields.extend(parameters(query));
    let mut request = DynamicMessage::new(named(operation.request.name));
    fill(&mut request, &fields);
    for (name, value) in &values {
        // The ID in the path of a single update is also in its body.
        let name = if is_batch { "anchor_id" } else { name };
        if let Some(field) = request.descriptor().get_field_by_name(name) {
            request.set_field(&field, value_of(&field.kind(), &json!(value)));
        }
    }
    if id == "listAffiliates" {
        return list_affiliates(&mut grpc.clone(), request.transcode_to().unwrap()).await;
    }
    let response = grpc.call(operation.path, request.encode_to_vec()).await?;
    let name = operation.path.rsplit('/').next().unwrap_or_default();
    if let Some(found) = found_by(name, &response) {
        return Ok(found);
    }
    let response = DynamicMessage::decode(named(&format!("{name}Response")), &*response).unwrap();
    if let Some(results) = response.get_field_by_name("results") {
        let results = results.as_list().unwrap().iter().map(|result| result_of(result.as_message().unwrap(), None));
        return Ok(format!("[{}]", results.collect::<Vec<_>>().join(",")));
    }
    let has_fields = fields.keys().any(|name| name != "id");
    let is_unchanged = ["changed", "created"]
        .iter()
        .any(|name| response.get_field_by_name(name).is_some_and(|changed| changed.as_bool() == Some(false)));
    let (_, saved, unchanged) = WRITES.iter().find(|(write, ..)| *write == name).unwrap_or_else(|| panic!("{name}"));
    let msg = match () {
        () if !has_fields && ["UpdateAffiliate", "UpdateCase", "ReviewUrl"].contains(&name) => NO_KNOWN_FIELD,
        () if is_unchanged => unchanged,
        () => saved,
    };
    Ok(result_of(&response, Some(msg)))
}

/// Writes of single records: the operation, and the messages for a change and for no change.
const WRITES: [(&str, &str, &str); 9] = [
    ("CreateAffiliate", "Affiliate created successfully.", ""),
    ("UpdateAffiliate", "Affiliate updated successfully.", ""),
    ("ReviewUrl", "URL reviewed.", ""),
    ("OpenCase", "Case opened.", "The case was already opened."),
    ("UpdateCase", "Case updated.", "The case already has these values."),
    ("ResolveCase", "Case resolved.", "The case was already resolved."),
    ("CloseCase", "Case closed.", "The case was already closed."),
    ("ReopenCase", "Case reopened.", "The case was already open."),
    ("DeleteWebhook", "Webhook deleted successfully.", ""),
];

/// Returns the query parameters as JSON.
fn parameters(query: &str) -> impl Iterator<Item = (String, Value)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap())
        .map(|(name, text)| (name.to_owned(), json!(text.replace("%20", " "))))
}

fn decoded<M: Message + Default>(response: &[u8]) -> M {
    M::decode(response).unwrap()
}

/// Returns the response of an operation that returns records, in REST form.
fn found_by(operation: &str, response: &[u8]) -> Option<String> {
    Some(match operation {
        "GetAffiliate" => found("Affiliate found.", &decoded::<Affiliate>(response)),
        "GetComplianceUrl" => found("URL found.", &decoded::<ComplianceUrl>(response)),
        "GetComplianceCase" => found("Case found.", &decoded::<ComplianceCase>(response)),
        "GetWebhook" => found("Webhook found.", &decoded::<Webhook>(response)),
        "GetOverview" => found("Overview found", &decoded::<Overview>(response)),
        "GetVocabularies" => found("Vocabularies found", &decoded::<GetVocabulariesResponse>(response).vocabularies),
        "ListChanges" => found("Changes found", &decoded::<ListChangesResponse>(response)),
        "SearchChanges" => found("Changes found", &decoded::<SearchChangesResponse>(response)),
        "SearchAffiliates" => found("Affiliates found", &decoded::<SearchAffiliatesResponse>(response).affiliates),
        "SearchComplianceUrls" => found("URLs found", &decoded::<SearchComplianceUrlsResponse>(response).urls),
        "ListWebhooks" => found("Webhooks found", &decoded::<ListWebhooksResponse>(response).webhooks),
        "ListWebhookDeliveries" => {
            found("Deliveries found", &decoded::<ListWebhookDeliveriesResponse>(response).deliveries)
        }
        "TestWebhook" => found("Webhook tested.", &decoded::<TestWebhookResponse>(response)),
        "ListAffiliatePage" => {
            let page: ListAffiliatePageResponse = decoded(response);
            with_meta(found("Affiliates found", &page.affiliates), page.meta)
        }
        "ListComplianceUrls" => {
            let page: ListComplianceUrlsResponse = decoded(response);
            with_meta(found("URLs found", &page.urls), page.meta)
        }
        "ListComplianceCases" => {
            let page: ListComplianceCasesResponse = decoded(response);
            with_meta(found("Cases found", &page.cases), page.meta)
        }
        "EraseAffiliate" => saved("The affiliate is erased.", &decoded::<EraseAffiliateResponse>(response)),
        "CreateWebhook" => saved("Webhook created successfully.", &decoded::<CreateWebhookResponse>(response)),
        "UpdateWebhook" => saved("Webhook updated successfully.", &decoded::<UpdateWebhookResponse>(response).webhook),
        "RotateWebhookSecret" => {
            saved("Secret rotated successfully.", &decoded::<RotateWebhookSecretResponse>(response))
        }
        _ => return None,
    })
}

async fn list_affiliates(grpc: &mut GrpcClients, request: ListAffiliatesRequest) -> Result<String, Status> {
    let mut stream = grpc.affiliates.list_affiliates(request).await?.into_inner();
    let mut affiliates = Vec::new();
    while let Some(some) = stream.message().await? {
        affiliates.extend(some.affiliates);
    }
    Ok(found("Affiliates found", &affiliates))
}

/// Wraps records in the envelope.
fn found<T: Serialize>(msg: &str, data: &T) -> String {
    let data = serde_json::to_string(data).unwrap();
    format!(r#"{{"code":"1026","status":"ok","detail":{{"msg":"{msg}"}},"data":{data}}}"#)
}

fn with_meta(envelope: String, meta: Option<PageMeta>) -> String {
    let PageMeta { total, per_page, current_page, last_page } = meta.unwrap();
    let records = envelope.strip_suffix('}').unwrap();
    format!(
        r#"{records},"meta":{{"total":{total},"per_page":{per_page},"current_page":{current_page},"last_page":{last_page}}}}}"#
    )
}

/// Wraps the response to a write in the envelope.
fn saved<T: Serialize>(msg: &str, data: &T) -> String {
    found(msg, data).replacen("1026", "1020", 1)
}

/// Returns the result of a write in REST form. A batch item has its own code and message.
fn result_of(result: &DynamicMessage, msg: Option<&str>) -> String {
    let field = |name: &str| {
        let field = result.descriptor().get_field_by_name(name)?;
        result.has_field(&field).then(|| result.get_field(&field).into_owned())
    };
    let mut detail = Vec::new();
    for name in ["case_id", "incident_id", "affiliate_id", "client_affiliate_id", "url_id", "msg"] {
        detail.extend(field(name).map(|value| match value {
            Field::String(text) => format!(r#""{name}":{}"#, json!(text)),
            value => format!(r#""{name}":{}"#, value.as_i64().unwrap()),
        }));
    }
    detail.extend(msg.map(|msg| format!(r#""msg":{}"#, json!(msg))));
    let code = field("code").and_then(|code| code.as_enum_number()).unwrap_or(1020);
    rest_form(code, &detail)
}

fn rest_form(code: i32, detail: &[String]) -> String {
    let status = if code == 1020 { "ok" } else { "error" };
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
    let client_id = value("client_affiliate_id").map(|id| format!(r#""client_affiliate_id":{}"#, text(id)));
    let detail: Vec<String> = client_id.into_iter().chain([format!(r#""msg":{}"#, text(status.message()))]).collect();
    let form = rest_form(code, &detail);
    let Some(fields) = value("fields").or_else(|| value("field")) else { return form };
    // Only the error for a reused request ID contains `fields`.
    let case =
        value("fields").and_then(|_| value("case_id")).map(|id| format!(r#""case_id":{id},"#)).unwrap_or_default();
    let fields: Vec<&str> = fields.split(',').collect();
    form.replacen(r#""msg""#, &format!(r#"{case}"fields":{},"msg""#, serde_json::to_string(&fields).unwrap()), 1)
}

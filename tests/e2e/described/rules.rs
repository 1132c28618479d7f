//! Every rule for every field. Without the gateway, the core rejects each violation and names the field.

use std::collections::BTreeSet;

use compliance_api::v1::{CaseInput, OpenCaseRequest};
use prost::Message as _;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MethodDescriptor, Value};
use test_support::{TestService, new_company, reason_of, token};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{
    calls::{Answer, Core},
    messages::{Path, clear, contract, name, operations, paths, set},
};

/// Operations without rules. Each batched read reports its own violations.
const WITHOUT_RULES: [&str; 1] = ["ReadService/BatchRead"];

/// A violation: the field and rule, the message, and the possible paths in the error.
struct Violation {
    rule: String,
    message: DynamicMessage,
    paths: Vec<String>,
}

/// Returns a field's rules, if any.
fn rules_of(field: &FieldDescriptor) -> Option<DynamicMessage> {
    let extension = field.parent_pool().get_extension_by_name("compliance.v1.rules").unwrap();
    let options = field.options();
    options.has_extension(&extension).then(|| options.get_extension(&extension).as_message().unwrap().clone())
}

/// Returns whether the parent's messages contain the fields of this field's message.
pub(crate) fn is_flattened(field: &FieldDescriptor) -> bool {
    rules_of(field).is_some_and(|rules| flag(&rules, "flatten"))
}

fn flag(rules: &DynamicMessage, name: &str) -> bool {
    rules.get_field_by_name(name).and_then(|value| value.as_bool()).unwrap_or_default()
}

/// Returns the possible paths of a field's violation. A path starts at the request, or at an item that contains the field, because items have their
/// own results. A flattened message has its parent's path.
fn reported(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for (depth, field) in path.iter().enumerate() {
        let is_last = depth + 1 == path.len();
        if !is_last && is_flattened(field) {
            continue;
        }
        names.push(field.name().to_owned());
        if field.is_list() && !is_last {
            names.push("0".to_owned());
        }
    }
    (0..names.len()).map(|start| names[start..].join(".")).collect()
}

/// Returns a violating message for each of a field's rules.
fn violations(method: &MethodDescriptor, path: &Path) -> Vec<Violation> {
    let field = path.last().unwrap();
    let Some(rules) = rules_of(field) else { return Vec::new() };
    let mut violations = Vec::new();
    let text = |text: String| Some(Value::String(text));
    for (rule, limit) in rules.fields() {
        let element = || -> Value {
            match field.kind() {
                Kind::Message(inner) => Value::Message(DynamicMessage::new(inner)),
                kind => Value::default_value(&kind),
            }
        };
        let value = match rule.name() {
            // Updates and syncs can omit required fields, but cannot send blank ones.
            "required"
                if path.len() > 1
                    && ["Update", "Sync"].iter().any(|change| method.name().contains(change))
                    && field.kind() == Kind::String
                    && !field.is_list() =>
            {
                text(" ".to_owned())
            }
            // The rule fails only its item, with its own code. The `cases` module tests it.
            "format" if rules.has_field_by_name("item_codes") && path[0].is_list() => continue,
            // An empty text in a list counts as missing.
            "required" if field.is_list() && !matches!(field.kind(), Kind::Message(_)) && path.len() > 1 => {
                Some(Value::List(vec![element()]))
            }
            "required" | "entry" => None,
            "max_chars" | "exact_chars" => text("x".repeat(limit.as_u32().unwrap() as usize + 1)),
            "min_chars" => text("x".repeat(limit.as_u32().unwrap() as usize - 1)),
            "format" => text(match limit.as_enum_number().unwrap() {
                1 => "no address".to_owned(),
                2 => "ftp://example.org/".to_owned(),
                3 => "2024-02-30".to_owned(),
                4 => "02/30/2024".to_owned(),
                5 => "QQ".to_owned(),
                6 => "2024-02-28 24:00:00".to_owned(),
                other => panic!("no violation for format {other}"),
            }),
            "one_of" => text("nonsense".to_owned()),
            "at_least" => Some(Value::I64(limit.as_i64().unwrap() - 1)),
            "at_most" => Some(Value::I64(limit.as_i64().unwrap() + 1)),
            "max_items" => Some(Value::List(vec![element(); limit.as_u32().unwrap() as usize + 1])),
            // The needed field is missing.
            "needs" if matches!(field.kind(), Kind::Message(_)) => None,
            "needs" => Some(Value::I64(1)),
            "flatten" | "items_alone" | "item_codes" => continue,
            other => panic!("no violation for rule {other}"),
        };
        let mut message = DynamicMessage::new(method.input());
        let mut paths = if rule.name() == "needs" { vec![limit.as_str().unwrap().to_owned()] } else { reported(path) };
        match value {
            Some(value) => {
                if value.as_i64().is_some() && !matches!(field.kind(), Kind::Int64) {
                    // Other integer types have the same bounds.
                    let number = value.as_i64().unwrap() as i32;
                    set(&mut message, path, Value::I32(number));
                } else {
                    set(&mut message, path, value);
                }
            }
            None => clear(&mut message, path),
        }
        if let ("required", Kind::Message(inner)) = (rule.name(), field.kind())
            && flag(&rules, "flatten")
        {
            // If a message is absent, its required fields are missing.
            let is_required = |field: &FieldDescriptor| rules_of(field).is_some_and(|rules| flag(&rules, "required"));
            paths.extend(inner.fields().filter(is_required).map(|field| field.name().to_owned()));
        }
        if matches!(rule.name(), "entry" | "required" | "one_of" | "max_chars") {
            // The error can name the element that contains the field, or an element in a list of texts.
            let holder: Vec<String> =
                paths.iter().filter_map(|path| path.rsplit_once('.').map(|(holder, _)| holder.to_owned())).collect();
            paths.extend(if rule.name() == "entry" { holder } else { Vec::new() });
            let elements: Vec<String> = paths.iter().map(|path| format!("{path}.0")).collect();
            paths.extend(elements);
        }
        let rule = format!("{} {}", name(path), rule.name());
        violations.push(Violation { rule, message, paths });
    }
    violations
}

/// Returns every path in a response, from the error or the item results.
fn paths_in(method: &MethodDescriptor, answer: &Answer) -> BTreeSet<String> {
    let mut reported = BTreeSet::new();
    if let Some(status) = &answer.error {
        let details = status.get_error_details();
        let request = details.bad_request().filter(|_| status.code() == Code::InvalidArgument);
        let violations = request.into_iter().flat_map(|request| &request.field_violations);
        reported.extend(violations.map(|violation| violation.field.clone()));
    }
    for message in &answer.messages {
        let message = DynamicMessage::decode(method.output(), &message[..]).unwrap();
        let Some(results) = message.get_field_by_name("results").map(std::borrow::Cow::into_owned) else { continue };
        for result in results.as_list().unwrap() {
            let result = result.as_message().unwrap();
            let Some(violations) = result.get_field_by_name("violations") else { continue };
            for violation in violations.as_list().unwrap() {
                let violation = violation.as_message().unwrap();
                reported.insert(violation.get_field_by_name("field").unwrap().as_str().unwrap().to_owned());
            }
        }
    }
    reported
}

fn is_too_large(status: &Status) -> bool {
    reason_of(status) == "BODY_TOO_LARGE"
}

async fn a_case(service: &TestService, company: i64) -> i64 {
    let mut grpc = service.grpc(company).await;
    let case = CaseInput { affiliate_id: Some(grpc.affiliate("A").await), ..CaseInput::default() };
    grpc.open(OpenCaseRequest { request_id: Some("r".to_owned()), case: Some(case), ..OpenCaseRequest::default() })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn core_enforces_every_field_rule() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let company = new_company();
    let bearer = format!("Bearer {}", token(company));
    let contract = contract();
    let case_id = a_case(&service, company).await;
    let (mut seen, mut unreported) = (0, Vec::new());
    for (operation, method) in operations(&contract) {
        if WITHOUT_RULES.contains(&operation.as_str()) {
            continue;
        }
        for path in paths(&method.input()) {
            for Violation { rule, mut message, paths } in violations(&method, &path) {
                // Item results require an existing case.
                if path[0].name() == "incidents" && method.input().get_field_by_name("id").is_some() {
                    message.set_field_by_name("id", Value::I64(case_id));
                }
                let answer = core.call(&operation, &[&bearer], message.encode_to_vec()).await;
                let reported = paths_in(&method, &answer);
                // An oversized list can exceed the request's memory limit first.
                let is_too_large = rule.ends_with("max_items") && answer.error.as_ref().is_some_and(is_too_large);
                if !is_too_large && !paths.iter().any(|path| reported.contains(path)) {
                    let error = answer.error.map(|status| status.message().to_owned());
                    unreported.push(format!("{operation}: {rule} at one of {paths:?}, got {reported:?}; {error:?}"));
                }
                seen += 1;
            }
        }
    }
    assert!(unreported.is_empty(), "unreported violations:\n{}", unreported.join("\n"));
    assert!(seen > 300, "only {seen} rules");
    println!("core_enforces_every_field_rule: {seen} violations, each reported at its field");
}

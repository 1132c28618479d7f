//! Expected responses: both statuses, the reason, and the body byte for byte.
//!
//! The texts are copied from the specification, not from the service.

use std::fmt::Write as _;

use tonic::Code;

/// An expected response. The body is a pattern (`pattern.rs`).
#[derive(Clone, Debug)]
pub(super) struct Expect {
    pub(super) http: u16,
    pub(super) grpc: Code,
    /// The reason for the error, if any.
    pub(super) reason: Option<&'static str>,
    pub(super) body: String,
}

fn good(http: u16, body: impl Into<String>) -> Expect {
    Expect { http, grpc: Code::Ok, reason: None, body: body.into() }
}

pub(super) fn refused(http: u16, grpc: Code, reason: &'static str, code: &str, msg: &str) -> Expect {
    let body = format!(r#"{{"code":"{code}","status":"error","detail":{{"msg":{}}}}}"#, text(msg));
    Expect { http, grpc, reason: Some(reason), body }
}

/// Returns a text as a JSON string.
pub(super) fn text(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// 200 with this body.
pub(super) fn ok(body: impl Into<String>) -> Expect {
    good(200, body)
}

/// 200 with one record.
pub(super) fn found(msg: &str, data: &str) -> Expect {
    good(200, format!(r#"{{"code":"1026","status":"ok","detail":{{"msg":"{msg}"}},"data":{data}}}"#))
}

/// 200 with a page.
pub(super) fn page(msg: &str, data: &[String], total: u32, per_page: u32, current: u64, last: u32) -> Expect {
    let data = data.join(",");
    good(
        200,
        format!(
            r#"{{"code":"1026","status":"ok","detail":{{"msg":"{msg}"}},"data":[{data}],"meta":{{"total":{total},"per_page":{per_page},"current_page":{current},"last_page":{last}}}}}"#
        ),
    )
}

const CREATED: &str = "Affiliate created successfully.";
const UPDATED: &str = "Affiliate updated successfully.";
/// The message for an existing name. `id` is the affiliate's ID or a placeholder.
fn exists(id: &str) -> String {
    format!("An affiliate with this name already exists. Its ID is {id}.")
}

const TAKEN: &str = "The affiliate name has already been taken.";

/// The result of a successful create, with a new ID.
pub(super) fn created_item(client_id: &str) -> String {
    let id = text(client_id);
    format!(
        r#"{{"code":"1020","status":"ok","detail":{{"affiliate_id":<id>,"client_affiliate_id":{id},"msg":"{CREATED}"}}}}"#
    )
}

/// The result of a failed create, with code 1023 or 1024.
fn failed_item(code: &str, client_id: &str, msg: &str) -> String {
    let (id, msg) = (text(client_id), text(msg));
    format!(r#"{{"code":"{code}","status":"error","detail":{{"client_affiliate_id":{id},"msg":{msg}}}}}"#)
}

/// The result of a duplicate create. `id` is the existing affiliate's ID or a placeholder.
pub(super) fn duplicate_item(client_id: &str, id: &str) -> String {
    failed_item("1023", client_id, &exists(id))
}

pub(super) fn bad_country_item(client_id: &str, country: &str) -> String {
    failed_item("1024", client_id, &format!("{country} is not a valid ISO 3166-1 alpha-2 country code."))
}

/// The result of an update, with code 1020, 1021 or 1025. `id` can be a reference such as `<1>`.
fn update_item(code: &str, status: &str, id: &str, msg: &str) -> String {
    let msg = text(msg);
    format!(r#"{{"code":"{code}","status":"{status}","detail":{{"affiliate_id":{id},"msg":{msg}}}}}"#)
}

pub(super) fn updated_item(id: &str) -> String {
    update_item("1020", "ok", id, UPDATED)
}

pub(super) fn taken_item(id: &str) -> String {
    update_item("1021", "error", id, TAKEN)
}

pub(super) fn bad_country_update(id: &str, country: &str) -> String {
    update_item("1021", "error", id, &format!("{country} is not a valid ISO 3166-1 alpha-2 country code."))
}

pub(super) fn unknown_item(id: &str) -> String {
    update_item("1025", "error", id, &format!("No affiliate was found for the provided affiliate ID {id}."))
}

fn array(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// A successful single create.
pub(super) fn created_one(client_id: &str) -> Expect {
    good(201, created_item(client_id))
}

/// A successful single update.
pub(super) fn updated_one(id: &str) -> Expect {
    good(200, updated_item(id))
}

pub(super) const NO_KNOWN_FIELD: &str = "The request contains no known field, so nothing changed.";

/// A change that contains no known fields. The body is that of another change.
pub(super) fn no_known_field(other: Expect) -> Expect {
    let (start, _) = other.body.rsplit_once(r#""msg":"#).expect("the body contains a message");
    let body = format!(r#"{start}"msg":"{NO_KNOWN_FIELD}"}}}}"#);
    Expect { body, ..other }
}

/// A batch create whose items all succeeded.
pub(super) fn batch_created(items: &[String]) -> Expect {
    good(201, array(items))
}

/// A batch update whose items all succeeded.
pub(super) fn batch_updated(items: &[String]) -> Expect {
    good(200, array(items))
}

/// A batch with failed items.
pub(super) fn mixed(items: &[String]) -> Expect {
    good(207, array(items))
}

/// The results of `POST /urls`. `new` says which URLs are new.
pub(super) fn urls_added(new: &[bool]) -> Expect {
    let result = |new: &bool| {
        if *new {
            r#"{"code":"1020","status":"ok","detail":{"url_id":<id>,"msg":"URL added successfully."}}"#
        } else {
            r#"{"code":"1023","status":"error","detail":{"msg":"This URL already exists and was skipped."}}"#
        }
    };
    good(201, array(&new.iter().map(|new| result(new).to_owned()).collect::<Vec<_>>()))
}

/// 422 with these violations, in order.
pub(super) fn invalid<P: AsRef<str>, M: AsRef<str>>(violations: &[(P, M)]) -> Expect {
    let first = violations[0].1.as_ref();
    let message = match violations.len() {
        1 => first.to_owned(),
        2 => format!("{first} (and 1 more error)"),
        more => format!("{first} (and {} more errors)", more - 1),
    };
    let mut errors = String::new();
    for (index, (path, message)) in violations.iter().enumerate() {
        let (path, message) = (path.as_ref(), message.as_ref());
        if index > 0 && violations[index - 1].0.as_ref() == path {
            // The same field has several violations.
            errors.pop();
            let _ = write!(errors, ",{}]", text(message));
        } else {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(errors, "{comma}{}:[{}]", text(path), text(message));
        }
    }
    let body = format!(r#"{{"message":{},"errors":{{{errors}}}}}"#, text(&message));
    Expect { http: 422, grpc: Code::InvalidArgument, reason: Some("INVALID_FIELDS"), body }
}

/// 422 with one violation.
pub(super) fn invalid_one(path: &str, message: &str) -> Expect {
    invalid(&[(path, message)])
}

/// 409 for a single create. `id` is the existing affiliate's ID or a placeholder.
pub(super) fn name_exists(client_id: &str, id: &str) -> Expect {
    Expect {
        http: 409,
        grpc: Code::AlreadyExists,
        reason: Some("AFFILIATE_NAME_EXISTS"),
        body: failed_item("1023", client_id, &exists(id)),
    }
}

/// 422 for a single update to a name that is already taken.
pub(super) fn name_taken() -> Expect {
    invalid_one("affiliate_name", TAKEN)
}

/// 404 for an affiliate.
pub(super) fn affiliate_unknown(id: &str) -> Expect {
    let msg = format!("No affiliate was found for the provided affiliate ID {id}.");
    refused(404, Code::NotFound, "AFFILIATE_NOT_FOUND", "1025", &msg)
}

/// 410 for a record at a time before the retained changes.
pub(super) fn gone() -> Expect {
    let msg = "The record cannot be read as of this time: the service has removed later changes.";
    refused(410, Code::OutOfRange, "POSITION_GONE", "410", msg)
}

/// 410 for changes.
pub(super) fn position_gone(position: i64, dropped: i64, last: i64) -> Expect {
    let msg = format!(
        "Changes after position {position} are not available. You can read changes after position {dropped}, up to {last}."
    );
    refused(410, Code::OutOfRange, "POSITION_GONE", "410", &msg)
}

/// 404 for a URL.
pub(super) fn url_unknown() -> Expect {
    refused(404, Code::NotFound, "URL_NOT_FOUND", "1025", "URL not found.")
}

/// A successful write, with its response data.
pub(super) fn saved(http: u16, msg: &str, data: Option<&str>) -> Expect {
    let data = data.map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
    good(http, format!(r#"{{"code":"1020","status":"ok","detail":{{"msg":"{msg}"}}{data}}}"#))
}

/// 404 for a webhook.
pub(super) fn webhook_unknown() -> Expect {
    refused(404, Code::NotFound, "WEBHOOK_NOT_FOUND", "1025", "Webhook not found.")
}

/// 404 for a case.
pub(super) fn case_unknown() -> Expect {
    refused(404, Code::NotFound, "CASE_NOT_FOUND", "1025", "Case not found.")
}

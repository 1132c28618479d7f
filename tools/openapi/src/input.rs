//! Generates schemas for request bodies.

use compliance_api::{
    description::{Field, Kind, Message},
    v1::Format,
};
use docs_pages::{Json, object};

use crate::{
    pattern,
    schema::{YES_NO, any_of, choice, integer, list_of, message, null, range, reference},
};

/// Case work bodies, with their messages.
const CASE_WORK: [(&str, &str); 6] = [
    ("CaseOpen", "OpenCaseRequest"),
    ("CaseResolve", "ResolveCaseRequest"),
    ("CaseClose", "CloseCaseRequest"),
    ("CaseReopen", "ReopenCaseRequest"),
    ("IncidentInput", "IncidentInput"),
    ("InfractionInput", "InfractionInput"),
];

/// Returns the schemas of all bodies, by name.
pub(crate) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (is_new, name, request) in [
        (true, "AffiliateCreate", "BatchCreateAffiliatesRequest"),
        (false, "AffiliateUpdate", "BatchUpdateAffiliatesRequest"),
    ] {
        let item = format!("{name}Item");
        let any = Json::object([("affiliates", Json::parse("{}"))]);
        let no_list = object! { "required": ["affiliates"], "properties": any };
        all.push((name.to_owned(), affiliate(is_new, false).with("not", no_list)));
        all.push((format!("{name}Batch"), list_body(request, "affiliates", &item)));
        all.push((item, affiliate(is_new, true)));
    }
    let mut schemas = vec![
        ("AffiliateRoster", roster()),
        (
            "AffiliateRosterItem",
            item(message("AffiliateInput")).with(
                "description",
                "An affiliate in a list. `client_affiliate_id` identifies it. The fields have the same rules as when you create an \
                 affiliate. If an item violates a rule, only this item fails. Null and `\"\"` clear an optional field.",
            ),
        ),
        ("UrlsAdd", list_body("AddComplianceUrlsRequest", "urls", "UrlInput")),
        ("UrlInput", body(message("UrlInput"), |_| true, |field| url_text(field, pattern::required_url()))),
        ("WebhookCreate", webhook(true)),
        ("WebhookUpdate", webhook(false)),
    ];
    schemas.extend(CASE_WORK.map(|(name, request)| (name, object_of(request, true))));
    for (name, request, item_name, fields) in [
        ("IncidentsAttach", "AttachIncidentsRequest", "IncidentItem", "IncidentInput"),
        ("IncidentsDetach", "DetachIncidentsRequest", "IncidentKey", "IncidentKey"),
    ] {
        let description = format!("{} If an item violates a rule, only this item fails.", message(fields).doc);
        schemas.push((name, incidents(request, item_name)));
        schemas.push((item_name, item(message(fields)).with("description", description)));
    }
    schemas.extend([
        ("CaseFields", object_of("CaseInput", true)),
        ("CaseUpdate", object_of("CaseInput", false)),
        ("UrlReview", object_of("UrlReview", false)),
    ]);
    all.extend(schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    all
}

/// Returns properties with the fields' schemas and comments.
fn properties<'f>(fields: impl IntoIterator<Item = &'f Field>, schema: impl Fn(&Field) -> Json) -> Json {
    Json::object(fields.into_iter().map(|field| (field.name, schema(field).with("description", field.doc))))
}

/// Returns an object with a message's fields.
fn body(message: &Message, required: impl Fn(&Field) -> bool, schema: impl Fn(&Field) -> Json) -> Json {
    // The path contains the ID, and a header contains the etag.
    let sent = || message.fields.iter().filter(|field| !["id", "etag"].contains(&field.name));
    object! {
        "type": "object",
        "required": sent().filter(|field| required(field)).map(|field| field.name).collect::<Vec<_>>(),
        "properties": properties(sent(), schema),
    }
}

/// Returns the schema for a message in JSON: a new record, or changes.
fn object_of(name: &str, is_new: bool) -> Json {
    let message = message(name);
    body(message, |field| is_new && is_required(field), value_of).with("description", message.doc)
}

/// Returns the schema for an item that fails without affecting others. Accepts any string and any number.
fn item(message: &Message) -> Json {
    let schema = |field: &Field| match field.kind {
        Kind::Text => object! { "type": ["string", "null"] },
        Kind::Integer(bits) => any_of([integer(bits, (i64::MIN, i64::MAX)), null()]),
        Kind::Choice(_) => any_of([value_of(field), null()]),
        _ => value_of(field),
    };
    object! { "type": "object", "properties": properties(message.fields, schema) }
}

/// Returns a body with a list that follows the rules of a request field.
fn list_body(request: &str, field: &str, items: &str) -> Json {
    let described = message(request).field(field).expect("the request lacks the field");
    let list = at_most(list_of(reference(items)).with("minItems", 1), described);
    object! {
        "type": "object",
        "required": [field],
        "properties": Json::object([(field, list.with("description", described.doc))]),
    }
}

/// Returns the body of a sync: the list of affiliates, with options.
fn roster() -> Json {
    let mut body = list_body("BatchSyncAffiliatesRequest", "affiliates", "AffiliateRosterItem");
    let fields = message("BatchSyncAffiliatesRequest").fields;
    for field in fields.iter().filter(|field| !field.is_list) {
        let schema = match field.kind {
            Kind::Flag => any_of([object! { "type": "boolean" }, null()]),
            Kind::Integer(_) => {
                let integer = object! { "type": "integer" };
                any_of([integer.with_some("minimum", field.at_least).with_some("maximum", field.at_most), null()])
            }
            _ => property(field, false),
        };
        body.at("properties").entries_mut().insert(field.name.to_owned(), schema.with("description", field.doc));
    }
    body
}

/// Returns a body with incidents.
fn incidents(request: &str, item: &str) -> Json {
    let field = message(request).field("incidents").expect("the request lacks incidents");
    let list = any_of([at_most(list_of(reference(item)), field), null()]);
    object! { "type": "object", "properties": properties([field], |_| list.clone()) }
}

/// Returns the schema for a new webhook, or for changes to a webhook.
fn webhook(is_new: bool) -> Json {
    let schema = |field: &Field| match field.kind {
        _ if field.is_list => any_of([at_most(list_of(choice(field.one_of)), field), null()]),
        Kind::Integer(bits) => any_of([integer(bits, range(bits, field)), null()]),
        _ if field.format == Format::Url => {
            let url = url_text(field, pattern::required_url().replace("[Ss]?", "[Ss]"));
            if is_new { url } else { optional(url, field) }
        }
        _ => property(field, false),
    };
    body(message("WebhookInput"), |field| is_new && field.name == "url", schema)
}

/// Returns the schema for a new affiliate, or for changes to an affiliate.
fn affiliate(is_new: bool, is_item: bool) -> Json {
    let is_required = |field: &Field| is_new && field.required;
    let mut body = body(message("AffiliateInput"), is_required, |field| property(field, is_item));
    if !is_new {
        let doc = message("AffiliateUpdate").field("id").map_or("", |field| field.doc);
        let same = if is_item { "" } else { " It equals the ID in the URL." };
        let id = integer(64, (i64::MIN, i64::MAX)).with("description", format!("{doc}{same}"));
        body.at("properties").entries_mut().shift_insert(0, "id".to_owned(), id);
        *body.at("required") = Json::of(&["id"]);
    }
    let description = match (is_new, is_item) {
        (true, false) => "A new affiliate. For optional fields, null and `\"\"` are the same as absent.",
        (true, true) => "A new affiliate in a batch. An unknown country code fails only this item (1024).",
        (false, false) => {
            "Changes to an affiliate. Only the fields that you send change. Null and `\"\"` clear an optional field."
        }
        (false, true) => {
            "Changes to an affiliate in a batch. These errors fail only this item: an unknown ID (1025), an unknown country code (1021), \
             and a name that is taken (1021)."
        }
    };
    body.with("description", description)
}

/// Returns whether a field must be sent. For a list of strings, `required` applies to its elements.
pub(crate) fn is_required(field: &Field) -> bool {
    field.required && !field.is_list
}

fn value_of(field: &Field) -> Json {
    let or_null = |schema: Json| if is_required(field) { schema } else { any_of([schema, null()]) };
    match field.kind {
        Kind::Message(inner) if inner.name == "Timestamp" => any_of([
            object! { "type": "string", "pattern": pattern::timestamp() },
            object! { "type": "string", "const": "" },
            null(),
        ]),
        Kind::Message(inner) => {
            let schema = reference(if inner.name == "CaseInput" { "CaseFields" } else { inner.name });
            or_null(if field.is_list { at_most(list_of(schema), field) } else { schema })
        }
        Kind::Text if field.is_list => or_null(at_most(list_of(required_text(field)), field)),
        Kind::Choice(values) => {
            let names: Vec<String> = values.iter().map(|(_, name)| name.replace('_', " ")).collect();
            or_null(choice(&names.iter().map(String::as_str).collect::<Vec<_>>()))
        }
        Kind::Integer(bits) => or_null(integer(bits, range(bits, field))),
        Kind::Flag => or_null(flag()),
        Kind::Text => property(field, false),
    }
}

/// Returns the schema for a field.
fn property(field: &Field, is_item: bool) -> Json {
    match field.kind {
        Kind::Integer(bits) => optional(integer(bits, range(bits, field)), field),
        Kind::Flag => optional(flag(), field),
        _ if field.required => required_text(field),
        _ if field.one_of.is_empty() => optional_text(field, is_item),
        _ => any_of([choice(field.one_of), object! { "type": "string", "const": "" }, null()]),
    }
}

fn flag() -> Json {
    any_of([object! { "type": "boolean" }, choice(YES_NO)])
}

fn at_most(list: Json, field: &Field) -> Json {
    list.with_some("maxItems", field.max_items)
}

/// Returns the schema for a required string.
pub(crate) fn required_text(rules: &Field) -> Json {
    let least = rules.min_chars.unwrap_or(1);
    most_characters(object! { "type": "string", "minLength": least, "pattern": pattern::not_blank() }, rules)
}

fn url_text(rules: &Field, pattern: String) -> Json {
    most_characters(object! { "type": "string", "format": "url", "pattern": pattern }, rules)
}

/// Unless the field is required, also allows the empty string and null, which clear it.
fn optional(schema: Json, rules: &Field) -> Json {
    if rules.required { schema } else { any_of([schema, object! { "type": "string", "maxLength": 0 }, null()]) }
}

fn optional_text(rules: &Field, is_item: bool) -> Json {
    let pattern = match (rules.format, rules.exact_chars) {
        // In a batch, an unknown code fails only its item.
        (Format::Country, _) if rules.item_codes.is_none() || !is_item => pattern::country_code(),
        (Format::Email, _) => pattern::email(),
        (Format::Url, _) => pattern::url(),
        (Format::StartDate, _) => pattern::start_date(),
        (_, Some(exact)) => pattern::exactly(exact),
        _ => pattern::TEXT.to_owned(),
    };
    // The formats `uri` and `iri` are narrower than WHATWG URLs. A start date has two forms, so it has no format.
    let format = match rules.format {
        Format::Email => "email",
        Format::Url => "url",
        Format::Date => "date",
        Format::StartDate | Format::Country | Format::Timestamp | Format::Unspecified => {
            return most_characters(object! { "type": ["string", "null"], "pattern": pattern }, rules);
        }
    };
    let text = most_characters(object! { "type": "string", "format": format, "pattern": pattern }, rules);
    // The format excludes the empty string.
    optional(text, rules)
}

fn most_characters(schema: Json, rules: &Field) -> Json {
    schema.with_some("maxLength", rules.max_chars.or(rules.exact_chars))
}

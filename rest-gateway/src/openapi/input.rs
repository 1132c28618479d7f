//! Schemas of bodies: what partners send.

use compliance_api::{
    description::{Field, Kind, Message},
    rules::FieldRules,
    v1::Format,
};

use super::{
    choice, pattern,
    schema::{any_of, list_of, null, reference},
};
use crate::json::{Json, object};

/// What an affiliate is sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Create,
    Update,
}

/// Every schema of a body, by name.
pub(super) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (purpose, name, request) in [
        (For::Create, "AffiliateCreate", "BatchCreateAffiliatesRequest"),
        (For::Update, "AffiliateUpdate", "BatchUpdateAffiliatesRequest"),
    ] {
        let item = format!("{name}Item");
        let any = Json::object([("affiliates", Json::Object(Vec::new()))]);
        let no_list = object! { "required": Json::list(["affiliates"]), "properties": any };
        all.push((name.to_owned(), affiliate(purpose, false).with("not", no_list)));
        all.push((format!("{name}Batch"), list_body(request, "affiliates", reference(&item))));
        all.push((item, affiliate(purpose, true)));
    }
    all.push(("UrlsAdd".to_owned(), list_body("AddComplianceUrlsRequest", "urls", reference("UrlInput"))));
    all.push(("UrlInput".to_owned(), url()));
    all
}

/// A body that holds a list, which has the rules of the field of a request.
fn list_body(request: &str, field: &str, items: Json) -> Json {
    let described = Message::of(request).and_then(|message| message.field(field));
    let mut list = list_of(items).with("minItems", 1);
    if let Some(most) = described.and_then(|field| field.rules.max_items) {
        list = list.with("maxItems", most);
    }
    let list = list.with("description", described.map_or("", |field| field.doc));
    object! {
        "type": "object",
        "required": Json::list([field]),
        "properties": Json::object([(field, list)]),
    }
}

fn url() -> Json {
    let fields = Message::of("UrlInput").map_or(&[][..], |message| message.fields);
    object! {
        "type": "object",
        "required": Json::list(fields.iter().map(|field| field.rules.name)),
        "properties": Json::object(fields.iter().map(|field| {
            let schema = object! { "type": "string", "format": "url", "pattern": pattern::required_url() };
            let schema = most_characters(schema, &field.rules);
            (field.rules.name, schema.with("description", field.doc))
        })),
    }
}

fn affiliate(purpose: For, is_item: bool) -> Json {
    let fields = Message::of("AffiliateInput").map_or(&[][..], |message| message.fields);
    let mut properties: Vec<(&str, Json)> = Vec::new();
    let mut required: Vec<&str> = Vec::new();
    if purpose == For::Update {
        properties.push(("id", id(is_item)));
        required.push("id");
    } else {
        required.extend(fields.iter().filter(|field| field.rules.required).map(|field| field.rules.name));
    }
    properties.extend(fields.iter().map(|field| (field.rules.name, property(field, is_item))));
    let description = match (purpose, is_item) {
        (For::Create, false) => {
            "An affiliate to be created. For optional fields, null and `\"\"` are the same as absent."
        }
        (For::Create, true) => {
            "An affiliate to be created, in a batch: an unknown country code fails this item alone (1024)."
        }
        (For::Update, false) => {
            "Changes to an affiliate: only the fields that are sent. Null and `\"\"` clear an optional field."
        }
        (For::Update, true) => {
            "Changes to an affiliate, in a batch: an unknown ID (1025), an unknown country code or a name that is taken \
             (1021) fails this item alone."
        }
    };
    object! {
        "type": "object",
        "required": Json::list(required),
        "properties": Json::object(properties),
        "description": description,
    }
}

fn id(is_item: bool) -> Json {
    let doc = Message::of("AffiliateUpdate").and_then(|message| message.field("id")).map_or("", |field| field.doc);
    let same = if is_item { "" } else { " It equals the ID in the URL." };
    object! {
        "type": "integer",
        "format": "int64",
        "minimum": i64::MIN,
        "maximum": i64::MAX,
        "description": format!("{doc}{same}"),
    }
}

/// A field of an affiliate.
fn property(field: &Field, is_item: bool) -> Json {
    let rules = &field.rules;
    let other = match field.kind {
        Kind::Integer => Some("integer"),
        Kind::Flag => Some("boolean"),
        _ => None,
    };
    if let Some(other) = other {
        return object! { "type": Json::list([other, "null"]), "description": field.doc };
    }
    if rules.required {
        let schema = object! { "type": "string", "minLength": 1, "pattern": pattern::not_blank() };
        return most_characters(schema, rules).with("description", field.doc);
    }
    let schema = if rules.one_of.is_empty() {
        let pattern = match (rules.format, rules.exact_chars) {
            // In a batch, codes that do not exist fail their item alone.
            (Format::Country, _) if rules.item_codes.is_none() || !is_item => pattern::country_code(),
            (Format::Url, _) => pattern::url(),
            (Format::StartDate, _) => pattern::start_date(),
            (_, Some(exact)) => pattern::exactly(exact),
            _ => pattern::TEXT.to_owned(),
        };
        match format_name(rules.format) {
            // The empty text, which clears the field, is of no format.
            Some(format) => {
                let text = object! { "type": "string", "format": format, "pattern": pattern };
                let empty = object! { "type": "string", "maxLength": 0 };
                any_of([most_characters(text, rules), empty, null()])
            }
            None => most_characters(object! { "type": Json::list(["string", "null"]), "pattern": pattern }, rules),
        }
    } else {
        let empty = object! { "type": "string", "const": "" };
        any_of([choice::of(rules.one_of), empty, null()])
    };
    schema.with("description", field.doc)
}

fn most_characters(schema: Json, rules: &FieldRules) -> Json {
    match rules.max_chars.or(rules.exact_chars) {
        Some(most) => schema.with("maxLength", most),
        None => schema,
    }
}

/// The name of the format. A URL is what WHATWG calls so; the formats `uri` and `iri` are narrower. A start date has two
/// forms, so it has none.
fn format_name(format: Format) -> Option<&'static str> {
    match format {
        Format::Email => Some("email"),
        Format::Url => Some("url"),
        Format::Date => Some("date"),
        Format::StartDate | Format::Country | Format::Unspecified => None,
    }
}

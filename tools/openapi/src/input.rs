//! Schemas of bodies: what partners send.

use compliance_api::{
    description::{Field, Kind},
    v1::Format,
};
use docs_pages::{Json, object};

use crate::{
    pattern,
    schema::{YES_NO, any_of, choice, integer, list_of, message, null, range, reference},
};

/// The bodies of case work, and the messages that they become.
const CASE_WORK: [(&str, &str); 6] = [
    ("CaseOpen", "OpenCaseRequest"),
    ("CaseResolve", "ResolveCaseRequest"),
    ("CaseClose", "CloseCaseRequest"),
    ("CaseReopen", "ReopenCaseRequest"),
    ("IncidentInput", "IncidentInput"),
    ("InfractionInput", "InfractionInput"),
];

/// What a record is sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Create,
    Update,
}

/// Every schema of a body, by name.
pub(crate) fn all() -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (purpose, name, request) in [
        (For::Create, "AffiliateCreate", "BatchCreateAffiliatesRequest"),
        (For::Update, "AffiliateUpdate", "BatchUpdateAffiliatesRequest"),
    ] {
        let item = format!("{name}Item");
        let any = Json::object([("affiliates", Json::parse("{}"))]);
        let no_list = object! { "required": ["affiliates"], "properties": any };
        all.push((name.to_owned(), affiliate(purpose, false).with("not", no_list)));
        all.push((format!("{name}Batch"), list_body(request, "affiliates", reference(&item))));
        all.push((item, affiliate(purpose, true)));
    }
    all.push(("AffiliateRoster".to_owned(), roster()));
    all.push(("AffiliateRosterItem".to_owned(), roster_item()));
    all.push(("UrlsAdd".to_owned(), list_body("AddComplianceUrlsRequest", "urls", reference("UrlInput"))));
    all.push(("UrlInput".to_owned(), url()));
    all.push(("WebhookCreate".to_owned(), webhook(true)));
    all.push(("WebhookUpdate".to_owned(), webhook(false)));
    for (name, request) in CASE_WORK {
        all.push((name.to_owned(), object_of(request, For::Create)));
    }
    for (name, request, item, fields) in [
        ("IncidentsAttach", "AttachIncidentsRequest", "IncidentItem", "IncidentInput"),
        ("IncidentsDetach", "DetachIncidentsRequest", "IncidentKey", "IncidentKey"),
    ] {
        all.push((name.to_owned(), incidents(request, item)));
        all.push((item.to_owned(), item_alone(fields)));
    }
    all.push(("CaseFields".to_owned(), object_of("CaseInput", For::Create)));
    all.push(("CaseUpdate".to_owned(), object_of("CaseInput", For::Update)));
    all.push(("UrlReview".to_owned(), object_of("UrlReview", For::Update)));
    all
}

/// A body that holds a list, which has the rules of the field of a request.
fn list_body(request: &str, field: &str, items: Json) -> Json {
    let described = message(request).field(field);
    let mut list = list_of(items).with("minItems", 1);
    if let Some(most) = described.and_then(|field| field.max_items) {
        list = list.with("maxItems", most);
    }
    let list = list.with("description", described.map_or("", |field| field.doc));
    object! {
        "type": "object",
        "required": [field],
        "properties": Json::object([(field, list)]),
    }
}

/// A roster with its options.
fn roster() -> Json {
    let mut body = list_body("BatchSyncAffiliatesRequest", "affiliates", reference("AffiliateRosterItem"));
    let fields = message("BatchSyncAffiliatesRequest").fields;
    for field in fields.iter().filter(|field| !field.is_list) {
        let schema = match field.kind {
            Kind::Flag => any_of([object! { "type": "boolean" }, null()]),
            Kind::Integer(_) => any_of([object! { "type": "integer", "minimum": 0 }, null()]),
            _ => any_of([choice(field.one_of), object! { "type": "string", "const": "" }, null()]),
        };
        body.at("properties").entries_mut().insert(field.name.to_owned(), schema.with("description", field.doc));
    }
    body
}

/// An affiliate of a roster. What is wrong with a value refuses its item alone, so any text is accepted.
fn roster_item() -> Json {
    let fields = message("AffiliateInput").fields;
    let property = |field: &Field| match field.kind {
        Kind::Text => object! { "type": ["string", "null"], "description": field.doc },
        _ => property(field, true),
    };
    object! {
        "type": "object",
        "properties": Json::object(fields.iter().map(|field| (field.name, property(field)))),
        "description": "An affiliate of a roster, identified by its `client_affiliate_id`. The fields have the rules of a creation; \
                        an item that violates one is refused alone. Null and `\"\"` clear an optional field.",
    }
}

fn url() -> Json {
    let fields = message("UrlInput").fields;
    object! {
        "type": "object",
        "required": fields.iter().map(|field| field.name).collect::<Vec<_>>(),
        "properties": Json::object(fields.iter().map(|field| {
            let schema = object! { "type": "string", "format": "url", "pattern": pattern::required_url() };
            let schema = most_characters(schema, field);
            (field.name, schema.with("description", field.doc))
        })),
    }
}

/// A webhook to be created or changed.
fn webhook(is_new: bool) -> Json {
    let property = |field: &Field| {
        let schema = match field.kind {
            _ if field.is_list => {
                let list = list_of(choice(field.one_of));
                any_of([field.max_items.map_or(list.clone(), |most| list.with("maxItems", most)), null()])
            }
            Kind::Integer(bits) => any_of([integer(bits, range(bits, field)), null()]),
            _ if field.format == Format::Url => {
                let url = pattern::required_url().replace("[Ss]?", "[Ss]");
                let url = most_characters(object! { "type": "string", "format": "url", "pattern": url }, field);
                if is_new { url } else { optional(url, field) }
            }
            // It is described.
            _ => return property(field, false),
        };
        schema.with("description", field.doc)
    };
    let fields = message("WebhookInput").fields.iter();
    let required: &[&str] = if is_new { &["url"] } else { &[] };
    object! {
        "type": "object",
        "required": required,
        "properties": Json::object(fields.map(|field| (field.name, property(field)))),
    }
}

/// An object that becomes a message.
fn object_of(name: &str, purpose: For) -> Json {
    let message = message(name);
    // They are in the path and in a header.
    let sent = || message.fields.iter().filter(|field| !["id", "etag"].contains(&field.name));
    let required = |field: &&Field| purpose == For::Create && is_required(field);
    object! {
        "type": "object",
        "required": sent().filter(required).map(|field| field.name).collect::<Vec<_>>(),
        "properties": Json::object(sent().map(|field| (field.name, value_of(field).with("description", field.doc)))),
        "description": message.doc,
    }
}

/// A body with incidents.
fn incidents(request: &str, item: &str) -> Json {
    let field = message(request).field("incidents").expect("the message is declared");
    let list = any_of([at_most(list_of(reference(item)), field), null()]).with("description", field.doc);
    object! { "type": "object", "properties": Json::object([(field.name, list)]) }
}

/// An item that fails alone if it breaks a rule, so any text and any number is accepted.
fn item_alone(name: &str) -> Json {
    let message = message(name);
    let property = |field: &Field| match field.kind {
        Kind::Text => object! { "type": ["string", "null"], "description": field.doc },
        Kind::Integer(bits) => any_of([integer(bits, (i64::MIN, i64::MAX)), null()]).with("description", field.doc),
        Kind::Choice(_) => any_of([value_of(field), null()]).with("description", field.doc),
        _ => value_of(field).with("description", field.doc),
    };
    object! {
        "type": "object",
        "properties": Json::object(message.fields.iter().map(|field| (field.name, property(field)))),
        "description": format!("{} An item that breaks a rule is refused alone.", message.doc),
    }
}

/// Whether a field must be sent. The rule of a list of texts is that of its elements.
fn is_required(field: &Field) -> bool {
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
        Kind::Flag => or_null(any_of([object! { "type": "boolean" }, choice(YES_NO)])),
        Kind::Text => property(field, false),
    }
}

fn at_most(list: Json, field: &Field) -> Json {
    field.max_items.map_or(list.clone(), |most| list.with("maxItems", most))
}

fn affiliate(purpose: For, is_item: bool) -> Json {
    let fields = message("AffiliateInput").fields;
    let mut properties: Vec<(&str, Json)> = Vec::new();
    let mut required: Vec<&str> = Vec::new();
    if purpose == For::Update {
        properties.push(("id", id(is_item)));
        required.push("id");
    } else {
        required.extend(fields.iter().filter(|field| field.required).map(|field| field.name));
    }
    properties.extend(fields.iter().map(|field| (field.name, property(field, is_item))));
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
        "required": required,
        "properties": Json::object(properties),
        "description": description,
    }
}

fn id(is_item: bool) -> Json {
    let doc = message("AffiliateUpdate").field("id").map_or("", |field| field.doc);
    let same = if is_item { "" } else { " It equals the ID in the URL." };
    integer(64, (i64::MIN, i64::MAX)).with("description", format!("{doc}{same}"))
}

/// A field of an affiliate.
fn property(field: &Field, is_item: bool) -> Json {
    let schema = match field.kind {
        Kind::Integer(bits) => optional(integer(bits, range(bits, field)), field),
        Kind::Flag => optional(any_of([object! { "type": "boolean" }, choice(YES_NO)]), field),
        _ if field.required => required_text(field),
        _ if field.one_of.is_empty() => optional_text(field, is_item),
        _ => any_of([choice(field.one_of), object! { "type": "string", "const": "" }, null()]),
    };
    schema.with("description", field.doc)
}

/// A text that has to be there.
pub(crate) fn required_text(rules: &Field) -> Json {
    let least = rules.min_chars.unwrap_or(1);
    most_characters(object! { "type": "string", "minLength": least, "pattern": pattern::not_blank() }, rules)
}

/// The schema, unless the field is required with the empty text and null, which clear it.
fn optional(schema: Json, rules: &Field) -> Json {
    if rules.required { schema } else { any_of([schema, object! { "type": "string", "maxLength": 0 }, null()]) }
}

fn optional_text(rules: &Field, is_item: bool) -> Json {
    let pattern = match (rules.format, rules.exact_chars) {
        // In a batch, codes that do not exist fail their item alone.
        (Format::Country, _) if rules.item_codes.is_none() || !is_item => pattern::country_code(),
        (Format::Email, _) => pattern::email(),
        (Format::Url, _) => pattern::url(),
        (Format::StartDate, _) => pattern::start_date(),
        (_, Some(exact)) => pattern::exactly(exact),
        _ => pattern::TEXT.to_owned(),
    };
    // A URL is what WHATWG calls so; the formats `uri` and `iri` are narrower. A start date has two forms, so it has none.
    let format = match rules.format {
        Format::Email => "email",
        Format::Url => "url",
        Format::Date => "date",
        Format::StartDate | Format::Country | Format::Timestamp | Format::Unspecified => {
            return most_characters(object! { "type": ["string", "null"], "pattern": pattern }, rules);
        }
    };
    let text = most_characters(object! { "type": "string", "format": format, "pattern": pattern }, rules);
    // The empty text is of no format.
    optional(text, rules)
}

fn most_characters(schema: Json, rules: &Field) -> Json {
    match rules.max_chars.or(rules.exact_chars) {
        Some(most) => schema.with("maxLength", most),
        None => schema,
    }
}

//! Generates path and query parameters.

use compliance_api::{
    MAX_ID,
    description::{Field, Kind},
    v1::Format,
};
use docs_pages::{Json, object};

use crate::{
    input, pattern,
    schema::{choice, message, names_by_id, vocabulary_of_filter, vocabulary_sentence},
};

/// Returns the ID at the end of a path. `of` describes what the ID identifies.
pub(crate) fn path_id(of: &str) -> Json {
    object! {
        "name": "id",
        "in": "path",
        "required": true,
        "description": format!("ID {of}, assigned by the service. Any other value gets 404."),
        "schema": object! { "type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID },
        "example": 1,
    }
}

/// Returns the query parameters: the fields of the request with this name, or one of its fields.
pub(crate) fn of_query(request: &str) -> impl Iterator<Item = Json> {
    let (request, only) = request.split_once('.').map_or((request, None), |(request, only)| (request, Some(only)));
    // A single record's ID is in the path.
    let is_in_path = request.starts_with("Get") || request == "ListWebhookDeliveriesRequest";
    let fields = message(request).fields.iter().filter(move |field| only.is_none_or(|only| field.name == only));
    let fields = fields.filter(|field| !matches!(field.kind, Kind::Message(_)));
    fields.filter(move |field| field.name != "id" || !is_in_path).map(query_parameter)
}

fn query_parameter(field: &Field) -> Json {
    let name = field.name;
    let mut schema = match (choices(field), field.kind) {
        // Commas separate list values.
        _ if field.is_list => {
            let one = format!("({})", field.one_of.join("|"));
            object! { "type": "string", "pattern": format!("^{one}(,{one})*$") }
        }
        (Some(choices), _) => choice(&choices),
        (None, Kind::Integer(_)) => object! { "type": "integer", "format": "int64" },
        (None, _) if field.format == Format::Date => {
            object! { "type": "string", "format": "date", "pattern": pattern::DAY }
        }
        (None, _) if field.format == Format::Timestamp => {
            object! { "type": "string", "pattern": pattern::timestamp() }
        }
        (None, _) if field.format == Format::Country => {
            object! { "type": "string", "pattern": pattern::country_code() }
        }
        (None, _) => input::required_text(field),
    };
    let default = match name {
        "per_page" => Some(Json::of(&100)),
        "page" => Some(Json::of(&1)),
        "limit" => Some(Json::of(&if field.at_most == Some(1000) { 100 } else { 20 })),
        "sort_by" => Some(Json::of("id")),
        "sort_dir" => Some(Json::of("desc")),
        _ => None,
    };
    schema =
        schema.with_some("minimum", field.at_least).with_some("maximum", field.at_most).with_some("default", default);
    let mut description = field.doc.to_owned();
    if let Some(vocabulary) = vocabulary_of_filter(name) {
        // The pages at /docs offer these names.
        schema = schema.with("x-vocabulary", names_by_id(vocabulary));
        description += &vocabulary_sentence(vocabulary, true);
    }
    let parameter = object! { "name": name, "in": "query", "required": field.required, "description": description };
    // An empty parameter is treated as absent.
    parameter.with_some("allowEmptyValue", (!field.required).then_some(true)).with("schema", schema)
}

/// Returns the values of a flag, an enum or a field with listed values.
pub(crate) fn choices(field: &Field) -> Option<Vec<String>> {
    Some(match field.kind {
        Kind::Flag if field.may_be_absent => vec!["yes".to_owned(), "no".to_owned()],
        // A request option.
        Kind::Flag => vec!["true".to_owned(), "false".to_owned()],
        Kind::Choice(values) => values.iter().map(|(_, name)| (*name).to_owned()).collect(),
        _ if !field.one_of.is_empty() => field.one_of.iter().map(|name| (*name).to_owned()).collect(),
        _ => return None,
    })
}

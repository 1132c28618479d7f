//! Parameters of paths, queries and headers.

use compliance_api::{
    MAX_ID,
    description::{Field, Kind, Message},
};

use super::{
    choice,
    schema::{names_by_id, vocabulary_of_filter, vocabulary_sentence},
};
use crate::{
    extract::query::Parameters,
    json::{Json, object},
};

/// The request ID that a client may send.
pub(super) fn request_id() -> Json {
    object! { "$ref": "#/components/parameters/RequestId" }
}

/// The parameters that several operations have, by the names of their components.
pub(super) fn components() -> Json {
    let request_id = object! {
        "name": "X-Request-Id",
        "in": "header",
        "description": "The client's own ID for this request: 1 to 128 visible ASCII characters. Any other is \
                        replaced by a new one.",
        "required": false,
        "schema": object! { "type": "string" },
    };
    object! { "RequestId": request_id }
}

/// The ID at the end of a path: of what, in words.
pub(super) fn path_id(of: &str) -> Json {
    object! {
        "name": "id",
        "in": "path",
        "required": true,
        "description": format!("ID of the {of}, assigned by the service. Anything else is an unknown ID: 404."),
        "schema": object! { "type": "integer", "format": "int64", "minimum": 1, "maximum": MAX_ID },
        "example": 1,
    }
}

/// The parameters of a list: the fields of its request, which has this name, that a query sets.
pub(super) fn of_query<R: Parameters>(request: &str) -> Vec<Json> {
    let message = Message::of(request);
    let fields = R::PARAMETERS.iter().filter_map(|name| message?.field(name));
    fields.map(query_parameter::<R>).collect()
}

fn query_parameter<R: Parameters>(field: &Field) -> Json {
    let name = field.rules.name;
    let mut schema = match (R::choices(name), field.kind) {
        (Some(choices), _) => choice::of(&choices),
        (None, Kind::Integer) => object! { "type": "integer", "format": "int64" },
        // The only texts are days.
        (None, _) => object! { "type": "string", "format": "date" },
    };
    for (key, bound) in [("minimum", field.rules.at_least), ("maximum", field.rules.at_most)] {
        if let Some(bound) = bound {
            schema = schema.with(key, bound);
        }
    }
    if let Some(default) = default(name) {
        schema = schema.with("default", default);
    }
    let vocabulary = vocabulary_of_filter(name);
    if let Some(vocabulary) = vocabulary {
        // For pages that offer the names.
        schema = schema.with("x-vocabulary", names_by_id(vocabulary));
    }
    let sentence = vocabulary.map(|vocabulary| vocabulary_sentence(vocabulary, true)).unwrap_or_default();
    object! {
        "name": name,
        "in": "query",
        "required": false,
        "description": format!("{}{sentence}", field.doc),
        "allowEmptyValue": true,
        "schema": schema,
    }
}

/// What an absent parameter stands for.
fn default(name: &str) -> Option<Json> {
    Some(match name {
        "per_page" => 100.into(),
        "page" => 1.into(),
        "sort_by" => "id".into(),
        "sort_dir" => "desc".into(),
        _ => return None,
    })
}

//! Reads the examples from `examples.json`.

use docs_pages::Json;

use crate::schema;

/// Returns the examples for an operation's `body`, or for its response with a status.
///
/// The operation's examples take precedence over the schema's. Replaces `@Message` with the record of that name.
pub(crate) fn of(operation: &str, of: &str, schema: &str) -> Option<Json> {
    let mut all = Json::parse(include_str!("examples.json"));
    let of_operation = all.at("operations").get(operation).and_then(|examples| examples.get(of)).cloned();
    let found = of_operation.or_else(|| all.at("schemas").get(schema).cloned())?;
    let mut text = serde_json::to_string(&found).expect("cannot write JSON");
    for (name, record) in all.at("records").entries() {
        let record = serde_json::to_string(&whole(name, record)).expect("cannot write JSON");
        text = text.replace(&format!("\"@{name}\""), &record);
    }
    Some(Json::parse(&text.replace("VERSION", env!("CARGO_PKG_VERSION"))))
}

/// Completes a record with nulls for missing fields.
fn whole(message: &str, record: &Json) -> Json {
    let written = schema::message(message).fields.iter().filter(|field| field.form != "omitted");
    Json::object(written.map(|field| (field.name, record.get(field.name))))
}

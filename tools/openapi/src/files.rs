//! Adds properties for file requests to response schemas.

use docs_pages::{Json, object};

/// Results of items that can come from a file's rows.
const RESULTS: [&str; 7] = [
    "AffiliateCreated",
    "AffiliateValid",
    "AffiliateDuplicate",
    "AffiliateInvalidCountry",
    "UrlAdded",
    "UrlValid",
    "UrlDuplicate",
];

/// Adds the optional properties for file requests to the response schema with this name.
pub(crate) fn with_properties(name: &str, mut schema: Json) -> Json {
    let places = || {
        let place = |description: &str| object! { "type": ["string", "null"], "description": description };
        [
            ("row", row()),
            ("cell", place("The cell of a workbook, such as `C7`.")),
            ("column", place("The heading of a column of CSV.")),
        ]
    };
    let properties = match name {
        "BatchSyncAffiliatesResponse" => vec![("notes", notes("for a file"))],
        "FieldViolation" => places().to_vec(),
        "ValidationFailure" => {
            let text = || object! { "type": "string", "minLength": 1 };
            let properties = [("path", text())].into_iter().chain(places()).chain([("message", text())]);
            let item = object! {
                "type": "object",
                "required": ["path", "row", "cell", "column", "message"],
                "properties": Json::object(properties),
            };
            let description = "Only for a file: the violations of its rows, at most 10,000.";
            let violations = object! { "type": "array", "items": item, "description": description };
            vec![("violations", violations), ("notes", notes("for a file with such rows"))]
        }
        "AffiliateSyncResult" => vec![("row", row())],
        _ if RESULTS.contains(&name) => vec![("row", row()), ("notes", notes("in the first result for a file"))],
        _ => Vec::new(),
    };
    for (property, of_file) in properties {
        schema.at("properties").entries_mut().insert(property.to_owned(), of_file);
    }
    schema
}

fn notes(place: &str) -> Json {
    let description = format!("Only {place}: what the service skipped in the table, in plain English.");
    object! { "type": "array", "items": object! { "type": "string" }, "description": description }
}

fn row() -> Json {
    let description = "Only for a file: the line of CSV, or the row of the sheet.";
    object! { "type": "integer", "format": "int64", "minimum": 1, "description": description }
}

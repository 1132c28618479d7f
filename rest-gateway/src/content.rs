//! Determines request body types from the `Content-Type` header.

use compliance_api::{error::Error, rules::Violations};
use http::{HeaderMap, header::CONTENT_TYPE};
use strsim::normalized_damerau_levenshtein;

/// Media types of spreadsheet files: CSV and XLSX.
pub const FILES: [&str; 2] = ["text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"];

/// Query parameters that control how a file is read.
pub const FILE_OPTIONS: [&str; 5] = ["dates", "encoding", "sheet", "columns", "escape"];

/// Options of other operations and programs, without separators. Ignoring one could save a file by mistake, or leave affiliates unchanged.
const FOREIGN_OPTIONS: [&str; 7] =
    ["absent", "absentstatus", "map", "maxabsent", "reportabsent", "validateonly", "dryrun"];

/// Minimum similarity between a misspelled option and its correct name, from 0 to 1.
const SIMILAR: f64 = 0.7;

/// Returns the violation if an unknown name seems to mean one of the request's options.
pub(crate) fn misspelled_option(name: &str, known: &[&str]) -> Option<String> {
    let meant = if squeezed(name) == "dryrun" { "validate_only".to_owned() } else { name.to_ascii_lowercase() };
    let similarity = |option: &&str| normalized_damerau_levenshtein(&meant, option);
    let nearest = known.iter().max_by(|one, other| similarity(one).total_cmp(&similarity(other)));
    let nearest = nearest.filter(|option| similarity(option) >= SIMILAR)?;
    Some(format!("The option {name} does not exist. Use {nearest}."))
}

/// Returns whether a query parameter is an option of another operation, body or program.
pub(crate) fn is_foreign_option(name: &str) -> bool {
    FOREIGN_OPTIONS.contains(&&*squeezed(name))
}

/// Returns a name in lower case, without separators.
fn squeezed(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-'], "")
}

/// Returns whether the body is a table file. Any other body is JSON.
pub(crate) fn is_file(headers: &HeaderMap) -> bool {
    FILES.iter().any(|file| file.eq_ignore_ascii_case(media_type(headers)))
}

/// Returns whether the content type is JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let media_type = media_type(headers).to_ascii_lowercase();
    media_type == "application/json" || media_type.ends_with("+json")
}

/// Returns the error for a body that is neither JSON nor declared as a file.
pub(crate) fn not_a_file() -> Error {
    let [csv, workbook] = FILES;
    let message = format!(
        "The body must be valid JSON. To send a table, send the bytes of the file (curl --data-binary @FILE) with the header Content-Type: {csv} for \
         CSV, or {workbook} for .xlsx. Save other files, such as .xls and .ods, as .xlsx."
    );
    Error::invalid(Violations::one("body", message))
}

/// Returns the charset in the header.
pub(crate) fn charset(headers: &HeaderMap) -> Option<String> {
    let parameters = value(headers).split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut charsets = parameters.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let charset = charsets.next().map(|(_, charset)| charset.trim().trim_matches('"').to_ascii_lowercase());
    charset.filter(|charset| !charset.is_empty())
}

fn media_type(headers: &HeaderMap) -> &str {
    value(headers).split(';').next().unwrap_or_default().trim()
}

fn value(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

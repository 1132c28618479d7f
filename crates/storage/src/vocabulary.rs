//! Resolves vocabulary names. Default names are constants. A statement reads a company's custom names with the record.

use compliance_api::catalogue::{FIRST_OWN_ID, Vocabulary};

/// Returns SQL for a company's custom name for an ID. Its value is null for a default name.
pub fn own_name(vocabulary: Vocabulary, company: &str, id: &str) -> String {
    let number = vocabulary as i16;
    format!(
        "case when {id} >= {FIRST_OWN_ID} then (
            select v.name from vocabulary_entries v
            where v.company_id = {company} and v.vocabulary = {number} and v.id = {id}
        ) end"
    )
}

/// Returns the name for an ID.
///
/// `own` is the company's custom name, read with the ID.
pub fn name(vocabulary: Vocabulary, id: Option<i32>, own: Option<String>) -> Option<String> {
    own.or_else(|| vocabulary.default_name(id?).map(str::to_owned))
}

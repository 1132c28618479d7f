//! Names of the vocabularies: those that every company has are known here, a company's own are read with the record.

use compliance_api::catalogue::{FIRST_OWN_ID, Vocabulary};

/// SQL for a company's own name of an ID; null for an ID that every company has.
pub fn own_name(vocabulary: Vocabulary, company: &str, id: &str) -> String {
    let number = vocabulary as i16;
    format!(
        "case when {id} >= {FIRST_OWN_ID} then (
            select v.name from vocabulary_entries v
            where v.company_id = {company} and v.vocabulary = {number} and v.id = {id}
        ) end"
    )
}

/// The name of an ID, whose own name was read with it.
pub fn name(vocabulary: Vocabulary, id: Option<i32>, own: Option<String>) -> Option<String> {
    own.or_else(|| vocabulary.default_name(id?).map(str::to_owned))
}

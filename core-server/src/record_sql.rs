//! Queries for one record: files with placeholders for the key and the tables. The infractions of a record are lists in columns of its row.

use compliance_api::catalogue::Vocabulary::{InfractionName, InfractionType};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    template::fill,
    vocabulary::{self, own_name},
};

/// A query for one record.
pub(crate) type RecordQuery = fn(&Place) -> String;

/// Where a query finds its record.
pub(crate) struct Place {
    /// The company, as SQL.
    pub(crate) company: &'static str,
    /// The ID, as SQL.
    pub(crate) id: &'static str,
    /// The SQL of each table's placeholder. `upline` is the client identifier of the affiliate's upline.
    pub(crate) tables: [(&'static str, &'static str); 6],
}

impl Place {
    /// The current record.
    pub(crate) const fn now(company: &'static str, id: &'static str) -> Self {
        let tables = [
            ("affiliates", "affiliates"),
            ("compliance_urls", "compliance_urls"),
            ("infractions", "infractions"),
            ("compliance_cases", "compliance_cases"),
            ("incidents", "incidents"),
            ("upline", "a.upline"),
        ];
        Self { company, id, tables }
    }

    /// Fills in the key, the tables and other parts of a query.
    pub(crate) fn fill(&self, query: &str, parts: &[(&str, &str)]) -> String {
        let key = [("company", self.company), ("id", self.id)];
        fill(query, &[&key, &self.tables[..], parts].concat())
    }
}

/// SQL for the company's own type and own name in the row `i`.
pub(crate) fn own_names(company: &str) -> [String; 2] {
    [
        own_name(InfractionType, company, "i.infraction_type_id"),
        own_name(InfractionName, company, "i.infraction_name_id"),
    ]
}

/// Reads the types and names of the infractions in a row.
pub(crate) fn read_infractions(
    row: &PgRow,
) -> Result<impl Iterator<Item = (Option<String>, Option<String>)>, sqlx::Error> {
    let list = |ids, own, vocabulary| {
        let ids = row.try_get::<Option<Vec<Option<i32>>>, _>(ids)?.unwrap_or_default();
        let own = row.try_get::<Option<Vec<Option<String>>>, _>(own)?.unwrap_or_default();
        Ok::<_, sqlx::Error>(ids.into_iter().zip(own).map(move |(id, own)| vocabulary::name(vocabulary, id, own)))
    };
    let types = list("infraction_types", "own_infraction_types", InfractionType)?;
    Ok(types.zip(list("infraction_names", "own_infraction_names", InfractionName)?))
}

/// The revisions that an etag of a request allows: one or several, separated by commas. `None` without an etag. Text that is not a
/// revision matches no record.
pub(crate) fn revisions(etag: &str) -> Option<Vec<i64>> {
    (!etag.is_empty()).then(|| etag.split(',').filter_map(|etag| etag.trim().parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::revisions;

    #[test]
    fn text_that_is_not_a_revision_matches_nothing() {
        assert_eq!(revisions(""), None);
        assert_eq!(revisions("7"), Some(vec![7]));
        assert_eq!(revisions("7, 9"), Some(vec![7, 9]));
        assert_eq!(revisions("W/7"), Some(vec![]));
        assert_eq!(revisions(","), Some(vec![]));
    }
}

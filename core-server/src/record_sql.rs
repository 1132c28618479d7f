//! Builds queries for one record, from files with placeholders for the key and the tables. A row contains the record's
//! infractions as lists.

use compliance_api::catalogue::Vocabulary::{InfractionName, InfractionType};
use sqlx::{Row as _, postgres::PgRow};
use storage::{
    template::fill,
    vocabulary::{self, own_name},
};

/// Builds a query for one record.
pub(crate) type RecordQuery = fn(&Place) -> String;

/// Where a query finds its record.
pub(crate) struct Place {
    /// The company, as SQL.
    pub(crate) company: &'static str,
    /// The ID, as SQL.
    pub(crate) id: &'static str,
    /// The SQL of each table placeholder. `upline` is the client identifier of the affiliate's upline.
    pub(crate) tables: [(&'static str, &'static str); 6],
}

impl Place {
    /// Returns the place of the current record.
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

    /// Fills in a query's key, tables and other parts.
    pub(crate) fn fill(&self, query: &str, parts: &[(&str, &str)]) -> String {
        let key = [("company", self.company), ("id", self.id)];
        fill(query, &[&key, &self.tables[..], parts].concat())
    }
}

/// Returns SQL for the company's own infraction type and name in the row `i`.
pub(crate) fn own_names(company: &str) -> [String; 2] {
    [
        own_name(InfractionType, company, "i.infraction_type_id"),
        own_name(InfractionName, company, "i.infraction_name_id"),
    ]
}

/// Reads the infraction types and names in a row.
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

/// Returns the comma-separated revisions that a request's etag accepts, or `None` if the etag is absent.
///
/// Text other than a revision matches no record.
pub(crate) fn revisions(etag: &str) -> Option<Vec<i64>> {
    (!etag.is_empty()).then(|| etag.split(',').filter_map(|etag| etag.trim().parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::revisions;

    #[test]
    fn malformed_etags_match_no_revision() {
        assert_eq!(revisions(""), None);
        assert_eq!(revisions("7"), Some(vec![7]));
        assert_eq!(revisions("7, 9"), Some(vec![7, 9]));
        assert_eq!(revisions("W/7"), Some(vec![]));
        assert_eq!(revisions(","), Some(vec![]));
    }
}

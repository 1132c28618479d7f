//! Queries for one record: files with placeholders for the key and the tables.

use storage::template::fill;

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

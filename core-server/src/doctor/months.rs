//! The months of the record of changes: whether retention keeps up.

use sqlx::PgExecutor;

/// The months that should be there, and those that should not.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Months {
    /// For how many days changes are kept.
    pub days: i32,
    /// This month and the next one, if they were not made. A month that has changes in the default partition already stays there.
    pub missing: Vec<String>,
    /// Months whose changes could have been dropped more than a day ago.
    pub overdue: Vec<String>,
}

/// Looks for months that are missing or overdue.
///
/// # Errors
///
/// If the database does not respond, or has no record of changes.
pub async fn months(executor: impl PgExecutor<'_>) -> Result<Months, sqlx::Error> {
    sqlx::query_as(include_str!("months.sql")).fetch_one(executor).await
}

//! Supports Citus, a PostgreSQL extension that distributes tables over nodes, here by company.

mod calls;
mod functions;
mod schema;

use sqlx::{PgConnection, Row as _};

pub use calls::Session;
pub(super) use calls::{Calls, Scope};
pub(super) use functions::missing as missing_functions;
pub use functions::statements_on_shards;
pub(super) use schema::{distribute, one_by_one, prepare, undistributed};

use super::error::DatabaseError;

/// Oldest supported version.
const OLDEST: [u32; 2] = [12, 1];

/// Returns whether the database uses the extension.
///
/// Fails on an unsupported version, and on any node except the coordinator, whose sequences assign record IDs.
pub(super) async fn is_installed(connection: &mut PgConnection) -> Result<bool, DatabaseError> {
    let question = "select extversion from pg_extension where extname = 'citus'";
    let row = sqlx::raw_sql(question).fetch_optional(&mut *connection).await.map_err(DatabaseError::History)?;
    let Some(row) = row else { return Ok(false) };
    let version: String = row.try_get(0).map_err(DatabaseError::History)?;
    if !is_supported(&version) {
        return Err(DatabaseError::OldCitus { version });
    }
    let asked = sqlx::raw_sql("select citus_is_coordinator()").fetch_one(connection).await;
    let is_coordinator = asked.and_then(|row| row.try_get(0)).map_err(DatabaseError::History)?;
    if is_coordinator { Ok(true) } else { Err(DatabaseError::NotCoordinator) }
}

/// Returns whether a version, such as `13.2-1`, is supported.
fn is_supported(version: &str) -> bool {
    let numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    numbers.take(OLDEST.len()).ge(OLDEST)
}

#[cfg(test)]
mod tests {
    use super::is_supported;

    #[test]
    fn versions_are_compared_numerically() {
        for (version, expected) in [
            ("9.5-1", false),
            ("11.3-2", false),
            ("12.0-1", false),
            ("12.1-1", true),
            ("13.2-1", true),
            ("14.0", true),
            ("x", false),
        ] {
            assert_eq!(is_supported(version), expected, "{version}");
        }
    }
}

//! Citus, an extension of PostgreSQL that distributes the tables over nodes, by company.

mod calls;
mod functions;
mod nodes;
mod schema;

use sqlx::{PgConnection, Row as _};

pub(super) use calls::Scope;
pub use calls::Session;
pub(super) use functions::missing as missing_functions;
pub use functions::statements_on_shards;
pub(super) use nodes::Citus;
pub(super) use schema::{distribute, one_by_one, prepare, undistributed};

use super::error::DatabaseError;

/// Oldest supported version.
const OLDEST: [u32; 2] = [12, 1];

const NODES: &str = include_str!("citus/sql/nodes.sql");

/// The nodes of Citus, as an operator sees them.
#[derive(Debug)]
pub struct Nodes {
    /// Number and version of the nodes.
    pub found: String,
    /// Problems of the nodes, in words.
    pub problems: Vec<String>,
}

/// Returns whether the database has the extension.
///
/// Fails for an old version, and for a node other than the coordinator, whose sequences number the records.
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

/// Compares a version such as `13.2-1`.
fn is_supported(version: &str) -> bool {
    let numbers = version.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    numbers.take(OLDEST.len()).ge(OLDEST)
}

/// Asks the nodes what they have. Returns `None` on plain PostgreSQL.
pub async fn check_nodes(connection: &mut PgConnection) -> Result<Option<Nodes>, sqlx::Error> {
    let on_citus = "select exists (select from pg_extension where extname = 'citus')";
    if !sqlx::query_scalar(on_citus).fetch_one(&mut *connection).await? {
        return Ok(None);
    }
    let (mut versions, mut problems) = (Vec::<String>::new(), Vec::new());
    let rows = sqlx::raw_sql(NODES).fetch_all(connection).await?;
    if rows.is_empty() {
        problems.push("the coordinator has none (`citus_set_coordinator_host`, `citus_add_node`)".to_owned());
    }
    for row in &rows {
        let (node, result): (String, String) = (row.try_get("node")?, row.try_get("result")?);
        if !row.try_get::<bool, _>("active")? {
            problems.push(format!("{node} is not active (`citus_activate_node`)"));
        }
        if !row.try_get::<bool, _>("responds")? {
            problems.push(format!("{node}: {result}"));
            continue;
        }
        let mut lines = result.lines().map(str::to_owned);
        versions.extend(lines.next().filter(|version| !versions.contains(version)));
        problems.extend(lines.map(|missing| format!("{missing} is missing on {node}")));
    }
    if versions.len() > 1 {
        problems.push(format!("the nodes have different versions: {}", versions.join(", ")));
    }
    Ok(Some(Nodes { found: format!("{} nodes with {}", rows.len(), versions.join(", ")), problems }))
}

#[cfg(test)]
mod tests {
    use super::is_supported;

    #[test]
    fn versions_are_compared_as_numbers() {
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

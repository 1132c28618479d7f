//! Finds what is wrong with the nodes of Citus.

use sqlx::{PgConnection, Row as _};

const NODES: &str = include_str!("sql/nodes.sql");

/// The nodes of Citus, as an operator sees them.
#[derive(Debug)]
pub struct Nodes {
    /// Number and version of the nodes.
    pub found: String,
    /// Problems of the nodes, in words.
    pub problems: Vec<String>,
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

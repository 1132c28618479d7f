//! Poolers between the service and PostgreSQL. Behind one, a session must stay with its process of the server: statements are
//! prepared, and settings made, once a connection.

use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::limits::POOLER_CHECK_TIMEOUT;

/// `protocol_violation`: `PgBouncer` has no other code, whether it refuses a parameter of the start-up, a password, or a transaction
/// in the mode `statement`, or does not reach its server.
pub(super) const PROTOCOL_VIOLATION: &str = "08P01";
/// How its message about a parameter begins.
const PARAMETER: &str = "unsupported startup parameter";

/// Whether a connection was refused since it begins with parameters that only PostgreSQL takes.
pub(super) fn refuses_parameter(error: &sqlx::Error) -> bool {
    is_violation(error) && error.as_database_error().is_some_and(|error| error.message().starts_with(PARAMETER))
}

fn is_violation(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some(PROTOCOL_VIOLATION)
}

/// Whether the process of the server changes between the transactions of a connection, as with `pool_mode = transaction`. An open
/// transaction on another connection then has the process of the first one, or the first one has another process after it.
pub(super) async fn shares_sessions(first: &mut PgConnection, options: &PgConnectOptions) -> bool {
    let compare = async {
        let before = backend(first).await?;
        // There may be no second connection for now.
        let Ok(mut other) = PgConnection::connect_with(options).await else { return Ok(false) };
        sqlx::raw_sql("begin").execute(&mut other).await?;
        let is_shared = backend(&mut other).await? == before || backend(first).await? != before;
        sqlx::raw_sql("rollback").execute(&mut other).await?;
        other.close().await?;
        Ok::<_, sqlx::Error>(is_shared)
    };
    match timeout(POOLER_CHECK_TIMEOUT, compare).await {
        Ok(Ok(is_shared)) => is_shared,
        Ok(Err(error)) => is_violation(&error),
        Err(_) => false,
    }
}

/// Whether a session lacks the settings that its connection began with. A pooler may be configured to ignore them.
pub(super) async fn lacks_settings(connection: &mut PgConnection) -> bool {
    let asked =
        sqlx::raw_sql("select current_setting('plan_cache_mode') <> 'force_generic_plan'").fetch_one(connection);
    let lacks = timeout(POOLER_CHECK_TIMEOUT, asked).await;
    lacks.is_ok_and(|row| row.and_then(|row| row.try_get(0)).unwrap_or(false))
}

async fn backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::raw_sql("select pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

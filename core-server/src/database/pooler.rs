//! Poolers between the service and PostgreSQL. Behind one, a session must stay with its process of the server: statements are
//! prepared, and settings made, once a connection.

use sqlx::{Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};
use tokio::time::timeout;

use crate::limits::POOLER_CHECK_TIMEOUT;

/// `protocol_violation`: poolers use it for parameters of the start-up that they do not know, and for a transaction in the mode
/// `statement`. PostgreSQL has other codes for them.
const PROTOCOL_VIOLATION: &str = "08P01";

/// Whether a connection was refused since it begins with parameters that only PostgreSQL takes.
pub(super) fn refuses_parameter(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.as_deref() == Some(PROTOCOL_VIOLATION)
}

/// Whether the process of the server changes between the transactions of a connection, as with `pool_mode = transaction`. An open
/// transaction on another connection then has the process of the first one, or the first one has another process after it.
pub(super) async fn shares_sessions(first: &mut PgConnection, options: &PgConnectOptions) -> bool {
    let compare = async {
        let before = backend(first).await?;
        let mut other = PgConnection::connect_with(options).await?;
        sqlx::raw_sql("begin").execute(&mut other).await?;
        let is_shared = backend(&mut other).await? == before || backend(first).await? != before;
        sqlx::raw_sql("rollback").execute(&mut other).await?;
        other.close().await?;
        Ok::<_, sqlx::Error>(is_shared)
    };
    match timeout(POOLER_CHECK_TIMEOUT, compare).await {
        Ok(Ok(is_shared)) => is_shared,
        Ok(Err(error)) => refuses_parameter(&error),
        // There may be no second connection for now.
        Err(_) => false,
    }
}

/// Whether a session has the settings that its connection began with. A pooler may be configured to ignore them.
pub(super) async fn has_settings(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    sqlx::raw_sql("select current_setting('plan_cache_mode') = 'force_generic_plan'")
        .fetch_one(connection)
        .await?
        .try_get(0)
}

async fn backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    sqlx::raw_sql("select pg_backend_pid()").fetch_one(connection).await?.try_get(0)
}

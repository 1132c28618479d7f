//! An axum handler over tokio-postgres with a pool of connections and prepared statements.

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::get,
};
use deadpool_postgres::{Manager, Pool, PoolError};
use tokio_postgres::NoTls;

use super::record::{Affiliate, SELECT, respond};

/// As many connections as the service itself has by default.
const CONNECTIONS: usize = 16;

#[derive(Clone)]
struct Service {
    pool: Pool,
    company: i64,
    statement: &'static str,
}

pub(super) fn router(database_url: &str, company: i64) -> anyhow::Result<Router> {
    let config: tokio_postgres::Config = database_url.parse().context("the database URL is invalid")?;
    let pool = Pool::builder(Manager::new(config, NoTls)).max_size(CONNECTIONS).build()?;
    let statement = format!("{SELECT} where company_id = $1 and id = $2").leak();
    Ok(Router::new().route("/api/affiliates/{id}", get(read)).with_state(Service { pool, company, statement }))
}

async fn read(State(service): State<Service>, Path(id): Path<i64>) -> Response {
    respond(find(&service, id).await)
}

async fn find(service: &Service, id: i64) -> Result<Option<Affiliate>, PoolError> {
    let connection = service.pool.get().await?;
    let statement = connection.prepare_cached(service.statement).await?;
    let row = connection.query_opt(&statement, &[&service.company, &id]).await?;
    Ok(row.as_ref().map(Affiliate::from_row).transpose()?)
}

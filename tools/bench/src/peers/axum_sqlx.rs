//! Serves affiliates with axum and sqlx, both with their defaults.

use anyhow::Context as _;
use axum::{
    Router,
    extract::{Path, State},
    response::Response,
    routing::get,
};
use sqlx::PgPool;

use super::record::{Affiliate, SELECT, respond};

#[derive(Clone)]
struct Service {
    pool: PgPool,
    company: i64,
    statement: &'static str,
}

pub(super) async fn router(database_url: &str, company: i64) -> anyhow::Result<Router> {
    let pool = PgPool::connect(database_url).await.context("the peer cannot connect to the database")?;
    let statement = format!("{SELECT} where company_id = $1 and id = $2").leak();
    Ok(Router::new().route("/api/affiliates/{id}", get(read)).with_state(Service { pool, company, statement }))
}

async fn read(State(service): State<Service>, Path(id): Path<i64>) -> Response {
    let statement = sqlx::query_as::<_, Affiliate>(service.statement).bind(service.company).bind(id);
    respond(statement.fetch_optional(&service.pool).await)
}

//! Serves the documented bytes from memory with axum: the upper bound for any HTTP service.

use std::{collections::HashMap, sync::Arc};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::get,
};
use sqlx::{AssertSqlSafe, PgPool};

use super::record::{Affiliate, SELECT, body};
use crate::dataset::{IN_MEMORY, crowd};

type Bodies = Arc<HashMap<i64, Bytes>>;

pub(super) async fn router(database_url: &str, company: i64) -> anyhow::Result<Router> {
    let pool = PgPool::connect(database_url).await.context("the peer cannot connect to the database")?;
    let statement = format!("{SELECT} where company_id = $1 order by id limit $2");
    let mut bodies = HashMap::new();
    for company in crowd().chain([company]) {
        let affiliates = sqlx::query_as::<_, Affiliate>(AssertSqlSafe(statement.clone())).bind(company).bind(IN_MEMORY);
        for affiliate in affiliates.fetch_all(&pool).await? {
            bodies.insert(affiliate.id, Bytes::from(serde_json::to_vec(&body(affiliate))?));
        }
    }
    pool.close().await;
    Ok(Router::new().route("/api/affiliates/{id}", get(read)).with_state(Arc::new(bodies)))
}

async fn read(State(bodies): State<Bodies>, Path(id): Path<i64>) -> Response {
    match bodies.get(&id) {
        Some(body) => ([(CONTENT_TYPE, "application/json")], body.clone()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

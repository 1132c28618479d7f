//! How a statement of one company runs on Citus: within a function that Citus executes on the node of the company's records.
//!
//! There it names the shards themselves, so that it is planned and run as on plain PostgreSQL. The statements stay as they are: a
//! session replaces those that have a function when it sends them.

use std::{collections::HashMap, sync::Arc};

use futures::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use sqlx::{
    Arguments as _, Execute, Executor as _, FromRow, PgConnection, Postgres, SqlSafeStr as _, SqlStr,
    postgres::{PgArguments, PgRow},
};

use super::functions::{Function, functions};
use crate::{
    Schema,
    database::{borrowed::fetch_one, pool::Pool},
    error::is_disconnected,
};

/// The functions that run statements, by the statement. None on plain PostgreSQL.
#[derive(Debug, Default)]
pub(in crate::database) struct Calls(HashMap<&'static str, Function>);

/// What Citus must know of a statement.
#[derive(Clone, Copy, Debug)]
pub(in crate::database) struct Scope {
    /// The company, for a statement that has an array of companies.
    pub company_id: i64,
    /// How many records of a kind the statement may create. Their IDs are drawn before, since nodes have sequences of their own.
    pub new_records: usize,
    /// How long the statement waits for each lock on the node.
    pub lock_timeout: &'static str,
}

/// A connection for a statement.
#[derive(Debug)]
pub struct Session<'c> {
    connection: &'c mut PgConnection,
    calls: &'c Calls,
    scope: Scope,
    /// Of the coordinator, which has the sequences, if the connection is to a node.
    coordinator: Option<&'c Arc<Pool>>,
}

impl Calls {
    pub(in crate::database) fn of_citus(schema: &Schema) -> Self {
        Self(functions(schema).map(|function| (function.statement, function)).collect())
    }

    /// Whether this is plain PostgreSQL.
    pub(in crate::database) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'c> Session<'c> {
    pub(in crate::database) fn new(connection: &'c mut PgConnection, calls: &'c Calls, scope: Scope) -> Self {
        Self { connection, calls, scope, coordinator: None }
    }

    /// For a connection to a node.
    pub(in crate::database) fn at_node(self, coordinator: &'c Arc<Pool>) -> Self {
        Self { coordinator: Some(coordinator), ..self }
    }

    /// For a statement that may create so many records of a kind.
    #[must_use]
    pub fn creating(self, new_records: usize) -> Self {
        Self { scope: Scope { new_records, ..self.scope }, ..self }
    }

    /// The statement with its arguments, or the call that replaces it.
    async fn sent<'q>(
        &mut self,
        mut query: impl Execute<'q, Postgres>,
    ) -> Result<(SqlStr, Option<PgArguments>), sqlx::Error> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?;
        let sql = query.sql();
        let Some(function) = self.calls.0.get(sql.as_str()) else { return Ok((sql, arguments)) };
        let mut arguments = arguments.unwrap_or_default();
        if function.is_shared {
            arguments.add(self.scope.company_id).map_err(sqlx::Error::Encode)?;
        }
        arguments.add(self.scope.lock_timeout).map_err(sqlx::Error::Encode)?;
        if !function.sequences.is_empty() {
            let mut first: Vec<i64> = Vec::new();
            // An update has the IDs.
            if self.scope.new_records > 0 {
                let draw = sqlx::query_as("select draw_ids($1, $2)").bind(&function.sequences);
                let draw = draw.bind(self.scope.new_records as i64);
                (first,) = match self.coordinator {
                    Some(coordinator) => fetch_one(coordinator, draw).await.map_err(without_node)?,
                    None => draw.fetch_one(&mut *self.connection).await?,
                };
            }
            arguments.add(first).map_err(sqlx::Error::Encode)?;
        }
        Ok((function.call.into_sql_str(), Some(arguments)))
    }

    /// The rows of a statement.
    pub async fn rows<'q>(mut self, query: impl Execute<'q, Postgres>) -> Result<Vec<PgRow>, sqlx::Error> {
        let statement = self.sent(query).await?;
        self.connection.fetch_all(statement).await
    }

    /// What the rows of a statement hold.
    pub async fn fetch_all<'q, T: for<'r> FromRow<'r, PgRow>>(
        self,
        query: impl Execute<'q, Postgres>,
    ) -> Result<Vec<T>, sqlx::Error> {
        self.rows(query).await?.iter().map(T::from_row).collect()
    }

    /// The rows of a statement, one by one.
    pub fn stream<'q: 'c, E: 'q + Execute<'q, Postgres>>(
        mut self,
        query: E,
    ) -> BoxStream<'c, Result<PgRow, sqlx::Error>> {
        let rows = async move {
            let statement = self.sent(query).await?;
            Ok::<_, sqlx::Error>(self.connection.fetch(statement))
        };
        stream::once(rows).try_flatten().boxed()
    }
}

/// An error of the coordinator says nothing about the node.
fn without_node(error: sqlx::Error) -> sqlx::Error {
    if is_disconnected(&error) { sqlx::Error::PoolTimedOut } else { error }
}

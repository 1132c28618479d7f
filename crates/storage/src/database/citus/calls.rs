//! Runs one company's statements on Citus. Each becomes a call to a function that Citus runs on the company's node.
//!
//! The function uses the shards' names, so PostgreSQL plans and runs its statement as usual.

use std::collections::HashMap;

use futures::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use sqlx::{
    Arguments as _, Execute, Executor as _, FromRow, PgConnection, Postgres, SqlSafeStr as _, SqlStr,
    postgres::{PgArguments, PgRow},
};

use super::functions::{Function, functions};
use crate::{Schema, limits::LOCK_TIMEOUT};

/// Functions, by the statement they run.
#[derive(Debug)]
pub(in crate::database) struct Calls(HashMap<&'static str, Function>);

/// Extra parameters of a call, beyond those of its statement.
#[derive(Clone, Copy, Debug)]
pub(in crate::database) struct Scope {
    /// Company, for a statement that takes an array of companies.
    pub company_id: i64,
    /// Maximum number of records of a kind that the statement creates. IDs are reserved first, because each node has its own sequences.
    pub new_records: usize,
}

/// A connection that sends one statement.
#[derive(Debug)]
pub struct Session<'c> {
    connection: &'c mut PgConnection,
    /// `None` on plain PostgreSQL.
    calls: Option<&'c Calls>,
    scope: Scope,
}

impl Calls {
    pub(in crate::database) fn new(schema: &Schema) -> Self {
        Self(functions(schema).map(|function| (function.statement, function)).collect())
    }
}

impl<'c> Session<'c> {
    pub(in crate::database) fn new(connection: &'c mut PgConnection, calls: Option<&'c Calls>, scope: Scope) -> Self {
        Self { connection, calls, scope }
    }

    /// Sets how many records of a kind the statement can create.
    #[must_use]
    pub fn creating(self, new_records: usize) -> Self {
        Self { scope: Scope { new_records, ..self.scope }, ..self }
    }

    /// Returns the statement with its arguments, or the call that replaces it.
    async fn sent<'q>(
        &mut self,
        mut query: impl Execute<'q, Postgres>,
    ) -> Result<(SqlStr, Option<PgArguments>), sqlx::Error> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?;
        let sql = query.sql();
        let Some(function) = self.calls.and_then(|calls| calls.0.get(sql.as_str())) else {
            return Ok((sql, arguments));
        };
        let mut arguments = arguments.unwrap_or_default();
        if function.is_shared {
            arguments.add(self.scope.company_id).map_err(sqlx::Error::Encode)?;
        }
        arguments.add(LOCK_TIMEOUT).map_err(sqlx::Error::Encode)?;
        if !function.sequences.is_empty() {
            let mut first: Vec<i64> = Vec::new();
            // Updates already have IDs.
            if self.scope.new_records > 0 {
                let draw = sqlx::query_as("select draw_ids($1, $2)").bind(&function.sequences);
                let draw = draw.bind(self.scope.new_records as i64);
                let drawn: Vec<(Vec<i64>,)> = draw.fetch_all(&mut *self.connection).await?;
                first = drawn.into_iter().flat_map(|(first,)| first).collect();
            }
            arguments.add(first).map_err(sqlx::Error::Encode)?;
        }
        Ok((function.call.into_sql_str(), Some(arguments)))
    }

    /// Returns a statement's rows.
    pub async fn rows<'q>(mut self, query: impl Execute<'q, Postgres>) -> Result<Vec<PgRow>, sqlx::Error> {
        let statement = self.sent(query).await?;
        self.connection.fetch_all(statement).await
    }

    /// Returns a statement's decoded rows.
    pub async fn fetch_all<'q, T: for<'r> FromRow<'r, PgRow>>(
        self,
        query: impl Execute<'q, Postgres>,
    ) -> Result<Vec<T>, sqlx::Error> {
        self.rows(query).await?.iter().map(T::from_row).collect()
    }

    /// Returns a stream of a statement's rows.
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

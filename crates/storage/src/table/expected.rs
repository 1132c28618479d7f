//! Compares the database with the tables and input types that this version expects.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use compliance_api::record::Record;
use parking_lot::RwLock;
use sqlx::{PgPool, postgres::types::Oid};

use super::{Composite, Layouts, encoder::Layout};
use crate::error::{is_stale, text};

/// Tables and input types that the service expects.
#[derive(Clone, Debug, Default)]
pub struct Expected(Vec<Relation>);

/// A table or composite type, with the type of each column or attribute.
#[derive(Clone, Debug)]
struct Relation {
    kind: &'static str,
    name: &'static str,
    attributes: Vec<(&'static str, Cow<'static, str>)>,
}

/// Error for a database without the expected tables and input types.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The catalogue cannot be read.
    #[error("cannot read the database's catalogue: {}", text(.0))]
    Catalogue(#[from] sqlx::Error),
    /// Tables or types differ. The list names the differences.
    #[error("the database's schema does not match this version: {}", .0.join("; "))]
    Differs(Vec<String>),
}

const ATTRIBUTES: &str = include_str!("sql/attributes.sql");

#[derive(sqlx::FromRow)]
struct AttributeRow {
    relation: String,
    type_oid: Oid,
    array_oid: Oid,
    attribute: String,
    attribute_oid: Oid,
    sql_type: String,
}

impl Expected {
    /// Adds a record's columns.
    #[must_use]
    pub fn record<R: Record>(mut self) -> Self {
        for column in R::FIELDS.iter().map(|field| field.column).filter(|column| !column.table.is_empty()) {
            self.add("table", column.table, (column.name, column.sql_type.into()));
        }
        self
    }

    /// Adds an input type's attributes.
    #[must_use]
    pub fn composite<T>(mut self, composite: &Composite<T>) -> Self {
        for attribute in &composite.attributes {
            self.add("type", composite.name, (attribute.name, attribute.sql_type.clone()));
        }
        self
    }

    fn add(&mut self, kind: &'static str, name: &'static str, attribute: (&'static str, Cow<'static, str>)) {
        let index = self.0.iter().position(|relation| relation.name == name).unwrap_or_else(|| {
            self.0.push(Relation { kind, name, attributes: Vec::new() });
            self.0.len() - 1
        });
        let attributes = &mut self.0[index].attributes;
        if !attributes.contains(&attribute) {
            attributes.push(attribute);
        }
    }

    /// Reads the types' layouts. Fails if a table or type differs.
    async fn check(&self, pool: &PgPool) -> Result<Layouts, SchemaError> {
        let names: Vec<&str> = self.0.iter().map(|relation| relation.name).collect();
        let rows: Vec<AttributeRow> = sqlx::query_as(ATTRIBUTES).bind(names).fetch_all(pool).await?;
        let (mut layouts, mut differences) = (HashMap::new(), Vec::new());
        for Relation { kind, name, attributes } in &self.0 {
            let found: Vec<&AttributeRow> = rows.iter().filter(|row| row.relation == *name).collect();
            let Some(first) = found.first() else {
                differences.push(format!("the {kind} {name} is missing"));
                continue;
            };
            for (attribute, expected) in attributes {
                let sql_type = found.iter().find(|row| row.attribute == *attribute).map(|row| row.sql_type.as_str());
                if sql_type != Some(expected) {
                    let sql_type = sql_type.unwrap_or("missing");
                    differences.push(format!("{name}.{attribute} is {sql_type}, expected {expected}"));
                }
            }
            let known = |row: &AttributeRow| attributes.iter().position(|(attribute, _)| *attribute == row.attribute);
            let attributes = found.iter().map(|row| (row.attribute_oid, known(row))).collect();
            layouts.insert(*name, Layout { oid: first.type_oid, array_oid: first.array_oid, attributes });
        }
        if differences.is_empty() { Ok(Layouts(layouts)) } else { Err(SchemaError::Differs(differences)) }
    }
}

/// Layouts of a database's input types.
///
/// Read at startup, and again after a type has changed.
#[derive(Debug)]
pub struct Inputs {
    pool: PgPool,
    expected: Expected,
    layouts: RwLock<Arc<Layouts>>,
}

impl Inputs {
    /// Checks the database's tables and input types, and reads the types' layouts.
    pub async fn open(pool: &PgPool, expected: Expected) -> Result<Self, SchemaError> {
        let layouts = expected.check(pool).await?;
        Ok(Self { pool: pool.clone(), expected, layouts: RwLock::new(Arc::new(layouts)) })
    }

    /// Returns the current layouts.
    pub fn layouts(&self) -> Arc<Layouts> {
        Arc::clone(&self.layouts.read())
    }

    /// Rereads the layouts after an error caused by a changed type. Returns whether the write can run again.
    ///
    /// The error says that a value does not match its type (`datatype_mismatch`), or that the type is gone. Nothing was written.
    pub async fn changed(&self, error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        (code.is_some_and(|code| code == "42804") || is_stale(error)) && self.reread().await
    }

    /// Rereads the layouts. Returns whether the database matches the expected schema.
    pub async fn reread(&self) -> bool {
        tracing::info!("the database's input types have changed; rereading their attributes");
        match self.expected.check(&self.pool).await {
            Ok(layouts) => {
                *self.layouts.write() = Arc::new(layouts);
                true
            }
            Err(changed) => {
                tracing::error!("the database's schema changed while the service was running: {changed}");
                false
            }
        }
    }
}

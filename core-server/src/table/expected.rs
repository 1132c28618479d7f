//! What this version of the service expects of the database's tables and input types, and how it differs.

use std::{borrow::Cow, fmt};

use compliance_api::record::Record;
use sqlx::PgPool;

use super::{Composite, Layouts};

/// The tables and input types that the service expects.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    columns: Vec<ExpectedColumn>,
    pub(super) types: Vec<ExpectedType>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ExpectedColumn {
    table: &'static str,
    column: &'static str,
    sql_type: &'static str,
}

/// A composite type: each attribute with its type.
#[derive(Debug)]
pub(super) struct ExpectedType {
    pub(super) name: &'static str,
    pub(super) attributes: Vec<(&'static str, Cow<'static, str>)>,
}

/// The database does not have the tables and input types that this version of the service works with.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The catalogue cannot be read.
    #[error("cannot read the database's catalogue: {0}")]
    Catalogue(#[from] sqlx::Error),
    /// A table or type differs; each difference is named.
    #[error("the database's schema is not the one that this version works with: {}", join(.0))]
    Differs(Vec<Difference>),
}

/// One difference between the schema that is expected and the one that the database has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A column is missing or has another type.
    Column { table: &'static str, column: &'static str, expected: &'static str, found: Option<String> },
    /// A composite type is missing.
    NoType(&'static str),
    /// An attribute of a composite type is missing or has another type.
    Attribute { type_name: &'static str, attribute: &'static str, expected: String, found: Option<String> },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (owner, part, expected, found) = match self {
            Self::NoType(name) => return write!(f, "the type {name} is missing"),
            Self::Column { table, column, expected, found } => (table, column, *expected, found),
            Self::Attribute { type_name, attribute, expected, found } => {
                (type_name, attribute, expected.as_str(), found)
            }
        };
        match found {
            Some(found) => write!(f, "{owner}.{part} is {found}, expected {expected}"),
            None => write!(f, "{owner}.{part} is missing, expected {expected}"),
        }
    }
}

fn join(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

const COLUMNS: &str = "
    select w.table_name, w.column_name, format_type(a.atttypid, a.atttypmod) as column_type
    from unnest($1::text[], $2::text[]) as w (table_name, column_name)
    join pg_attribute a on a.attrelid = to_regclass(w.table_name) and a.attname = w.column_name
        and a.attnum > 0 and not a.attisdropped";

#[derive(sqlx::FromRow)]
struct ColumnRow {
    table_name: String,
    column_name: String,
    column_type: String,
}

impl Expected {
    /// The columns of a record's fields.
    pub(crate) fn record<R: Record>(mut self) -> Self {
        let stored = R::FIELDS.iter().map(|field| field.column).filter(|column| !column.table.is_empty());
        self.columns.extend(stored.map(|column| ExpectedColumn {
            table: column.table,
            column: column.name,
            sql_type: column.sql_type,
        }));
        self
    }

    /// A composite type.
    pub(crate) fn composite<T>(mut self, composite: &Composite<T>) -> Self {
        let attributes = composite.attributes.iter();
        let attributes = attributes.map(|attribute| (attribute.name, attribute.sql_type.clone())).collect();
        self.types.push(ExpectedType { name: composite.name, attributes });
        self
    }

    /// Reads the layouts of the types. Fails if a table or type is not as expected.
    pub(super) async fn check(&self, pool: &PgPool) -> Result<Layouts, SchemaError> {
        let (layouts, mut differences) = Layouts::read(pool, &self.types).await?;
        let mut columns = self.columns.clone();
        columns.sort_unstable();
        columns.dedup();
        let (tables, names): (Vec<&str>, Vec<&str>) =
            columns.iter().map(|column| (column.table, column.column)).unzip();
        let rows: Vec<ColumnRow> = sqlx::query_as(COLUMNS).bind(tables).bind(names).fetch_all(pool).await?;
        for ExpectedColumn { table, column, sql_type } in columns {
            let row = rows.iter().find(|row| row.table_name == table && row.column_name == column);
            let found = row.map(|row| row.column_type.clone());
            if found.as_deref() != Some(sql_type) {
                differences.push(Difference::Column { table, column, expected: sql_type, found });
            }
        }
        if differences.is_empty() { Ok(layouts) } else { Err(SchemaError::Differs(differences)) }
    }
}

//! The attributes of composite types, in the order that the database has them.

use std::collections::HashMap;

use sqlx::{PgPool, postgres::types::Oid};

use super::expected::{Difference, ExpectedType};

/// The attributes of types, in the order in which their values are sent.
const ATTRIBUTES: &str = "
    select w.name as type_name, t.oid as type_oid, t.typarray as array_oid,
        a.attname::text as attribute_name, a.atttypid as attribute_oid,
        format_type(a.atttypid, a.atttypmod) as attribute_type
    from unnest($1::text[]) as w (name)
    join pg_type t on t.oid = to_regtype(w.name)
    join pg_attribute a on a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
    order by w.name, a.attnum";

#[derive(sqlx::FromRow)]
struct AttributeRow {
    type_name: String,
    type_oid: Oid,
    array_oid: Oid,
    attribute_name: String,
    attribute_oid: Oid,
    attribute_type: String,
}

/// The layouts of the composite types that batches are sent as.
#[derive(Debug, Default)]
pub(crate) struct Layouts(HashMap<&'static str, Layout>);

/// The layout of one type.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) oid: Oid,
    pub(super) array_oid: Oid,
    pub(super) attributes: Vec<LaidOut>,
}

/// One attribute of a type, as the database has it.
#[derive(Debug)]
pub(super) struct LaidOut {
    pub(super) type_oid: Oid,
    /// Its index among the attributes that the program knows; `None` if it does not know it.
    pub(super) known: Option<usize>,
}

impl Layouts {
    /// Reads the layouts of types, and finds what differs from what is expected of them.
    pub(super) async fn read(pool: &PgPool, expected: &[ExpectedType]) -> Result<(Self, Vec<Difference>), sqlx::Error> {
        let names: Vec<&str> = expected.iter().map(|expected| expected.name).collect();
        let rows: Vec<AttributeRow> = sqlx::query_as(ATTRIBUTES).bind(names).fetch_all(pool).await?;
        let (mut layouts, mut differences) = (HashMap::new(), Vec::new());
        for expected in expected {
            let rows = || rows.iter().filter(|row| row.type_name == expected.name);
            let Some(first) = rows().next() else {
                differences.push(Difference::NoType(expected.name));
                continue;
            };
            for (name, wanted) in &expected.attributes {
                let found = rows().find(|row| row.attribute_name == *name).map(|row| row.attribute_type.clone());
                if found.as_deref() != Some(wanted) {
                    differences.push(Difference::Attribute {
                        type_name: expected.name,
                        attribute: name,
                        expected: wanted.clone().into_owned(),
                        found,
                    });
                }
            }
            let known =
                |row: &AttributeRow| expected.attributes.iter().position(|(name, _)| *name == row.attribute_name);
            let attributes = rows().map(|row| LaidOut { type_oid: row.attribute_oid, known: known(row) }).collect();
            layouts.insert(expected.name, Layout { oid: first.type_oid, array_oid: first.array_oid, attributes });
        }
        Ok((Self(layouts), differences))
    }

    /// The layout of a type.
    pub(super) fn of(&self, name: &str) -> Option<&Layout> {
        self.0.get(name)
    }
}

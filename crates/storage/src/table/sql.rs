//! SQL that names the columns of records.

use compliance_api::record::{Record, StoredAs};

use crate::vocabulary::own_name;

/// The names of a record's columns, separated by commas.
pub fn names<R: Record>() -> String {
    list(R::FIELDS.iter().map(|field| field.column.name.to_owned()))
}

/// The same columns of a relation, in the same order.
pub fn values<R: Record>(relation: &str) -> String {
    list(R::FIELDS.iter().map(|field| format!("{relation}.{}", field.column.name)))
}

/// `the new value if its bit is in the mask, else the old one, as column`, for every column. An old date that no text shows is null.
pub fn merged<R: Record>(mask: &str, new: &str, old: &str) -> String {
    list(R::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        let kept = format!("{old}.{column}");
        let kept = if field.column.form == StoredAs::Date { format!("shown({kept})") } else { kept };
        format!("case when {mask} & {bit} <> 0 then {new}.{column} else {kept} end as {column}")
    }))
}

/// Whether a new value whose bit is in the mask differs from the old one.
pub fn differs<R: Record>(mask: &str, new: &str, old: &str) -> String {
    let differs = R::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("{mask} & {bit} <> 0 and {new}.{column} is distinct from {old}.{column}")
    });
    format!("({})", differs.collect::<Vec<_>>().join(" or "))
}

/// `column = excluded.column`, for every column: what an insert does where the record exists.
pub fn replacements<R: Record>() -> String {
    list(R::FIELDS.iter().map(|field| format!("{0} = excluded.{0}", field.column.name)))
}

/// What is selected to read a record of a company, which is given as SQL, with a [`Reader`](super::Reader): every field
/// under its own name. `aliases` are those of the tables, `computed` the expressions of fields that no column holds.
pub fn selection<R: Record>(company: &str, aliases: &[(&str, &str)], computed: &[(&str, &str)]) -> String {
    list(R::FIELDS.iter().map(|field| {
        let (name, column) = (field.name, field.column);
        if let Some((_, expression)) = computed.iter().find(|(computed, _)| *computed == name) {
            return format!("{expression} as {name}");
        }
        let alias = aliases.iter().find(|(table, _)| *table == column.table).map_or(column.table, |(_, alias)| *alias);
        let value = format!("{alias}.{}", column.name);
        match column.form {
            StoredAs::Date => format!("{value}::text as {name}"),
            StoredAs::Name(vocabulary) => {
                format!("{value} as {name}, {} as {}", own_name(vocabulary, company, &value), own_name_column(name))
            }
            _ => format!("{value} as {name}"),
        }
    }))
}

/// The column with a company's own name of the ID that the column `name` has.
pub(super) fn own_name_column(name: &str) -> String {
    format!("own_{name}")
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

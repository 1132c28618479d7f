//! SQL fragments that name record columns.

use compliance_api::record::{Record, StoredAs};

use crate::vocabulary::own_name;

/// Returns a record's column names, separated by commas.
pub fn names<R: Record>() -> String {
    list(R::FIELDS.iter().map(|field| field.column.name.to_owned()))
}

/// Returns the same columns, qualified with a relation, in the same order.
pub fn values<R: Record>(relation: &str) -> String {
    list(R::FIELDS.iter().map(|field| format!("{relation}.{}", field.column.name)))
}

/// Returns SQL that selects each column's new or old value.
///
/// Selects the new value if the column's bit is set in the mask. An old date outside the years 1 to 9999 becomes null.
pub fn merged<R: Record>(mask: &str, new: &str, old: &str) -> String {
    list(R::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        let old_value = format!("{old}.{column}");
        let old_value = if field.column.form == StoredAs::Date { format!("shown({old_value})") } else { old_value };
        format!("case when {mask} & {bit} <> 0 then {new}.{column} else {old_value} end as {column}")
    }))
}

/// Returns the condition that any field in the mask changes.
///
/// A field is in the mask if its bit is set. A field changes if its new value differs from the old value.
pub fn differs<R: Record>(mask: &str, new: &str, old: &str) -> String {
    let differs = R::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("{mask} & {bit} <> 0 and {new}.{column} is distinct from {old}.{column}")
    });
    format!("({})", differs.collect::<Vec<_>>().join(" or "))
}

/// Returns `column = excluded.column` for each column, for upserts.
pub fn replacements<R: Record>() -> String {
    list(R::FIELDS.iter().map(|field| format!("{0} = excluded.{0}", field.column.name)))
}

/// Returns the select list for a [`Reader`](super::Reader), with each field under its own name.
///
/// `company` is SQL, `aliases` are table aliases, and `computed` are expressions for fields without a column.
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

/// Returns the column with the company's custom name for the ID in the `name` column.
pub(super) fn own_name_column(name: &str) -> String {
    format!("own_{name}")
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

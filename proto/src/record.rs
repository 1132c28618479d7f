//! Records: messages whose fields are columns of a table. `proto/` describes each field once (`storage.proto`); what
//! selects, encodes, decodes, masks and imports records reads that description, by name.

mod field_set;
mod written;

pub use field_set::FieldSet;

use prost_types::Timestamp;

use crate::catalogue::Vocabulary;

/// A message whose fields are columns of a table. Generated for every message with the option `table`.
pub trait Record: Clone + Default + Send + Sync + 'static {
    /// The table that holds the record.
    const TABLE: &'static str;

    /// The fields. Their order has no meaning.
    const FIELDS: &'static [Field<Self>];

    /// The field of a name; `None` if the record has none.
    fn field(name: &str) -> Option<&'static Field<Self>> {
        Self::FIELDS.iter().find(|field| field.name == name)
    }

    /// The names of all fields, in the order of declaration.
    fn names() -> Vec<&'static str> {
        Self::FIELDS.iter().map(|field| field.name).collect()
    }
}

/// One field of a record.
pub struct Field<R: 'static> {
    /// Name in the message, in JSON and in update masks.
    pub name: &'static str,
    /// Number in the message.
    pub number: u32,
    /// Where the value is stored.
    pub column: Column,
    /// How the value is read from and written to the message.
    pub access: Access<R>,
}

/// Where and how the value of a field is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The table; empty if the statement that reads the record computes the value.
    pub table: &'static str,
    /// The column.
    pub name: &'static str,
    /// The column's type, as PostgreSQL's `format_type` writes it.
    pub sql_type: &'static str,
    /// How the value of the message becomes that of the column.
    pub form: StoredAs,
}

/// How the value of a message's field becomes that of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredAs {
    /// They are the same.
    Plain,
    /// A calendar day as text, stored as date.
    Date,
    /// An ISO 3166-1 alpha-2 code, stored as the numeric code.
    CountryCode,
    /// An ISO 3166-1 numeric code.
    CountryNumber,
    /// An ISO 3166-1 short name, stored as the numeric code.
    CountryName,
    /// A name of a vocabulary, stored as its ID.
    Name(Vocabulary),
}

/// Access to the value of a field, by kind. An absent value is `None`; a field that cannot be absent takes its default.
#[expect(missing_docs, reason = "each kind has a function to read and one to write")]
pub enum Access<R> {
    /// A text.
    Text { get: fn(&R) -> Option<&str>, set: fn(&mut R, Option<String>) },
    /// A whole number. One that the field cannot hold is absent.
    Integer { get: fn(&R) -> Option<i64>, set: fn(&mut R, Option<i64>) },
    /// A flag.
    Boolean { get: fn(&R) -> Option<bool>, set: fn(&mut R, Option<bool>) },
    /// An instant.
    Timestamp { get: fn(&R) -> Option<Timestamp>, set: fn(&mut R, Option<Timestamp>) },
    /// A list of texts.
    Texts { get: fn(&R) -> &[String], set: fn(&mut R, Vec<String>) },
}

impl<R> Field<R> {
    /// The value of a text field; `None` if it is absent or the field is not a text.
    pub fn text<'r>(&self, record: &'r R) -> Option<&'r str> {
        match self.access {
            Access::Text { get, .. } => get(record),
            _ => None,
        }
    }

    /// The bit of the field in a [`FieldSet`].
    pub const fn bit(&self) -> i64 {
        1 << self.number
    }
}

// Derived, they would ask the same of the message.
impl<R> PartialEq for Field<R> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<R> Eq for Field<R> {}

impl<R> std::fmt::Debug for Field<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Field").field("name", &self.name).field("column", &self.column).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, Value, prost::Message as _};

    use crate::{FILE_DESCRIPTOR_SET, record_generator::generate};

    /// The declarations with the fields of every message in the opposite order.
    fn reversed() -> DescriptorPool {
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap();
        let set = pool.get_message_by_name("google.protobuf.FileDescriptorSet").unwrap();
        let mut set = DynamicMessage::decode(set, FILE_DESCRIPTOR_SET).unwrap();
        for_each(&mut set, "file", |file| {
            for_each(file, "message_type", |message| {
                if let Some(Value::List(fields)) = message.get_field_by_name_mut("field") {
                    fields.reverse();
                }
            });
        });
        assert_eq!(set.descriptor().name(), "FileDescriptorSet");
        DescriptorPool::decode(set.encode_to_vec().as_slice()).unwrap()
    }

    /// The field that stands first in the declaration of an affiliate's fields.
    fn first_declared(pool: &DescriptorPool) -> String {
        let message = pool.get_message_by_name("compliance.v1.AffiliateInput").unwrap();
        message.descriptor_proto().field[0].name().to_owned()
    }

    fn for_each(message: &mut DynamicMessage, name: &str, change: impl Fn(&mut DynamicMessage)) {
        if let Some(Value::List(values)) = message.get_field_by_name_mut(name) {
            values.iter_mut().filter_map(Value::as_message_mut).for_each(change);
        }
    }

    #[test]
    fn the_order_of_fields_in_a_message_has_no_meaning() {
        let lines = |code: String| {
            let mut lines: Vec<_> = code.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let (declared, reversed) = (DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap(), reversed());
        assert_ne!(first_declared(&declared), first_declared(&reversed));
        let (declared, reversed) = (generate(&declared).unwrap(), generate(&reversed).unwrap());
        assert_eq!(lines(declared), lines(reversed));
    }
}

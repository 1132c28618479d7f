//! What messages consist of, as data: their fields with the comments, types and rules that stand in `proto/`. Requests are
//! checked and measured by it, and documents about the interface are made from it, so they say what the service does.

use crate::v1::{Format, ItemCodes};

/// A message.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// Its name.
    pub name: &'static str,
    /// Its comment.
    pub doc: &'static str,
    /// Size of the Rust type, in bytes.
    pub size: usize,
    /// Its fields, in the order of declaration.
    pub fields: &'static [Field],
}

/// A field of a message, and its rules: `compliance.v1.Rules`, as constants.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "these are the rules of rules.proto")]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its number.
    pub number: u32,
    /// Its comment.
    pub doc: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it is a list of that.
    pub is_list: bool,
    /// Whether it may be absent: null in JSON.
    pub may_be_absent: bool,
    /// The function of [`crate::json`] that writes it, by name; empty if it is written as it is, and `omitted` if it is not
    /// written.
    pub form: &'static str,
    pub required: bool,
    pub max_chars: Option<usize>,
    pub exact_chars: Option<usize>,
    pub format: Format,
    pub one_of: &'static [&'static str],
    pub at_least: Option<i64>,
    pub at_most: Option<i64>,
    pub entry: bool,
    pub item_codes: Option<ItemCodes>,
    pub max_items: Option<usize>,
    pub min_chars: Option<usize>,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number of so many bits.
    Integer(u32),
    /// A flag.
    Flag,
    /// A value of an enum: each with its number and its name in queries. The value for "unspecified" is left out.
    Choice(&'static [(i32, &'static str)]),
    /// A message.
    Message(&'static Message),
}

impl Message {
    /// The message of a name; `None` if no request holds it and no partner receives it.
    pub fn of(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|message| message.name == name)
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The names of all fields, in the order of declaration.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.fields.iter().map(|field| field.name)
    }
}

#[allow(unused_qualifications, clippy::pedantic, reason = "generated")]
mod generated {
    use super::{Field, Kind, Message};
    use crate::v1::{Format, ItemCodes};

    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}
pub(crate) use generated::*;
pub use generated::{reason, result_code};

#[cfg(test)]
mod tests {
    use super::{Kind, Message, generated::ALL, reason, result_code};
    use crate::v1::{Reason, ResultCode};

    #[test]
    fn everything_has_a_comment() {
        for message in ALL.iter().filter(|message| !["FieldMask", "Timestamp"].contains(&message.name)) {
            assert!(!message.doc.is_empty(), "{}", message.name);
            for field in message.fields {
                assert!(!field.doc.is_empty(), "{}.{}", message.name, field.name);
            }
        }
        for number in 1..=Reason::RequestIdReused as i32 {
            assert!(!reason(Reason::try_from(number).unwrap()).is_empty(), "{number}");
        }
        assert_eq!(result_code(ResultCode::Found), "Record(s) found.");
    }

    #[test]
    fn fields_have_the_types_and_rules_of_their_declaration() {
        let input = Message::of("AffiliateInput").unwrap();
        let country = input.field("country").unwrap();
        assert_eq!((country.kind, country.exact_chars, country.may_be_absent), (Kind::Text, Some(2), true));
        assert_eq!(country.doc, "ISO 3166-1 alpha-2 code, in either case.");
        let url = Message::of("ComplianceUrl").unwrap();
        assert_eq!(
            url.field("infractions").map(|it| (it.kind, it.is_list)),
            Some((Kind::Message(Message::of("Infraction").unwrap()), true))
        );
        assert_eq!(url.field("false_positive").map(|it| it.form), Some("yes_no"));
    }
}

//! Describes messages as data: fields with their comments, types and rules from `proto/`.
//!
//! The service checks and measures requests with these descriptions. The documentation is generated from them, so both always match.

use crate::v1::{Format, ItemCodes};

/// A message.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// The name.
    pub name: &'static str,
    /// The comment.
    pub doc: &'static str,
    /// Size of the Rust type, in bytes.
    pub size: usize,
    /// The fields, in declaration order.
    pub fields: &'static [Field],
}

/// A field of a message, and its rules: `compliance.v1.Rules`, as constants.
#[derive(Debug, PartialEq)]
#[expect(missing_docs, clippy::struct_excessive_bools, reason = "these are the rules of rules.proto")]
pub struct Field {
    /// The name.
    pub name: &'static str,
    /// The number.
    pub number: u32,
    /// The comment.
    pub doc: &'static str,
    /// The type of the value, or of each list element.
    pub kind: Kind,
    /// Whether the field is a list.
    pub is_list: bool,
    /// Whether the field can be absent: null in JSON.
    pub may_be_absent: bool,
    /// Name of the [`crate::json`] function that serializes the field. Empty for serde's default, `omitted` if JSON omits the field.
    pub form: &'static str,
    /// Alternative headings in files. The first is the field's label.
    pub headings: &'static [&'static str],
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

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A string.
    Text,
    /// An integer with this number of bits.
    Integer(u32),
    /// A flag.
    Flag,
    /// An enum: the number and query name of each value except "unspecified".
    Choice(&'static [(i32, &'static str)]),
    /// A message.
    Message(&'static Message),
}

impl Message {
    /// Returns the description of a message, by name.
    ///
    /// Only messages in requests and partner responses have descriptions.
    pub fn of(name: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|message| message.name == name)
    }

    /// Returns a field by name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns all field names, in declaration order.
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
    fn messages_fields_and_reasons_are_documented() {
        for message in ALL.iter().filter(|message| !["FieldMask", "Timestamp"].contains(&message.name)) {
            assert!(!message.doc.is_empty(), "{}", message.name);
            for field in message.fields {
                assert!(!field.doc.is_empty(), "{}.{}", message.name, field.name);
            }
        }
        for number in 1..=Reason::RequestIdReused as i32 {
            assert!(!reason(Reason::try_from(number).unwrap()).is_empty(), "{number}");
        }
        assert_eq!(result_code(ResultCode::Found), "The record or records were found.");
    }

    #[test]
    fn descriptions_match_proto_types_and_rules() {
        let input = Message::of("AffiliateInput").unwrap();
        let country = input.field("country").unwrap();
        assert_eq!((country.kind, country.exact_chars, country.may_be_absent), (Kind::Text, Some(2), true));
        assert_eq!(country.doc, "The affiliate's country, as an ISO 3166-1 alpha-2 code such as `US` or `us`.");
        let url = Message::of("ComplianceUrl").unwrap();
        assert_eq!(
            url.field("infractions").map(|it| (it.kind, it.is_list)),
            Some((Kind::Message(Message::of("Infraction").unwrap()), true))
        );
        assert_eq!(url.field("false_positive").map(|it| it.form), Some("yes_no"));
    }
}

//! What partners send and receive, as data: the messages of the partners' operations with the comments, types and rules
//! that stand in `proto/`. Documents about the interface are made from it, so they say what the service does.

use crate::{
    rules::FieldRules,
    v1::{Reason, ResultCode},
};

/// A message.
#[derive(Debug)]
pub struct Message {
    /// Its name.
    pub name: &'static str,
    /// Its comment.
    pub doc: &'static str,
    /// Its fields, in the order of declaration.
    pub fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub struct Field {
    /// Its comment.
    pub doc: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether it is a list of that.
    pub is_list: bool,
    /// Whether it may be absent: null in JSON.
    pub may_be_absent: bool,
    /// The function of [`crate::json`] that writes it, by name; empty if it is written as it is.
    pub form: &'static str,
    /// Its name, its number and its rules.
    pub rules: FieldRules,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A whole number.
    Integer,
    /// A flag.
    Flag,
    /// An instant.
    Timestamp,
    /// A value of the enum of this name.
    Choice(&'static str),
    /// A message of this name.
    Message(&'static str),
}

impl Message {
    /// The message of a name; `None` if no operation of partners has it.
    pub fn of(name: &str) -> Option<&'static Self> {
        MESSAGES.iter().find(|message| message.name == name)
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.rules.name == name)
    }
}

/// The comment of an operation, `Service/Method`; empty if there is no such operation.
pub fn operation(name: &str) -> &'static str {
    OPERATIONS.iter().find(|(operation, _)| *operation == name).map_or("", |(_, doc)| doc)
}

/// What a reason means.
pub const fn reason(reason: Reason) -> &'static str {
    reason_doc(reason as i32)
}

/// What a result code means.
pub const fn result_code(code: ResultCode) -> &'static str {
    result_code_doc(code as i32)
}

#[allow(unused_qualifications, clippy::pedantic, reason = "generated")]
mod generated {
    use super::{Field, Kind, Message};
    use crate::v1::{Format, ItemCodes};

    include!(concat!(env!("OUT_DIR"), "/descriptions.rs"));
}
use generated::{MESSAGES, OPERATIONS, reason_doc, result_code_doc};

#[cfg(test)]
mod tests {
    use super::{Kind, MESSAGES, Message, OPERATIONS, operation, reason, result_code};
    use crate::v1::{Reason, ResultCode};

    #[test]
    fn everything_has_a_comment() {
        for message in MESSAGES {
            assert!(!message.doc.is_empty(), "{}", message.name);
            for field in message.fields {
                assert!(!field.doc.is_empty(), "{}.{}", message.name, field.rules.name);
            }
        }
        assert!(OPERATIONS.iter().all(|(_, doc)| !doc.is_empty()) && OPERATIONS.len() > 10);
        for number in 1..=Reason::CompressionUnsupported as i32 {
            assert!(!reason(Reason::try_from(number).unwrap()).is_empty(), "{number}");
        }
        assert_eq!(result_code(ResultCode::Found), "Record(s) found.");
        assert_eq!(operation("ComplianceUrlService/ListComplianceUrls"), "One page of the company's URLs.");
    }

    #[test]
    fn fields_have_the_types_and_rules_of_their_declaration() {
        let input = Message::of("AffiliateInput").unwrap();
        let country = input.field("country").unwrap();
        assert_eq!((country.kind, country.rules.exact_chars, country.may_be_absent), (Kind::Text, Some(2), true));
        assert_eq!(country.doc, "ISO 3166-1 alpha-2 code, in either case.");
        let url = Message::of("ComplianceUrl").unwrap();
        assert_eq!(url.field("infractions").map(|it| (it.kind, it.is_list)), Some((Kind::Message("Infraction"), true)));
        assert_eq!(url.field("false_positive").map(|it| it.form), Some("yes_no_or_null"));
    }
}

//! The rules that a value can violate, and the text of each violation.

use crate::v1::{Format, ItemCodes};

/// The rule that a value violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The field must be present.
    Required,
    /// The element of a list must hold the field of this name.
    Entry(&'static str),
    /// A text must not hold U+0000, which the database cannot store.
    NoNul,
    /// A text has exactly so many characters.
    ExactChars(usize),
    /// A text has at most so many characters.
    MaxChars(usize),
    /// A list has at most so many elements.
    MaxItems(usize),
    /// The value is one of a set.
    OneOf,
    /// A text has a written form.
    Format(Format),
    /// A number lies between these, both included.
    Between(i64, i64),
    /// A number is at least this.
    AtLeast(i64),
    /// A number is at most this.
    AtMost(i64),
    /// A timestamp lies in the years 1 to 9999.
    Timestamp,
    /// A mask names fields of the message; this is not one.
    NamesFields(String),
    /// A rule of one operation, which has a text of its own.
    Other,
}

impl Rule {
    /// What partners read of a violation of the rule by the field `label`.
    pub(super) fn message(&self, label: &str) -> String {
        match self {
            Self::Required => format!("The {label} field is required."),
            Self::Entry(name) => format!("The {label} field must contain entries for: {name}."),
            Self::NoNul => format!("The {label} field must not contain the character U+0000."),
            Self::ExactChars(exact) => format!("The {label} field must be {exact} characters."),
            Self::MaxChars(most) => format!("The {label} field must not be greater than {most} characters."),
            Self::MaxItems(most) => format!("The {label} field must not have more than {most} items."),
            Self::OneOf | Self::Format(Format::Country) => format!("The selected {label} is invalid."),
            Self::Format(Format::Unspecified) | Self::Other => format!("The {label} field is invalid."),
            Self::Format(Format::Email) => format!("The {label} field must be a valid email address."),
            Self::Format(Format::Url) => format!("The {label} field must be a valid URL."),
            Self::Format(Format::Date) => format!("The {label} field must match the format YYYY-MM-DD."),
            Self::Format(Format::StartDate) => {
                format!("The {label} field must match the format YYYY-MM-DD or MM/DD/YYYY.")
            }
            Self::Between(least, most) => format!("The {label} field must be between {least} and {most}."),
            Self::AtLeast(least) => format!("The {label} field must be at least {least}."),
            Self::AtMost(most) => format!("The {label} field must not be greater than {most}."),
            Self::Timestamp => format!("The {label} field must be a valid date."),
            Self::NamesFields(other) => format!("The {label} field names no field: {other}."),
        }
    }
}

/// Why an item of a list fails alone: the violation of a rule that has result codes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemFailure {
    /// The field that violates its rule.
    pub field: &'static str,
    /// The result codes of the rule.
    pub codes: ItemCodes,
    /// What partners read.
    pub message: String,
}

impl ItemFailure {
    pub(super) fn of(field: &'static str, codes: ItemCodes, format: Format, text: &str) -> Self {
        let message = match format {
            Format::Country => format!("{text} is no ISO 3166-1 alpha-2 country code."),
            other => Rule::Format(other).message(&label(field)),
        };
        Self { field, codes, message }
    }
}

/// The name of a path in a sentence: as it is if it is nested, with spaces for underscores if it is not.
pub fn label(path: &str) -> String {
    if path.contains('.') { path.to_owned() } else { path.replace('_', " ") }
}

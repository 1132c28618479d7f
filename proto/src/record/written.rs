//! The written form of a field's value, as files have it: a text whatever the kind of the field.

use std::borrow::Cow;

use super::{Access, Field};
use crate::json::{datetime_text, records::timestamp_of_text};

impl<R> Field<R> {
    /// Whether the record has a value; an empty text is one, an empty list is not.
    pub fn is_given(&self, record: &R) -> bool {
        match self.access {
            Access::Text { get, .. } => get(record).is_some(),
            Access::Integer { get, .. } => get(record).is_some(),
            Access::Boolean { get, .. } => get(record).is_some(),
            Access::Timestamp { get, .. } => get(record).is_some(),
            Access::Texts { get, .. } => !get(record).is_empty(),
        }
    }

    /// Whether the record has no value, or an empty text.
    pub fn is_empty(&self, record: &R) -> bool {
        !self.is_given(record) || self.text(record) == Some("")
    }

    /// The value as a text: numbers in decimal, flags as `yes` or `no`, timestamps as `YYYY-MM-DD HH:MM:SS`, lists as
    /// JSON. `None` if it is absent.
    pub fn written<'r>(&self, record: &'r R) -> Option<Cow<'r, str>> {
        match self.access {
            Access::Text { get, .. } => get(record).map(Cow::Borrowed),
            Access::Integer { get, .. } => get(record).map(|number| Cow::Owned(number.to_string())),
            Access::Boolean { get, .. } => get(record).map(|flag| Cow::Borrowed(if flag { "yes" } else { "no" })),
            Access::Timestamp { get, .. } => get(record).and_then(|instant| datetime_text(&instant)).map(Cow::Owned),
            Access::Texts { get, .. } => {
                let texts = Some(get(record)).filter(|texts| !texts.is_empty())?;
                serde_json::to_string(texts).ok().map(Cow::Owned)
            }
        }
    }

    /// Sets the value from its written form (see [`written`](Self::written); `true` and `false` are flags as well), or
    /// clears it. Reports whether the text is of that form; if it is not, nothing changes.
    #[must_use]
    pub fn set_written(&self, record: &mut R, text: Option<String>) -> bool {
        match self.access {
            Access::Text { set, .. } => set(record, text),
            Access::Integer { set, .. } => match text.map(|text| text.parse()).transpose() {
                Ok(number) => set(record, number),
                Err(_) => return false,
            },
            Access::Boolean { set, .. } => match text.as_deref() {
                None => set(record, None),
                Some("yes" | "true") => set(record, Some(true)),
                Some("no" | "false") => set(record, Some(false)),
                Some(_) => return false,
            },
            Access::Timestamp { set, .. } => match text.map(|text| timestamp_of_text(&text).ok_or(())).transpose() {
                Ok(instant) => set(record, instant),
                Err(()) => return false,
            },
            Access::Texts { set, .. } => match text.map(|text| serde_json::from_str(&text)).transpose() {
                Ok(texts) => set(record, texts.unwrap_or_default()),
                Err(_) => return false,
            },
        }
        true
    }

    /// Removes the value.
    pub fn clear(&self, record: &mut R) {
        // Every field can be without a value.
        let _ = self.set_written(record, None);
    }

    /// The violation of a value that is not of the field's kind: what it must be.
    pub const fn expected(&self) -> &'static str {
        match self.access {
            Access::Text { .. } => "a string",
            Access::Integer { .. } => "an integer",
            Access::Boolean { .. } => "yes or no",
            Access::Timestamp { .. } => "a time, YYYY-MM-DD HH:MM:SS",
            Access::Texts { .. } => "an array of strings",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        record::{Access, Record},
        v1::{AffiliateInput, ComplianceCase, ComplianceUrl},
    };

    /// A text that the field of a kind can hold.
    fn sample<R: Record>(access: &Access<R>) -> &'static str {
        match access {
            Access::Text { .. } => "text",
            Access::Integer { .. } => "7",
            Access::Boolean { .. } => "yes",
            Access::Timestamp { .. } => "2026-01-31 12:00:00",
            Access::Texts { .. } => r#"["a","b"]"#,
        }
    }

    fn every_field_is_read_as_it_is_written<R: Record>() {
        for field in R::FIELDS {
            let text = sample(&field.access);
            let mut record = R::default();
            assert!(field.set_written(&mut record, Some(text.to_owned())), "{field:?}");
            assert_eq!(field.written(&record).as_deref(), Some(text), "{field:?}");
            for other in R::FIELDS.iter().filter(|other| other.name != field.name) {
                assert_eq!(other.written(&record), other.written(&R::default()), "{field:?} sets {other:?}");
            }
        }
    }

    #[test]
    fn every_field_has_its_own_value() {
        every_field_is_read_as_it_is_written::<AffiliateInput>();
        every_field_is_read_as_it_is_written::<ComplianceUrl>();
        every_field_is_read_as_it_is_written::<ComplianceCase>();
    }

    #[test]
    fn a_text_of_another_form_changes_nothing() {
        let disabled = ComplianceUrl::field("disabled").unwrap();
        let mut url = ComplianceUrl { disabled: true, ..ComplianceUrl::default() };
        assert!(!disabled.set_written(&mut url, Some("perhaps".to_owned())));
        assert!(url.disabled);
    }
}

//! The rules of the fields in `proto/`, and the checks of requests against them, with the partners' texts.
//!
//! The checks are generated ([`Check`] for every request) and call the [`Checker`].

mod formats;
mod rule;
mod violations;

pub use formats::{normalised_url, start_date};
pub use rule::{ItemFailure, Rule, label};
pub use violations::{MAX_VIOLATIONS, Violation, Violations};

use std::fmt::{self, Write as _};

use prost_types::{FieldMask, Timestamp};

use crate::v1::{Format, ItemCodes};

/// A message that knows what it must hold.
pub trait Check {
    /// Names of the fields, in the order of declaration.
    const NAMES: &'static [&'static str];

    /// Passes every field to the checker.
    fn check(&self, checker: &mut Checker);
}

/// Every violation of a request, in the order of its items and fields. Empty for a valid one.
pub fn check(request: &impl Check) -> Violations {
    let mut checker = Checker::default();
    request.check(&mut checker);
    checker.violations
}

/// Every violation of an element of a request's list: of the one at `index` in the list `name`.
pub fn check_element(name: &str, index: usize, element: &impl Check) -> Violations {
    let mut checker = Checker { item: index as u32 + 1, ..Checker::default() };
    checker.within(format_args!("{name}.{index}"), |checker| element.check(checker));
    checker.violations
}

/// Why an item of a list fails alone: the first violation of a rule that has result codes of its own. `None` if there
/// is none. Other violations refuse the request; [`check`] finds them.
pub fn item_failure(item: &impl Check) -> Option<ItemFailure> {
    let mut checker = Checker { item_alone: true, ..Checker::default() };
    item.check(&mut checker);
    checker.item_failure
}

/// A field and its rules: `compliance.v1.Rules`, as constants.
#[derive(Debug)]
#[expect(missing_docs, reason = "described in rules.proto")]
pub struct FieldRules {
    pub name: &'static str,
    pub number: u32,
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
}

/// Collects the violations of a request.
#[derive(Debug, Default)]
pub struct Checker {
    violations: Violations,
    /// Path of the message that is being checked, with its closing dot; empty at the top.
    prefix: String,
    /// The element of a list that is being checked, from 1; 0 outside lists.
    item: u32,
    /// If set, the only fields that are checked.
    mask: Option<Vec<String>>,
    /// A required field that is absent is not sent, so it is not missing. One that is sent must be valid.
    changes_only: bool,
    /// Only rules with result codes of their own are checked.
    item_alone: bool,
    item_failure: Option<ItemFailure>,
}

impl Checker {
    /// A text. Absent and empty are the same unless the field is an element's entry.
    pub fn text(&mut self, field: &FieldRules, value: Option<&str>) {
        if self.is_skipped(field) {
            return;
        }
        let Some(text) = value.filter(|text| !text.is_empty() || field.entry) else {
            if field.entry {
                self.violated(&FieldRules { name: "", ..*field }, Rule::Entry(field.name));
            } else if value.is_some() && field.required {
                self.violated(field, Rule::Required);
            } else {
                self.absent(field);
            }
            return;
        };
        if self.item_alone {
            if let Some(codes) = field.item_codes.filter(|_| !formats::matches(field.format, text)) {
                self.item_failure.get_or_insert_with(|| ItemFailure::of(field.name, codes, field.format, text));
            }
            return;
        }
        if field.required && text.trim().is_empty() {
            return self.violated(field, Rule::Required);
        }
        if text.contains('\0') {
            return self.violated(field, Rule::NoNul);
        }
        let chars = text.chars().count();
        if let Some(exact) = field.exact_chars.filter(|exact| chars != *exact) {
            return self.violated(field, Rule::ExactChars(exact));
        }
        if let Some(most) = field.max_chars.filter(|most| chars > *most) {
            self.violated(field, Rule::MaxChars(most));
        }
        if !field.one_of.is_empty() && !field.one_of.contains(&text) {
            self.violated(field, Rule::OneOf);
        }
        // Within a list it is the result of its item.
        let fails_item = self.item > 0 && field.item_codes.is_some();
        if !fails_item && !formats::matches(field.format, text) {
            self.violated(field, Rule::Format(field.format));
        }
    }

    /// A list, by its number of elements.
    pub fn items(&mut self, field: &FieldRules, items: usize) {
        if let Some(most) = field.max_items.filter(|most| items > *most && !self.is_skipped(field)) {
            self.violated(field, Rule::MaxItems(most));
        }
    }

    /// A list of texts: each is checked against the rules of the field.
    pub fn texts(&mut self, field: &FieldRules, values: &[String]) {
        if self.is_skipped(field) {
            return;
        }
        self.items(field, values.len());
        // An element has no name that a mask could hold.
        let mask = self.mask.take();
        for (index, value) in values.iter().enumerate() {
            let element = FieldRules { name: "", ..*field };
            self.within(format_args!("{}.{index}", field.name), |checker| checker.text(&element, Some(value)));
        }
        self.mask = mask;
    }

    /// A whole number.
    pub fn number(&mut self, field: &FieldRules, value: Option<i64>) {
        if self.is_skipped(field) {
            return;
        }
        let Some(value) = value else { return self.absent(field) };
        match (field.at_least, field.at_most) {
            (Some(least), Some(most)) if !(least..=most).contains(&value) => {
                self.violated(field, Rule::Between(least, most));
            }
            (Some(least), None) if value < least => {
                self.violated(field, Rule::AtLeast(least));
            }
            (None, Some(most)) if value > most => {
                self.violated(field, Rule::AtMost(most));
            }
            _ => {}
        }
    }

    /// A value of an enum, or a required flag.
    pub fn choice(&mut self, field: &FieldRules, present: bool, known: bool) {
        if self.is_skipped(field) {
            return;
        }
        if !present && field.required {
            self.absent(field);
        } else if !known {
            self.violated(field, Rule::OneOf);
        }
    }

    /// A timestamp.
    pub fn time(&mut self, field: &FieldRules, value: Option<&Timestamp>) {
        if self.is_skipped(field) {
            return;
        }
        match value {
            None => self.absent(field),
            Some(value) if !formats::is_timestamp(value) => self.violated(field, Rule::Timestamp),
            _ => {}
        }
    }

    /// A list of messages: each is checked at its own path, `<name>.<index>`.
    pub fn list<M: Check>(&mut self, field: &FieldRules, values: &[M]) {
        if values.is_empty() && field.required && !self.is_skipped(field) {
            return self.absent(field);
        }
        self.items(field, values.len());
        let outer = self.item;
        for (index, value) in values.iter().enumerate() {
            if outer == 0 {
                self.item = index as u32 + 1;
            }
            self.within(format_args!("{}.{index}", field.name), |checker| value.check(checker));
        }
        self.item = outer;
    }

    /// A message with a path of its own.
    pub fn nested<M: Check>(&mut self, field: &FieldRules, value: Option<&M>) {
        match value {
            Some(value) => self.within(format_args!("{}", field.name), |checker| value.check(checker)),
            None => self.absent(field),
        }
    }

    /// A message whose fields have the path of the message that holds it.
    pub fn flat<M: Check + Default>(&mut self, required: bool, value: Option<&M>) {
        match value {
            Some(value) => value.check(self),
            None if required => M::default().check(self),
            None => {}
        }
    }

    /// Changes under a mask: only the fields that it names count. Without a mask all fields that are set do.
    pub fn masked<M: Check + Default>(&mut self, mask: Option<&FieldMask>, value: Option<&M>) {
        let outer = self.mask.take();
        let paths = mask.map(|mask| mask.paths.clone()).unwrap_or_default();
        for path in &paths {
            if !M::NAMES.contains(&path.as_str()) {
                let at = format!("{}update_mask", self.prefix);
                self.violations.violated(at, Rule::NamesFields(path.clone()), self.item, u32::MAX);
            }
        }
        self.mask = Some(paths);
        if mask.is_some() {
            self.flat(true, value);
        } else if let Some(value) = value {
            self.mask = None;
            let outer = std::mem::replace(&mut self.changes_only, true);
            value.check(self);
            self.changes_only = outer;
        }
        self.mask = outer;
    }

    /// Checks something that has the path `name` within the message that is being checked.
    fn within(&mut self, name: fmt::Arguments<'_>, check: impl FnOnce(&mut Self)) {
        let outer = self.prefix.len();
        // A text takes whatever is written to it.
        let _ = write!(self.prefix, "{name}.");
        // What is sent within a change is whole.
        let changes_only = std::mem::take(&mut self.changes_only);
        check(self);
        self.changes_only = changes_only;
        self.prefix.truncate(outer);
    }

    /// Reports an absent field, if it must be there.
    fn absent(&mut self, field: &FieldRules) {
        if field.required && !self.changes_only {
            self.violated(field, Rule::Required);
        }
    }

    fn is_skipped(&self, field: &FieldRules) -> bool {
        self.mask.as_ref().is_some_and(|mask| !mask.iter().any(|path| path == field.name))
    }

    fn violated(&mut self, field: &FieldRules, rule: Rule) {
        if self.item_alone {
            return;
        }
        if self.violations.is_full() {
            return self.violations.count_one();
        }
        let path = format!("{}{}", self.prefix, field.name);
        // An element without a name has the path of what holds it.
        let path = path.trim_end_matches('.').to_owned();
        self.violations.violated(path, rule, self.item, field.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::v1;

    fn messages(request: &impl super::Check) -> Vec<(String, String)> {
        super::check(request).into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn every_violation_of_every_item_is_reported_in_order() {
        let request = v1::BatchCreateAffiliatesRequest {
            affiliates: vec![
                v1::AffiliateInput {
                    client_affiliate_id: Some("A-1".into()),
                    affiliate_name: Some("  ".into()),
                    zip: Some("é".repeat(17)),
                    country: Some("QQ".into()),
                    ..Default::default()
                },
                v1::AffiliateInput {
                    client_affiliate_id: Some("A-2".into()),
                    affiliate_name: Some("Two".into()),
                    email_one: Some("nobody".into()),
                    status: Some("asleep".into()),
                    start_date: Some("2023-02-29".into()),
                    ..Default::default()
                },
            ],
        };
        let reported: Vec<String> = messages(&request).into_iter().map(|(_, message)| message).collect();
        assert_eq!(
            reported,
            [
                "The affiliates.0.affiliate_name field is required.",
                "The affiliates.0.zip field must not be greater than 16 characters.",
                "The affiliates.1.email_one field must be a valid email address.",
                "The selected affiliates.1.status is invalid.",
                "The affiliates.1.start_date field must match the format YYYY-MM-DD or MM/DD/YYYY.",
            ]
        );
    }

    #[test]
    fn an_unknown_country_refuses_a_single_request_only() {
        let affiliate = v1::AffiliateInput {
            client_affiliate_id: Some("A-1".into()),
            affiliate_name: Some("One".into()),
            country: Some("QQ".into()),
            ..Default::default()
        };
        let request = v1::CreateAffiliateRequest { affiliate: Some(affiliate) };
        assert_eq!(messages(&request), [("country".to_owned(), "The selected country is invalid.".to_owned())]);
        let failure = super::item_failure(request.affiliate.as_ref().unwrap()).unwrap();
        assert_eq!((failure.field, failure.message.as_str()), ("country", "QQ is no ISO 3166-1 alpha-2 country code."));
        assert_eq!(failure.codes.on_create(), v1::ResultCode::InvalidCountry);
        assert_eq!(failure.codes.on_update(), v1::ResultCode::UpdateFailed);
        assert_eq!(super::item_failure(&v1::AffiliateInput::default()), None);
    }

    #[test]
    fn a_mask_distinguishes_cleared_from_absent() {
        let update = |paths: &[&str]| v1::UpdateAffiliateRequest {
            update: Some(v1::AffiliateUpdate {
                id: Some(1),
                affiliate: None,
                update_mask: Some(prost_types::FieldMask { paths: paths.iter().map(ToString::to_string).collect() }),
            }),
        };
        assert_eq!(messages(&update(&["city"])), []);
        assert_eq!(messages(&update(&["affiliate_name"]))[0].1, "The affiliate name field is required.");
        assert_eq!(messages(&update(&["town"]))[0].1, "The update mask field names no field: town.");
    }

    #[test]
    fn an_element_without_its_entry_is_reported_at_the_element() {
        let request = v1::AddComplianceUrlsRequest {
            urls: vec![
                v1::UrlInput { url: None },
                v1::UrlInput { url: Some("ftp://example.org/".into()) },
                v1::UrlInput { url: Some(String::new()) },
            ],
        };
        assert_eq!(
            messages(&request),
            [
                ("urls.0".to_owned(), "The urls.0 field must contain entries for: url.".to_owned()),
                ("urls.1.url".to_owned(), "The urls.1.url field must be a valid URL.".to_owned()),
                ("urls.2.url".to_owned(), "The urls.2.url field must be a valid URL.".to_owned()),
            ]
        );
    }

    #[test]
    fn numbers_keep_to_their_range() {
        let request = v1::ListComplianceUrlsRequest { per_page: Some(201), ..Default::default() };
        assert_eq!(messages(&request)[0].1, "The per page field must be between 1 and 200.");
    }
}

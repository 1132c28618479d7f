//! The rules that stand beside the fields in `proto/`, run: what a request must hold, told in the partners' texts.
//!
//! The checks themselves are generated ([`Check`] for every request); this is what they call.

mod formats;
mod violations;

pub use formats::{normalised_url, start_date};
pub use violations::{Violation, Violations, label};

use prost_types::{FieldMask, Timestamp};

/// A message that knows what it must hold.
pub trait Check {
    /// Names of the fields, in the order of declaration.
    const NAMES: &'static [&'static str];

    /// Tells the checker of every field.
    fn check(&self, checker: &mut Checker);
}

/// Every fault of a request, in the order of its items and fields. Empty for a good one.
pub fn check(request: &impl Check) -> Violations {
    let mut checker = Checker::default();
    request.check(&mut checker);
    checker.violations
}

/// Written forms that a text can be held to: `compliance.v1.Format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "described in rules.proto")]
pub enum Format {
    Unspecified,
    Email,
    Url,
    Date,
    StartDate,
    Country,
}

/// A field and its rules: `compliance.v1.Rules`, as constants.
#[derive(Debug)]
#[expect(missing_docs, reason = "described in rules.proto")]
pub struct Field {
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
}

impl Field {
    /// No rule.
    pub const NONE: Self = Self {
        name: "",
        number: 0,
        required: false,
        max_chars: None,
        exact_chars: None,
        format: Format::Unspecified,
        one_of: &[],
        at_least: None,
        at_most: None,
        entry: false,
    };
}

/// Walks a request and gathers what is wrong with it.
#[derive(Debug, Default)]
pub struct Checker {
    violations: Violations,
    /// Path of the message that is being checked, with its closing dot; empty at the top.
    prefix: String,
    /// The element of a list that is being checked, from 1; 0 outside lists.
    item: u32,
    /// When set: the only fields that count.
    mask: Option<Vec<String>>,
}

impl Checker {
    /// A text. Absent and empty are the same unless the field is an element's entry.
    pub fn text(&mut self, field: &Field, value: Option<&str>) {
        if self.passed_over(field) {
            return;
        }
        let Some(text) = value.filter(|text| !text.is_empty() || field.entry) else {
            if field.entry {
                let path = self.prefix.trim_end_matches('.').to_owned();
                let message = format!("The {} field must contain entries for: {}.", label(&path), field.name);
                self.violations.push(path, message, self.item, field.number);
            } else if field.required {
                self.fault(field, |label| format!("The {label} field is required."));
            }
            return;
        };
        if field.required && text.trim().is_empty() {
            return self.fault(field, |label| format!("The {label} field is required."));
        }
        if text.contains('\0') {
            return self.fault(field, |label| format!("The {label} field must not contain the character U+0000."));
        }
        let chars = text.chars().count();
        if let Some(exact) = field.exact_chars.filter(|exact| chars != *exact) {
            return self.fault(field, |label| format!("The {label} field must be {exact} characters."));
        }
        if let Some(max) = field.max_chars.filter(|max| chars > *max) {
            self.fault(field, |label| format!("The {label} field must not be greater than {max} characters."));
        }
        if !field.one_of.is_empty() && !field.one_of.contains(&text) {
            self.fault(field, |label| format!("The selected {label} is invalid."));
        }
        // Within a list an unknown country is its item's result, not the request's fault.
        if field.format == Format::Country && self.item > 0 {
            return;
        }
        if let Some(fault) = formats::fault(field.format, text) {
            self.fault(field, fault);
        }
    }

    /// A list of texts: each is held to the rules of the field.
    pub fn texts(&mut self, field: &Field, values: &[String]) {
        if self.passed_over(field) {
            return;
        }
        // An element has no name that a mask could hold.
        let mask = self.mask.take();
        for (index, value) in values.iter().enumerate() {
            let name = format!("{}.{index}", field.name);
            let outer = std::mem::take(&mut self.prefix);
            self.prefix = format!("{outer}{name}");
            let element = Field { name: "", ..*field };
            self.text(&element, Some(value));
            self.prefix = outer;
        }
        self.mask = mask;
    }

    /// A whole number.
    pub fn number(&mut self, field: &Field, value: Option<i64>) {
        if self.passed_over(field) {
            return;
        }
        let Some(value) = value else {
            if field.required {
                self.fault(field, |label| format!("The {label} field is required."));
            }
            return;
        };
        match (field.at_least, field.at_most) {
            (Some(least), Some(most)) if !(least..=most).contains(&value) => {
                self.fault(field, |label| format!("The {label} field must be between {least} and {most}."));
            }
            (Some(least), None) if value < least => {
                self.fault(field, |label| format!("The {label} field must be at least {least}."));
            }
            (None, Some(most)) if value > most => {
                self.fault(field, |label| format!("The {label} field must not be greater than {most}."));
            }
            _ => {}
        }
    }

    /// A value of an enum, or a required flag.
    pub fn choice(&mut self, field: &Field, present: bool, known: bool) {
        if self.passed_over(field) {
            return;
        }
        if !present && field.required {
            self.fault(field, |label| format!("The {label} field is required."));
        } else if !known {
            self.fault(field, |label| format!("The selected {label} is invalid."));
        }
    }

    /// A moment: from the year 1 to the year 9999.
    pub fn time(&mut self, field: &Field, value: Option<&Timestamp>) {
        if self.passed_over(field) {
            return;
        }
        match value {
            None if field.required => self.fault(field, |label| format!("The {label} field is required.")),
            Some(value) if !formats::is_moment(value) => {
                self.fault(field, |label| format!("The {label} field must be a valid date."));
            }
            _ => {}
        }
    }

    /// A list of messages: each is checked at its own path, `<name>.<index>`.
    pub fn list<M: Check>(&mut self, field: &Field, values: &[M]) {
        if values.is_empty() && field.required && !self.passed_over(field) {
            return self.fault(field, |label| format!("The {label} field is required."));
        }
        let (outer, item) = (std::mem::take(&mut self.prefix), self.item);
        for (index, value) in values.iter().enumerate() {
            self.prefix.clear();
            self.prefix.push_str(&outer);
            self.prefix.push_str(field.name);
            self.prefix.push('.');
            self.prefix.push_str(&index.to_string());
            self.prefix.push('.');
            if item == 0 {
                self.item = index as u32 + 1;
            }
            value.check(self);
        }
        (self.prefix, self.item) = (outer, item);
    }

    /// A message with a path of its own.
    pub fn nested<M: Check>(&mut self, field: &Field, value: Option<&M>) {
        match value {
            Some(value) => {
                let outer = self.prefix.clone();
                self.prefix = format!("{outer}{}.", field.name);
                value.check(self);
                self.prefix = outer;
            }
            None if field.required => self.fault(field, |label| format!("The {label} field is required.")),
            None => {}
        }
    }

    /// A message whose fields are told at the path of the one that holds it.
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
                let message = format!("The {} field names no field: {path}.", label(&at));
                self.violations.push(at, message, self.item, u32::MAX);
            }
        }
        self.mask = Some(paths);
        if mask.is_some() {
            self.flat(true, value);
        } else if let Some(value) = value {
            // A required field that is absent is not sent; one that is sent must be good.
            self.mask = None;
            let before = self.violations.len();
            value.check(self);
            self.violations.forgive_absent(before);
        }
        self.mask = outer;
    }

    fn passed_over(&self, field: &Field) -> bool {
        self.mask.as_ref().is_some_and(|mask| !mask.iter().any(|path| path == field.name))
    }

    fn fault(&mut self, field: &Field, message: impl FnOnce(&str) -> String) {
        let path = format!("{}{}", self.prefix, field.name);
        let message = message(&label(&path));
        self.violations.push(path, message, self.item, field.number);
    }
}

#[cfg(test)]
mod tests {
    use crate::v1;

    fn messages(request: &impl super::Check) -> Vec<(String, String)> {
        super::check(request).into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn every_failing_field_of_every_item_is_told_in_order() {
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
        let told: Vec<String> = messages(&request).into_iter().map(|(_, message)| message).collect();
        assert_eq!(
            told,
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
    fn an_unknown_country_is_the_fault_of_a_single_request_only() {
        let affiliate = v1::AffiliateInput {
            client_affiliate_id: Some("A-1".into()),
            affiliate_name: Some("One".into()),
            country: Some("QQ".into()),
            ..Default::default()
        };
        let request = v1::CreateAffiliateRequest { affiliate: Some(affiliate) };
        assert_eq!(messages(&request), [("country".to_owned(), "The selected country is invalid.".to_owned())]);
    }

    #[test]
    fn a_mask_tells_cleared_from_absent() {
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
    fn an_element_without_its_entry_is_told_at_the_element() {
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

//! Checks requests against the field rules in `proto/`.
//!
//! The build script generates a [`Check`] implementation for every request.

mod formats;
mod violations;

pub use formats::{must_be_time, normalised_url, start_date, timestamp};
pub use violations::{MAX_VIOLATIONS, Violation, Violations, label};

use std::fmt::{self, Write as _};

use prost_types::{FieldMask, Timestamp};

use crate::{
    description::{Field, Message},
    record::Record,
    v1::{Format, ItemCodes},
};

/// A message with field rules.
pub trait Check {
    /// Description of the message, with its field rules.
    const MESSAGE: &'static Message;

    /// Passes every field to the checker.
    fn check(&self, checker: &mut Checker);
}

/// Checks a request, and returns all violations, ordered by item and field.
pub fn check(request: &impl Check) -> Violations {
    let mut checker = Checker::default();
    request.check(&mut checker);
    checker.violations
}

/// Checks the element at `index` in the list `name` of a request.
pub fn check_element(name: &str, index: usize, element: &impl Check) -> Violations {
    let mut checker = Checker { item: index as u32 + 1, ..Checker::default() };
    checker.within(format_args!("{name}.{index}"), |checker| element.check(checker));
    checker.violations
}

/// A violation that fails only its list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemFailure {
    /// The field that violates its rule.
    pub field: &'static str,
    /// The rule's result codes.
    pub codes: ItemCodes,
    /// Message for partners.
    pub message: String,
}

/// Returns the violation that fails only this list item. [`check`] returns violations that reject the whole request.
pub fn item_failure<R: Record + Check>(item: &R) -> Option<ItemFailure> {
    R::MESSAGE.fields.iter().find_map(|field| {
        let codes = field.item_codes?;
        let text = R::field(field.name)?.text(item).filter(|text| !text.is_empty())?;
        if formats::matches(field.format, text) {
            return None;
        }
        let message = match field.format {
            Format::Country => format!("{text} is not a valid ISO 3166-1 alpha-2 country code."),
            format => formats::violation(format, &label(field.name), text),
        };
        Some(ItemFailure { field: field.name, codes, message })
    })
}

/// Collects a request's violations.
#[derive(Debug, Default)]
pub struct Checker {
    violations: Violations,
    /// Path of the current message with a trailing dot; empty at the top.
    prefix: String,
    /// The current list element, from 1; 0 outside lists.
    item: u32,
    /// If set, only these fields are checked.
    mask: Option<Vec<String>>,
    /// If set, required fields can be absent: an update sends only the fields that it changes.
    changes_only: bool,
}

impl Checker {
    /// Returns whether the field is checked.
    pub fn checks(&self, field: &Field) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask.iter().any(|path| path == field.name))
    }

    /// Checks a string, reported under `name`. Treats an empty string as absent, unless the field is an element's entry.
    pub fn text(&mut self, name: &str, field: &Field, value: Option<&str>) {
        let Some(text) = value.filter(|text| !text.is_empty() || field.entry) else {
            return match value {
                // The violation is reported at the element's path.
                None if field.entry => self.must("", field, format_args!("must contain entries for: {}", field.name)),
                Some(_) if field.required => self.must(name, field, "is required"),
                _ => self.absent(field),
            };
        };
        if field.required && text.trim().is_empty() {
            return self.must(name, field, "is required");
        }
        if text.contains('\0') {
            // PostgreSQL cannot store this character.
            return self.must(name, field, "must not contain the character U+0000");
        }
        let chars = text.chars().count();
        // A date's violation names its format instead.
        if let Some(exact) = field.exact_chars.filter(|exact| chars != *exact && field.format != Format::StartDate) {
            return self.must(name, field, format_args!("must be {exact} characters"));
        }
        if let Some(least) = field.min_chars.filter(|least| chars < *least) {
            self.must(name, field, format_args!("must be at least {least} characters"));
        }
        if let Some(most) = field.max_chars.filter(|most| chars > *most) {
            self.must(name, field, format_args!("must not be greater than {most} characters"));
        }
        if !field.one_of.is_empty() && !field.one_of.contains(&text) {
            self.violated(name, field, |label| not_one_of(label, field.one_of));
        }
        // Within a list, the violation fails only its item.
        let fails_item = self.item > 0 && field.item_codes.is_some();
        if !fails_item && !formats::matches(field.format, text) {
            self.violated(name, field, |label| formats::violation(field.format, label, text));
        }
    }

    /// Checks that a string is present. `with` completes the message, and names the field that needs the string.
    pub fn needs(&mut self, field: &Field, value: Option<&str>, with: &str) {
        if value.is_none_or(str::is_empty) {
            self.must(field.name, field, format_args!("is required{with}"));
        }
    }

    /// Checks the length of a list.
    pub fn items(&mut self, field: &Field, items: usize) {
        if let Some(most) = field.max_items.filter(|most| items > *most && self.checks(field)) {
            self.violated(field.name, field, |label| violations::too_many_items(label, most));
        }
    }

    /// Checks the length of a list whose items are checked separately.
    pub fn items_alone(&mut self, field: &Field, items: usize) {
        if items == 0 && self.checks(field) {
            return self.absent(field);
        }
        self.items(field, items);
    }

    /// Checks each string in a list against the field's rules.
    pub fn texts(&mut self, field: &Field, values: &[String]) {
        self.items(field, values.len());
        for (index, value) in values.iter().enumerate() {
            self.within(format_args!("{}.{index}", field.name), |checker| checker.text("", field, Some(value)));
        }
    }

    /// Checks an integer.
    pub fn number(&mut self, field: &Field, value: Option<i64>) {
        let Some(value) = value else { return self.absent(field) };
        let name = field.name;
        match (field.at_least, field.at_most) {
            (Some(least), Some(most)) if !(least..=most).contains(&value) => {
                self.must(name, field, format_args!("must be between {least} and {most}"));
            }
            (Some(least), None) if value < least => {
                self.must(name, field, format_args!("must be at least {least}"));
            }
            (None, Some(most)) if value > most => {
                self.must(name, field, format_args!("must not be greater than {most}"));
            }
            _ => {}
        }
    }

    /// Checks an enum value or a required flag.
    pub fn choice(&mut self, field: &Field, present: bool, known: bool) {
        if !present && field.required {
            self.absent(field);
        } else if !known {
            self.violated(field.name, field, formats::unknown);
        }
    }

    /// Checks a timestamp.
    pub fn time(&mut self, field: &Field, value: Option<&Timestamp>) {
        match value {
            None => self.absent(field),
            Some(value) if !formats::is_timestamp(value) => self.must(field.name, field, "must be a valid date"),
            _ => {}
        }
    }

    /// Checks each message in a list, at the path `<name>.<index>`.
    pub fn list<M: Check>(&mut self, field: &Field, values: &[M]) {
        if !self.checks(field) {
            return;
        }
        self.items_alone(field, values.len());
        let outer = self.item;
        for (index, value) in values.iter().enumerate() {
            if outer == 0 {
                self.item = index as u32 + 1;
            }
            self.within(format_args!("{}.{index}", field.name), |checker| value.check(checker));
        }
        self.item = outer;
    }

    /// Checks a message at its own path.
    pub fn nested<M: Check>(&mut self, field: &Field, value: Option<&M>) {
        if !self.checks(field) {
            return;
        }
        match value {
            Some(value) => self.within(format_args!("{}", field.name), |checker| value.check(checker)),
            None => self.absent(field),
        }
    }

    /// Checks a message, and reports its fields at the parent's path.
    pub fn flat<M: Check + Default>(&mut self, required: bool, value: Option<&M>) {
        match value {
            Some(value) => value.check(self),
            None if required => M::default().check(self),
            None => {}
        }
    }

    /// Checks the fields named by a mask. Without a mask, checks all fields with a value.
    pub fn masked<M: Check + Default>(&mut self, mask: Option<&FieldMask>, value: Option<&M>) {
        let Some(mask) = mask else {
            let outer = std::mem::replace(&mut self.changes_only, true);
            self.flat(false, value);
            self.changes_only = outer;
            return;
        };
        for path in mask.paths.iter().filter(|path| M::MESSAGE.field(path).is_none()) {
            self.violations.push((self.item, u32::MAX), || {
                let at = format!("{}update_mask", self.prefix);
                let message = format!("The {} field names an unknown field: {path}.", label(&at));
                (at, message)
            });
        }
        let outer = self.mask.replace(mask.paths.clone());
        self.flat(true, value);
        self.mask = outer;
    }

    /// Runs a check at the path `name` within the current message.
    fn within(&mut self, name: fmt::Arguments<'_>, check: impl FnOnce(&mut Self)) {
        let outer = self.prefix.len();
        // Writing to a String cannot fail.
        let _ = write!(self.prefix, "{name}.");
        // The mask applies only to the outer message.
        let (changes_only, mask) = (std::mem::take(&mut self.changes_only), self.mask.take());
        check(self);
        (self.changes_only, self.mask) = (changes_only, mask);
        self.prefix.truncate(outer);
    }

    /// Reports an absent required field.
    fn absent(&mut self, field: &Field) {
        if field.required && !self.changes_only {
            self.must(field.name, field, "is required");
        }
    }

    fn must(&mut self, name: &str, field: &Field, must: impl fmt::Display) {
        self.violated(name, field, |label| format!("The {label} field {must}."));
    }

    /// Adds a field violation. If `name` is empty, uses the parent's path.
    fn violated(&mut self, name: &str, field: &Field, message: impl FnOnce(&str) -> String) {
        self.violations.push((self.item, field.number), || {
            let path = format!("{}{name}", self.prefix).trim_end_matches('.').to_owned();
            let message = message(&label(&path));
            (path, message)
        });
    }
}

/// Returns the message for a value outside the allowed set.
pub fn not_one_of(label: &str, allowed: &[&str]) -> String {
    format!("{} It must be one of: {}.", formats::unknown(label), allowed.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::v1;

    fn messages(request: &impl super::Check) -> Vec<(String, String)> {
        super::check(request).into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn item_violations_are_reported_in_order() {
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
            validate_only: false,
        };
        let reported: Vec<String> = messages(&request).into_iter().map(|(_, message)| message).collect();
        assert_eq!(
            reported,
            [
                "The affiliates.0.affiliate_name field is required.",
                "The affiliates.0.zip field must not be greater than 16 characters.",
                "The affiliates.1.email_one field must be a valid email address.",
                "The selected affiliates.1.status is invalid. It must be one of: active, inactive, probation, suspended, \
                 terminated, forgotten.",
                "The affiliates.1.start_date field must be an existing date.",
            ]
        );
    }

    #[test]
    fn unknown_country_rejects_only_single_requests() {
        let affiliate = v1::AffiliateInput {
            client_affiliate_id: Some("A-1".into()),
            affiliate_name: Some("One".into()),
            country: Some("QQ".into()),
            ..Default::default()
        };
        let request = v1::CreateAffiliateRequest { affiliate: Some(affiliate) };
        assert_eq!(
            messages(&request),
            [(
                "country".to_owned(),
                "The selected country is invalid. It must be an ISO 3166-1 alpha-2 code.".to_owned()
            )]
        );
        let failure = super::item_failure(request.affiliate.as_ref().unwrap()).unwrap();
        assert_eq!(
            (failure.field, failure.message.as_str()),
            ("country", "QQ is not a valid ISO 3166-1 alpha-2 country code.")
        );
        assert_eq!(failure.codes.on_create(), v1::ResultCode::InvalidCountry);
        assert_eq!(failure.codes.on_update(), v1::ResultCode::UpdateFailed);
        assert_eq!(super::item_failure(&v1::AffiliateInput::default()), None);
    }

    #[test]
    fn update_mask_separates_cleared_from_absent_fields() {
        let update = |paths: &[&str]| v1::UpdateAffiliateRequest {
            update: Some(v1::AffiliateUpdate {
                id: Some(1),
                affiliate: None,
                update_mask: Some(prost_types::FieldMask { paths: paths.iter().map(ToString::to_string).collect() }),
                etag: String::new(),
            }),
        };
        assert_eq!(messages(&update(&["city"])), []);
        assert_eq!(messages(&update(&["affiliate_name"]))[0].1, "The affiliate name field is required.");
        assert_eq!(messages(&update(&["town"]))[0].1, "The update mask field names an unknown field: town.");
    }

    #[test]
    fn masked_nested_messages_are_fully_checked() {
        let review = |paths: Option<&[&str]>| v1::ReviewUrlRequest {
            id: 1,
            review: Some(v1::UrlReview {
                infractions: vec![v1::InfractionInput {
                    infraction_name: Some("a".repeat(129)),
                    ..v1::InfractionInput::default()
                }],
                ..v1::UrlReview::default()
            }),
            update_mask: paths
                .map(|paths| prost_types::FieldMask { paths: paths.iter().map(ToString::to_string).collect() }),
            etag: String::new(),
        };
        let paths = ["infractions.0.infraction_type", "infractions.0.infraction_name"];
        for named in [None, Some(&["infractions", "note"][..])] {
            assert_eq!(messages(&review(named)).into_iter().map(|(path, _)| path).collect::<Vec<_>>(), paths);
        }
        assert_eq!(messages(&review(Some(&["note"]))), []);
    }

    #[test]
    fn missing_url_is_reported_at_its_element() {
        let request = v1::AddComplianceUrlsRequest {
            urls: vec![
                v1::UrlInput { url: None },
                v1::UrlInput { url: Some("ftp://example.org/".into()) },
                v1::UrlInput { url: Some(String::new()) },
            ],
            validate_only: false,
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
    fn conditionally_required_fields_are_reported() {
        let search = v1::SearchChangesRequest { id: Some(1), limit: Some(0), ..Default::default() };
        let expected = [
            ("resource".to_owned(), "The resource field is required with id.".to_owned()),
            ("limit".to_owned(), "The limit field must be between 1 and 1000.".to_owned()),
        ];
        assert_eq!(messages(&search), expected);
        let url = |url: &str| Some(v1::WebhookInput { url: Some(url.into()), ..Default::default() });
        let required = [("url".to_owned(), "The url field is required.".to_owned())];
        assert_eq!(messages(&v1::CreateWebhookRequest { webhook: None }), required);
        assert_eq!(messages(&v1::CreateWebhookRequest { webhook: url("") }), required);
        assert_eq!(messages(&v1::CreateWebhookRequest { webhook: url("https://a.example/") }), []);
        assert_eq!(messages(&v1::UpdateWebhookRequest { id: 1, webhook: url("") }), []);
    }

    #[test]
    fn out_of_range_numbers_are_reported() {
        let request = v1::ListComplianceUrlsRequest { per_page: Some(201), ..Default::default() };
        assert_eq!(messages(&request)[0].1, "The per page field must be between 1 and 200.");
    }
}

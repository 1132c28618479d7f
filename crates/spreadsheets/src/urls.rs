//! Reads tables of URLs to monitor.

use compliance_api::{
    rules::{Check as _, check},
    v1::UrlInput,
};

use crate::{
    headings::field_of,
    record::{TableRecord, Target, Values},
    row::RowError,
};

impl TableRecord for UrlInput {
    fn target(heading: &str) -> Option<Target> {
        field_of(Self::MESSAGE, heading).map(Some)
    }

    fn fields() -> Vec<&'static str> {
        Self::MESSAGE.names().collect()
    }

    fn of_values(values: Values, _required: &[&str]) -> Result<Self, Vec<RowError>> {
        let url = values.into_iter().find_map(|(_, value)| value);
        let input = Self { url };
        if input.url.is_none() {
            return Err(vec![RowError::new("url", "", "The url field is required.")]);
        }
        let value = input.url.clone().unwrap_or_default();
        let violations = check(&input);
        let errors = violations.iter().map(|each| RowError::new("url", &value, &each.message)).collect::<Vec<_>>();
        if errors.is_empty() { Ok(input) } else { Err(errors) }
    }

    fn is_export(_headings: &[String]) -> bool {
        false
    }
}

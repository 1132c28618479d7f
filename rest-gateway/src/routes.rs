//! The handlers, one file for each resource.

pub(crate) mod about;
pub(crate) mod affiliates;
pub(crate) mod asset;
pub(crate) mod cases;
pub(crate) mod console;
pub(crate) mod docs;
pub(crate) mod health;
pub(crate) mod urls;

use compliance_api::error::{Error, Reason};
use http::Method;

use crate::error::Refusal;

/// Messages of successful responses. Those of errors are the contract's.
pub(crate) mod text {
    pub(crate) const AFFILIATES_FOUND: &str = "Affiliates found";
    pub(crate) const AFFILIATE_FOUND: &str = "Affiliate found.";
    pub(crate) const AFFILIATE_CREATED: &str = "Affiliate created successfully.";
    pub(crate) const AFFILIATE_UPDATED: &str = "Affiliate updated successfully.";
    pub(crate) const URLS_FOUND: &str = "URLs found";
    pub(crate) const URL_FOUND: &str = "URL found.";
    pub(crate) const CASES_FOUND: &str = "Cases found";
    pub(crate) const CASE_FOUND: &str = "Case found.";
}

/// The response for an unknown path.
pub(crate) async fn unknown_path() -> Refusal {
    unknown().into()
}

/// Nothing is served at this path.
pub(crate) fn unknown() -> Error {
    Error::new(Reason::UnknownPath, "Nothing is served at this path.")
}

/// The response for a method that the path does not support.
pub(crate) async fn wrong_method(method: Method) -> Refusal {
    Error::new(Reason::MethodNotAllowed, format!("This path does not support the method {method}.")).into()
}

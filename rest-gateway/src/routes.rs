//! The handlers, one file per resource.

pub(crate) mod affiliates;
pub(crate) mod cases;
pub(crate) mod changes;
pub(crate) mod overview;
pub(crate) mod service;
pub(crate) mod urls;
pub(crate) mod vocabularies;
pub(crate) mod webhooks;

use compliance_api::error::{Error, Reason};
use http::Method;

use crate::envelope::Rejection;

/// Responds to a method that the path does not support.
pub(crate) async fn wrong_method(method: Method) -> Rejection {
    Error::new(Reason::MethodNotAllowed, format!("This path does not support the method {method}.")).into()
}

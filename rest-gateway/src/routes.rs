//! The handlers, one file per resource.

pub(crate) mod affiliates;
pub(crate) mod cases;
pub(crate) mod changes;
pub(crate) mod overview;
pub(crate) mod service;
pub(crate) mod urls;
pub(crate) mod vocabularies;
pub(crate) mod webhooks;

use axum::response::Redirect;
use compliance_api::error::{Error, Reason};
use http::{Method, Uri};

use crate::envelope::Rejection;

/// Responds to an unknown path. Redirects from a page's path with a trailing slash.
pub(crate) async fn unknown_path(uri: Uri) -> Result<Redirect, Rejection> {
    match uri.path() {
        // Relative, because a proxy can serve these pages under a prefix.
        "/docs/" => Ok(Redirect::permanent("../docs")),
        "/console/" => Ok(Redirect::permanent("../console")),
        _ => Err(Error::unknown_path().into()),
    }
}

/// Responds to a method that the path does not support.
pub(crate) async fn wrong_method(method: Method) -> Rejection {
    Error::new(Reason::MethodNotAllowed, format!("This path does not support the method {method}.")).into()
}

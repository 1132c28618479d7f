//! The parameters of a query that have no effect, which a header of the response names.

use std::fmt::Write as _;

use compliance_api::{
    description::Message,
    rules::Check as _,
    v1::{
        GetAffiliateRequest, ListAffiliatesRequest, ListChangesRequest, ListComplianceCasesRequest,
        ListComplianceUrlsRequest, SearchAffiliatesRequest, SearchChangesRequest, SearchComplianceUrlsRequest,
    },
};
use http::{HeaderName, HeaderValue, Method, Uri};
use url::form_urlencoded;

use crate::limits::{MAX_IGNORED_CHARS, MAX_IGNORED_NAMES};

/// Names the parameters that were ignored.
pub(crate) const IGNORED_PARAMETERS: HeaderName = HeaderName::from_static("x-ignored-parameters");

/// The message whose fields are the parameters of an operation.
fn parameters(method: &Method, path: &str) -> Option<&'static Message> {
    match path {
        "/api/urls" if method == Method::GET => Some(ListComplianceUrlsRequest::MESSAGE),
        "/api/affiliates" if method == Method::GET => Some(ListAffiliatesRequest::MESSAGE),
        "/api/affiliates:search" if method == Method::GET => Some(SearchAffiliatesRequest::MESSAGE),
        "/api/urls:search" if method == Method::GET => Some(SearchComplianceUrlsRequest::MESSAGE),
        "/api/cases" if method == Method::GET => Some(ListComplianceCasesRequest::MESSAGE),
        "/api/changes" if method == Method::GET => Some(ListChangesRequest::MESSAGE),
        "/api/audit" if method == Method::GET => Some(SearchChangesRequest::MESSAGE),
        _ if method == Method::GET && path.matches('/').count() == 3 => Some(GetAffiliateRequest::MESSAGE),
        _ => None,
    }
}

/// The parameters of a request under `/api` that its operation does not have: their names without repetition, percent-encoded and
/// separated by commas.
pub(crate) fn ignored_parameters(method: &Method, uri: &Uri) -> Option<HeaderValue> {
    let query = uri.query().filter(|_| uri.path().starts_with("/api/"))?;
    let known = parameters(method, uri.path());
    let mut names = Vec::new();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        let is_known = known.is_some_and(|message| message.field(&name).is_some())
            && (name != "id" || uri.path() == "/api/audit")
            || name == "changed_after" && ["/api/urls", "/api/cases"].contains(&uri.path());
        if !is_known && !names.contains(&name) {
            names.push(name);
        }
        if names.len() == MAX_IGNORED_NAMES {
            break;
        }
    }
    let mut value = String::new();
    for name in &names {
        let cut: String = name.chars().take(MAX_IGNORED_CHARS).collect();
        let separator = if value.is_empty() { "" } else { ", " };
        // Writing to a text does not fail.
        let _ = write!(value, "{separator}{}", form_urlencoded::byte_serialize(cut.as_bytes()).collect::<String>());
    }
    HeaderValue::try_from(value).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use http::{Method, Uri};

    fn ignored(method: &Method, uri: &str) -> Option<String> {
        let value = super::ignored_parameters(method, &uri.parse::<Uri>().unwrap());
        value.map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn only_parameters_without_an_effect_are_named() {
        let urls = "/api/urls?perpage=5&page=2&incident_status=Open&perpage=6&a%2Cb%0D=&disabled=";
        assert_eq!(ignored(&Method::GET, urls).as_deref(), Some("perpage, incident_status, a%2Cb%0D"));
        assert_eq!(ignored(&Method::POST, "/api/urls?page=1").as_deref(), Some("page"));
        assert_eq!(ignored(&Method::GET, "/api/affiliates/1?fields=id").as_deref(), Some("fields"));
        assert_eq!(ignored(&Method::GET, "/api/affiliates:search?q=a&query=b").as_deref(), Some("query"));
        assert_eq!(ignored(&Method::GET, "/api/urls:search?limit=1&page=2").as_deref(), Some("page"));
        for none in ["/api/urls", "/api/urls?", "/api/cases?case_status_id=x", "/docs?x=1"] {
            assert_eq!(ignored(&Method::GET, none), None, "{none}");
        }
        let many: Vec<String> = (0..50).map(|number| format!("{number}{}", "x".repeat(100))).collect();
        let named = ignored(&Method::GET, &format!("/api/cases?{}", many.join("&"))).unwrap();
        assert_eq!((named.split(", ").count(), named.len()), (10, 10 * 64 + 9 * 2));
    }
}

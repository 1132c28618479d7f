//! A route as data: for its documentation, its metrics and its checks.

use compliance_api::{
    description::{Field, Kind, Message},
    rules::Check as _,
    v1::ListChangesRequest,
    wire::{Authorization, Operation},
};
use http::{HeaderValue, Uri};
use url::form_urlencoded;

use crate::ignored::{Ignored, Location};

/// The position of the last event, from event clients that cannot set headers.
pub(crate) const LAST_EVENT_PARAMETER: &str = "lastEventId";

/// A route of the router.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Method, in lower case.
    pub method: &'static str,
    /// Path, with its parameters in braces.
    pub path: &'static str,
    /// Handler, as `module::function` in `routes`.
    pub handler: &'static str,
    /// Requests whose fields are the query parameters.
    pub query: &'static [&'static Message],
    /// Whether the operation supports `If-Match`.
    pub(crate) supports_if_match: bool,
    /// The scope that the operation needs.
    pub(crate) scope: Option<&'static str>,
}

impl Route {
    pub(crate) const fn new(
        method: &'static str,
        path: &'static str,
        handler: &'static str,
        query: &'static [&'static Message],
    ) -> Self {
        Self { method, path, handler, query, supports_if_match: false, scope: None }
    }

    pub(crate) const fn if_match(self) -> Self {
        Self { supports_if_match: true, ..self }
    }

    /// Needs the scope of this operation of the core. Its last scope is the partners' scope.
    pub(crate) const fn scope(self, operation: &Operation) -> Self {
        match operation.authorization {
            Authorization::Scope([.., scope]) => Self { scope: Some(scope), ..self },
            _ => self,
        }
    }

    fn has_parameter(&self, name: &str) -> bool {
        let has_events = self.query.iter().any(|message| message.name == ListChangesRequest::MESSAGE.name);
        name == LAST_EVENT_PARAMETER && has_events
            || self.query.iter().any(|message| message.field(name).is_some_and(is_parameter))
    }
}

/// Whether a request field is a query parameter. Required IDs are in the path, and whole lists begin at their first record.
pub(crate) fn is_parameter(field: &Field) -> bool {
    field.name != "after_id" && (field.may_be_absent || !matches!(field.kind, Kind::Integer(_)))
}

/// Returns the header that lists unknown query parameters. Without a route, all parameters are unknown.
pub(crate) fn ignored_parameters(route: Option<&Route>, uri: &Uri) -> Option<HeaderValue> {
    let query = uri.query().filter(|_| uri.path().starts_with("/api/"))?;
    let mut ignored = Ignored::default();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if !route.is_some_and(|route| route.has_parameter(&name)) {
            ignored.add(Location::Top, &name);
        }
    }
    ignored.header()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Uri;

    use crate::{ROUTES, Route};

    fn route(method: &str, path: &str) -> &'static Route {
        ROUTES.iter().find(|route| (route.method, route.path) == (method, path)).unwrap()
    }

    fn ignored(route: &Route, query: &str) -> Option<String> {
        let uri: Uri = format!("{}?{query}", route.path.replace("{id}", "7")).parse().unwrap();
        super::ignored_parameters(Some(route), &uri).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn only_parameters_without_an_effect_are_listed() {
        let urls = "perpage=5&page=2&incident_status=Open&perpage=6&a%2Cb%0D=&disabled=";
        assert_eq!(ignored(route("get", "/api/urls"), urls).as_deref(), Some("perpage, incident_status, a%2Cb%0D"));
        assert_eq!(ignored(route("post", "/api/urls"), "page=1").as_deref(), Some("page"));
        for none in ["", "after=1"] {
            assert_eq!(ignored(route("get", "/api/changes"), none), None, "{none}");
        }
        assert_eq!(super::ignored_parameters(None, &"/docs?x=1".parse().unwrap()), None);
        assert_eq!(super::ignored_parameters(None, &"/api/x?x=1".parse().unwrap()).unwrap(), "x");
    }

    /// The documented parameters of each operation are exactly those with an effect.
    #[test]
    fn documented_parameters_are_never_listed_and_others_always_are() {
        let document: serde_json::Value = serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        let every_name: BTreeSet<&str> =
            ROUTES.iter().flat_map(|route| route.query).flat_map(|it| it.names()).collect();
        let mut documented = 0;
        for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/")) {
            let parameters = document["paths"][route.path][route.method]["parameters"].as_array().unwrap();
            let of_query = parameters.iter().filter(|parameter| parameter["in"] == "query");
            let known: BTreeSet<&str> = of_query.map(|parameter| parameter["name"].as_str().unwrap()).collect();
            for name in every_name.iter().chain(&["undocumented"]) {
                let listed = ignored(route, &format!("{name}=1"));
                let expected = (!known.contains(name)).then_some(*name);
                assert_eq!(listed.as_deref(), expected, "{} {}", route.method, route.path);
            }
            documented += known.len();
        }
        assert!(documented > 30, "{documented}");
        assert!(ignored(route("get", "/api/webhooks/{id}/deliveries"), "limit=1").is_none());
    }

    #[test]
    fn few_names_are_listed_and_each_is_short() {
        let many: Vec<String> = (0..50).map(|number| format!("{number}{}", "x".repeat(100))).collect();
        let listed = ignored(route("get", "/api/cases"), &many.join("&")).unwrap();
        assert_eq!((listed.split(", ").count(), listed.len()), (10, 10 * 64 + 9 * 2));
    }
}

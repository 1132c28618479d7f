//! Describes routes as data, for documentation, metrics and checks. Also finds ignored names in requests.

use std::fmt::{self, Display, Write as _};

use compliance_api::{
    description::{Field, Kind, Message},
    rules::Check as _,
    v1::ListChangesRequest,
    wire::{Authorization, Operation},
};
use http::{HeaderMap, HeaderName, HeaderValue};
use url::form_urlencoded::{self, byte_serialize};

use crate::{
    accept::prefers_events,
    content::{FILE_OPTIONS, is_file},
    limits::{MAX_IGNORED_CHARS, MAX_IGNORED_NAMES},
};

/// Query parameter with the position of the last event, for clients that cannot set headers.
pub(crate) const LAST_EVENT_PARAMETER: &str = "lastEventId";

/// Header that lists ignored query parameters.
pub(crate) const IGNORED_PARAMETERS: HeaderName = HeaderName::from_static("x-ignored-parameters");
/// Header that lists ignored body fields.
pub(crate) const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-ignored-fields");

/// A route of the router.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Method, in lowercase.
    pub method: &'static str,
    /// Path, with its parameters in braces.
    pub path: &'static str,
    /// Handler, as `module::function` in `routes`.
    pub handler: &'static str,
    /// Requests whose fields are the query parameters.
    pub query: &'static [&'static Message],
    /// Whether the operation supports `If-Match`.
    pub(crate) supports_if_match: bool,
    /// Who can call the core operation.
    authorization: Authorization,
    /// Whether the body can ask for a dry run.
    pub(crate) has_dry_run: bool,
    /// The request whose list can come from a file. Its other fields are options in the query.
    pub(crate) file: Option<&'static Message>,
}

impl Route {
    pub(crate) const fn new(
        method: &'static str,
        path: &'static str,
        handler: &'static str,
        query: &'static [&'static Message],
    ) -> Self {
        Self {
            method,
            path,
            handler,
            query,
            supports_if_match: false,
            authorization: Authorization::Token,
            has_dry_run: false,
            file: None,
        }
    }

    pub(crate) const fn if_match(self) -> Self {
        Self { supports_if_match: true, ..self }
    }

    /// Requires one of this core operation's scopes for partners.
    pub(crate) const fn scope(self, operation: &Operation) -> Self {
        Self { authorization: operation.authorization, ..self }
    }

    /// Returns the scopes that permit the operation. Empty if every token does.
    pub(crate) fn scopes(&self) -> &'static [&'static str] {
        self.authorization.for_partners()
    }

    /// Also accepts a file whose rows become the list of this core operation.
    pub(crate) const fn file(self, operation: &Operation) -> Self {
        Self { file: Some(operation.request), ..self }.dry_run()
    }

    pub(crate) const fn dry_run(self) -> Self {
        Self { has_dry_run: true, ..self }
    }

    /// Returns whether a parameter has an effect on a request with these headers.
    fn has_parameter(&self, name: &str, headers: &HeaderMap) -> bool {
        let has = |message: &Message| message.field(name).is_some_and(is_parameter);
        let has_events = self.query.iter().any(|message| message.name == ListChangesRequest::MESSAGE.name);
        self.query.iter().any(|message| has(message))
            || name == LAST_EVENT_PARAMETER && has_events && prefers_events(headers)
            || self.file.is_some_and(|options| FILE_OPTIONS.contains(&name) || has(options)) && is_file(headers)
    }
}

/// Returns whether a request field is a query parameter.
///
/// Required IDs are in the path, whole lists begin at their first record, and records are in the body.
pub(crate) fn is_parameter(field: &Field) -> bool {
    field.name != "after_id"
        && (field.may_be_absent || !matches!(field.kind, Kind::Integer(_)))
        && !matches!(field.kind, Kind::Message(_))
}

/// Returns the names of a request's options: its fields that are query parameters of a file.
pub(crate) fn options_of(request: &Message) -> impl Iterator<Item = &'static str> {
    request.fields.iter().filter(|field| is_parameter(field)).map(|field| field.name)
}

/// Returns the header that lists unknown query parameters. On an unknown route, all parameters are unknown.
pub(crate) fn ignored_parameters(
    route: Option<&Route>,
    path: &str,
    query: &str,
    headers: &HeaderMap,
) -> Option<HeaderValue> {
    if !path.starts_with("/api/") {
        return None;
    }
    let mut ignored = Ignored::default();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if !route.is_some_and(|route| route.has_parameter(&name, headers)) {
            ignored.add(Location::Top, &name);
        }
    }
    ignored.header()
}

/// The object that contains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// The body or the query.
    Top,
    /// The object in this field of the body.
    Within(&'static str),
    /// The element with this index in this list of the body.
    Element(&'static str, usize),
}

impl Location {
    fn field(self) -> Option<&'static str> {
        match self {
            Self::Top => None,
            Self::Within(field) | Self::Element(field, _) => Some(field),
        }
    }
}

/// Writes the prefix of a field's path.
impl Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Within(field) => write!(f, "{field}."),
            Self::Element(list, index) => write!(f, "{list}.{index}."),
        }
    }
}

/// The first few ignored names. A name in several list elements appears once, with the first element.
#[derive(Default)]
pub(crate) struct Ignored {
    names: Vec<(Location, String)>,
    /// Whether the body has a known field, except the record's ID.
    has_known: bool,
}

impl Ignored {
    pub(crate) fn add(&mut self, location: Location, name: &str) {
        if self.names.len() == MAX_IGNORED_NAMES {
            return;
        }
        let end = name.char_indices().nth(MAX_IGNORED_CHARS).map_or(name.len(), |(end, _)| end);
        let name = &name[..end];
        if !self.names.iter().any(|(other, known)| known == name && other.field() == location.field()) {
            self.names.push((location, name.to_owned()));
        }
    }

    /// Notes a known field.
    pub(crate) fn note_known(&mut self, location: Location, name: &str) {
        self.has_known |= location == Location::Top && name != "id";
    }

    /// Returns whether the body has a known field, except the record's ID.
    pub(crate) fn has_known(&self) -> bool {
        self.has_known
    }

    /// Moves the body's own names to the front.
    pub(crate) fn sort(&mut self) {
        self.names.sort_by_key(|(location, _)| *location != Location::Top);
    }

    /// Returns the header value: percent-encoded names, separated by commas.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = String::new();
        for (location, name) in &self.names {
            let separator = if value.is_empty() { "" } else { ", " };
            // Writing to a String cannot fail.
            let _ = write!(value, "{separator}{location}");
            let longest = value.len() + MAX_IGNORED_CHARS;
            for char in name.chars() {
                let before = value.len();
                value.extend(byte_serialize(char.encode_utf8(&mut [0; 4]).as_bytes()));
                if value.len() > longest {
                    value.truncate(before);
                    break;
                }
            }
        }
        HeaderValue::try_from(value).ok().filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::{
        HeaderMap, HeaderValue,
        header::{ACCEPT, CONTENT_TYPE},
    };

    use super::{
        Ignored,
        Location::{Element, Top, Within},
    };
    use crate::{ROUTES, Route};

    fn route(method: &str, path: &str) -> &'static Route {
        ROUTES.iter().find(|route| (route.method, route.path) == (method, path)).unwrap()
    }

    fn ignored(route: &Route, query: &str) -> Option<String> {
        let path = route.path.replace("{id}", "7");
        let headers = [(ACCEPT, "text/event-stream"), (CONTENT_TYPE, "text/csv")];
        let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect();
        super::ignored_parameters(Some(route), &path, query, &headers).map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn only_ignored_parameters_are_listed() {
        let urls = "perpage=5&page=2&incident_status=Open&perpage=6&a%2Cb%0D=&disabled=";
        assert_eq!(ignored(route("get", "/api/urls"), urls).as_deref(), Some("perpage, incident_status, a%2Cb%0D"));
        assert_eq!(ignored(route("post", "/api/urls"), "page=1").as_deref(), Some("page"));
        for none in ["", "after=1"] {
            assert_eq!(ignored(route("get", "/api/changes"), none), None, "{none}");
        }
        assert_eq!(super::ignored_parameters(None, "/docs", "x=1", &HeaderMap::new()), None);
        assert_eq!(super::ignored_parameters(None, "/api/x", "x=1", &HeaderMap::new()).unwrap(), "x");
    }

    /// Each operation documents exactly the parameters that have an effect.
    #[test]
    fn only_undocumented_parameters_are_reported_as_ignored() {
        let document: serde_json::Value = serde_json::from_str(include_str!("../../docs/openapi.json")).unwrap();
        let every_name: BTreeSet<&str> =
            ROUTES.iter().flat_map(|route| route.query).flat_map(|it| it.names()).collect();
        let mut documented = 0;
        for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/")) {
            let operation = &document["paths"][route.path][route.method];
            let parameters = ["parameters", "x-file-parameters"].map(|key| operation[key].as_array());
            let of_query = parameters.into_iter().flatten().flatten().filter(|parameter| parameter["in"] == "query");
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
    fn ignored_parameter_list_is_bounded() {
        let many: Vec<String> = (0..50).map(|number| format!("{number}{}", "x".repeat(100))).collect();
        let listed = ignored(route("get", "/api/cases"), &many.join("&")).unwrap();
        assert_eq!((listed.split(", ").count(), listed.len()), (10, 10 * 64 + 9 * 2));
    }

    #[test]
    fn ignored_names_are_deduplicated_and_truncated() {
        let mut ignored = Ignored::default();
        assert_eq!(ignored.header(), None);
        for index in [3, 4] {
            ignored.add(Element("affiliates", index), "city2");
            ignored.add(Top, "city2");
            ignored.add(Within("case"), "city2");
            ignored.add(Top, "\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}");
        }
        let five = "%F0%9F%98%80".repeat(5);
        assert_eq!(ignored.header().unwrap(), format!("affiliates.3.city2, city2, case.city2, {five}").as_str());
        ignored.sort();
        assert_eq!(ignored.header().unwrap(), format!("city2, {five}, affiliates.3.city2, case.city2").as_str());
    }
}

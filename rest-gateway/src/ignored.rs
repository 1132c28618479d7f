//! The names in a request that have no effect, which headers of the response list.

use std::fmt::Write as _;

use http::{HeaderName, HeaderValue, Uri};
use url::form_urlencoded::{self, byte_serialize};

use crate::{
    limits::{MAX_IGNORED_CHARS, MAX_IGNORED_NAMES},
    route::Route,
};

/// Lists the parameters of the query that were ignored.
pub(crate) const IGNORED_PARAMETERS: HeaderName = HeaderName::from_static("x-ignored-parameters");
/// Lists the fields of the body that were ignored.
pub(crate) const IGNORED_FIELDS: HeaderName = HeaderName::from_static("x-ignored-fields");

/// The first ignored names, without repetition, however many there are.
#[derive(Default)]
pub(crate) struct Ignored(Vec<Name>);

struct Name {
    /// The list that holds the object, and the object's index in it.
    element: Option<(&'static str, usize)>,
    /// Its first characters.
    text: String,
}

impl Ignored {
    /// Adds a name of the query, or of the body itself.
    pub(crate) fn add(&mut self, name: &str) {
        self.add_at(None, name);
    }

    /// Adds a name of an element of the body's list. Each name is kept once, with the index of the first element that has it.
    pub(crate) fn add_of_element(&mut self, list: &'static str, index: usize, name: &str) {
        self.add_at(Some((list, index)), name);
    }

    fn add_at(&mut self, element: Option<(&'static str, usize)>, name: &str) {
        if self.0.len() == MAX_IGNORED_NAMES {
            return;
        }
        let end = name.char_indices().nth(MAX_IGNORED_CHARS).map_or(name.len(), |(end, _)| end);
        let (text, list) = (&name[..end], element.map(|(list, _)| list));
        if !self.0.iter().any(|known| known.text == text && known.element.map(|(list, _)| list) == list) {
            self.0.push(Name { element, text: text.to_owned() });
        }
    }

    /// The header that lists the names, percent-encoded and separated by commas; `None` if there are none.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = String::new();
        for Name { element, text } in &self.0 {
            if !value.is_empty() {
                value.push_str(", ");
            }
            if let Some((list, index)) = element {
                // Writing to a text does not fail.
                let _ = write!(value, "{list}.{index}.");
            }
            let longest = value.len() + MAX_IGNORED_CHARS;
            for char in text.chars() {
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

/// The header that lists the parameters of a request under `/api` that its operation does not have: all of them without an operation.
pub(crate) fn ignored_parameters(route: Option<&Route>, uri: &Uri) -> Option<HeaderValue> {
    let query = uri.query().filter(|_| uri.path().starts_with("/api/"))?;
    let mut ignored = Ignored::default();
    for (name, _) in form_urlencoded::parse(query.as_bytes()) {
        if !route.is_some_and(|route| route.has_parameter(&name)) {
            ignored.add(&name);
        }
    }
    ignored.header()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Uri;

    use super::Ignored;
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

    /// The parameters of every operation in the document are those that have an effect.
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
    fn few_names_are_kept_and_each_is_short() {
        let many: Vec<String> = (0..50).map(|number| format!("{number}{}", "x".repeat(100))).collect();
        let named = ignored(route("get", "/api/cases"), &many.join("&")).unwrap();
        assert_eq!((named.split(", ").count(), named.len()), (10, 10 * 64 + 9 * 2));

        let mut ignored = Ignored::default();
        assert_eq!(ignored.header(), None);
        for index in [3, 4] {
            ignored.add_of_element("affiliates", index, "city2");
            ignored.add("city2");
            ignored.add("\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}");
        }
        let five = "%F0%9F%98%80".repeat(5);
        assert_eq!(ignored.header().unwrap(), format!("affiliates.3.city2, city2, {five}").as_str());
    }
}

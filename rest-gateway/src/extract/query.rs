//! Query strings. Unknown parameters are ignored, and empty ones are absent.

use std::{borrow::Cow, collections::HashMap, convert::Infallible, sync::Arc};

use axum::extract::FromRequestParts;
use compliance_api::{
    description::{Field, Kind},
    error::Error,
    rules::{self, Check, Violations, label, not_one_of},
    v1::{Format, ListChangesRequest},
};
use http::request::Parts;
use prost::Message;
use url::form_urlencoded;

use super::{
    draft::Draft,
    json::Scalar,
    object::{Object, Value, in_json},
};
use crate::{
    path::PathId,
    request_record::RequestRecord,
    route::{LAST_EVENT_PARAMETER, Route, is_parameter},
};

/// The parameters of pages. Programs append them to a URL that has them already, so the last value counts.
const PAGING: &[&str] = &["sort_by", "sort_dir", "per_page", "page"];
/// The first number of unsupported parameters, which are reported after the fields of the request.
const UNSUPPORTED: u32 = 1 << 16;

/// The query of a request.
pub(crate) struct Query {
    text: Option<String>,
    route: Option<&'static Route>,
}

impl Query {
    /// Returns the request whose fields are the parameters.
    pub(crate) fn request<M: Check + Message + Default>(&self) -> Result<M, Error> {
        self.draft::<M>(&[], |_| String::new()).message()
    }

    /// Returns the request about the record of a path.
    pub(crate) fn of_record<M: Check + Message + Default>(
        &self,
        path: &PathId,
        not_found: fn(String) -> Error,
    ) -> Result<M, Error> {
        self.draft::<M>(&[], |_| String::new()).of_record(path, not_found)
    }

    /// Returns the request for a page of a list.
    pub(crate) fn page<M: Check + Message + Default>(&self) -> Result<M, Error> {
        let message = |label: &str| {
            format!("The {label} field is only for whole lists: send Accept: application/x-ndjson or text/csv.")
        };
        self.draft::<M>(&["changed_after"], message).message()
    }

    /// Returns the request for a whole list, which has no pages.
    pub(crate) fn whole_list<M: Check + Message + Default>(&self) -> Result<M, Error> {
        let message = |label: &str| {
            format!("The {label} field is only for pages: NDJSON and CSV return the whole list, sorted by ID.")
        };
        self.draft::<M>(PAGING, message).message()
    }

    /// Returns the request for changes. `last_event_id`, or else `lastEventId` of the query, replaces `after`. All must be valid.
    pub(crate) fn changes(&self, last_event_id: Option<&str>) -> Result<ListChangesRequest, Error> {
        let sent = self.request::<ListChangesRequest>();
        let in_query = form_urlencoded::parse(self.text.as_deref().unwrap_or_default().as_bytes())
            .filter(|(name, value)| name == LAST_EVENT_PARAMETER && !value.is_empty());
        let last = last_event_id.filter(|last| !last.is_empty()).map(Cow::Borrowed);
        // Clients append the parameter whenever they connect again.
        let Some(last) = last.or_else(|| in_query.last().map(|(_, value)| value)) else { return sent };
        let text = form_urlencoded::Serializer::new(String::new()).append_pair("after", &last).finish();
        let replacing = Self { text: Some(text), route: self.route }.request::<ListChangesRequest>();
        // The core does not see the replaced value.
        let mut violations = violations_of(&sent);
        violations.merge(violations_of(&replacing));
        match (sent, replacing) {
            (Ok(sent), Ok(last)) if violations.is_empty() => Ok(ListChangesRequest { after: last.after, ..sent }),
            _ => Err(Error::invalid(violations)),
        }
    }

    /// Reads a request by its description. `message` is the violation of an `unsupported` parameter, by its label.
    fn draft<M: Check>(&self, unsupported: &[&'static str], message: impl Fn(&str) -> String) -> Draft<'_> {
        debug_assert!(
            self.route.is_some_and(|it| it.query.iter().any(|known| known.name == M::MESSAGE.name)),
            "the route does not declare that it reads {}",
            M::MESSAGE.name
        );
        let mut values: HashMap<Cow<str>, Vec<Cow<str>>> = HashMap::new();
        for (name, value) in form_urlencoded::parse(self.text.as_deref().unwrap_or_default().as_bytes()) {
            values.entry(name).or_default().push(value);
        }
        let (mut object, mut violations) = (Object::new(M::MESSAGE), Violations::new());
        for field in M::MESSAGE.fields.iter().filter(|field| is_parameter(field)) {
            let Some(texts) = values.remove(field.name) else { continue };
            match one(field, texts).and_then(|text| text.map(|text| value(field, text)).transpose()) {
                Ok(Some(value)) => object.set(field.name, value),
                Ok(None) => {}
                Err(violation) => violations.push((0, field.number), || (field.name.to_owned(), violation)),
            }
        }
        let is_sent = |name: &str| values.get(name).and_then(|texts| texts.last()).is_some_and(|last| !last.is_empty());
        for (number, name) in (UNSUPPORTED..).zip(unsupported).filter(|(_, name)| is_sent(name)) {
            violations.push((0, number), || ((*name).to_owned(), message(&label(name))));
        }
        Draft::new(object, violations)
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let route = parts.extensions.get::<Arc<RequestRecord>>().and_then(|record| record.route);
        Ok(Self { text: parts.uri.query().map(str::to_owned), route })
    }
}

/// Returns all violations of a request that was read, including violations of the rules.
fn violations_of<M: Check>(read: &Result<M, Error>) -> Violations {
    match read {
        Ok(message) => rules::check(message),
        Err(error) => error.violations.clone(),
    }
}

/// Returns the text of a parameter, if it has one. Lists are joined, and a filter with two values is a violation.
fn one<'q>(field: &Field, mut texts: Vec<Cow<'q, str>>) -> Result<Option<Cow<'q, str>>, String> {
    let is_paging = PAGING.contains(&field.name);
    texts.retain(|text| is_paging || !text.is_empty());
    if field.is_list && texts.len() > 1 {
        return Ok(Some(texts.join(",").into()));
    }
    let Some(last) = texts.pop().filter(|last| !last.is_empty()) else { return Ok(None) };
    if !is_paging && texts.iter().any(|other| *other != last) {
        return Err(format!("The {} field must have only one value. The request has several.", label(field.name)));
    }
    Ok(Some(last))
}

/// Returns the value of a parameter, or the violation if its text has the wrong type.
fn value<'q>(field: &Field, text: Cow<'q, str>) -> Result<Value<'q>, String> {
    let one_of = |names: Vec<&str>| {
        let is_known = names.contains(&&*text);
        if is_known { Ok(()) } else { Err(not_one_of(&label(field.name), &names)) }
    };
    Ok(match field.kind {
        Kind::Integer(_) => Value::Scalar(Scalar::Integer(integer(field, &text)?)),
        Kind::Flag => {
            one_of(vec!["yes", "no"])?;
            Value::Scalar(Scalar::Flag(text == "yes"))
        }
        Kind::Choice(choices) => {
            one_of(choices.iter().map(|(_, name)| *name).collect())?;
            Value::text(in_json(&text))
        }
        Kind::Text if field.is_list => Value::List(text.split(',').map(|text| Value::text(text.to_owned())).collect()),
        Kind::Text if field.format == Format::Timestamp => Value::text(with_plus(text)),
        Kind::Text => Value::text(text),
        // No parameter is a message.
        Kind::Message(_) => Value::Scalar(Scalar::Other),
    })
}

/// Returns a timestamp with the plus sign of its offset, which is a space in a query. Nothing else follows the time after a space.
fn with_plus(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.rsplit_once(' ') {
        Some((time, offset)) if time.len() >= "YYYY-MM-DD HH:MM:SS".len() => format!("{time}+{offset}").into(),
        _ => text,
    }
}

fn integer(field: &Field, text: &str) -> Result<i64, String> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("The {} field must be an integer.", label(field.name)));
    }
    // The rules report a number outside of 64 bits as out of range.
    Ok(text.parse().unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        error::Error,
        v1::{
            ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, ListComplianceCasesRequest,
            ListComplianceUrlsRequest, SearchChangesRequest, SortDirection, UrlSort,
        },
    };

    use super::Query;
    use crate::ROUTES;

    /// The query of a request to the operation of a path.
    fn query(path: &str, text: Option<&str>) -> Query {
        let route = ROUTES.iter().find(|route| (route.method, route.path) == ("get", path));
        Query { text: text.map(str::to_owned), route }
    }

    fn urls(text: Option<&str>) -> Result<ListComplianceUrlsRequest, Error> {
        query("/api/urls", text).page()
    }

    fn cases(text: Option<&str>) -> Result<ListComplianceCasesRequest, Error> {
        query("/api/cases", text).page()
    }

    fn violations(query: &str) -> Vec<(String, String)> {
        let error = urls(Some(query)).unwrap_err();
        error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn every_parameter_has_its_field() {
        let request = urls(Some(
            "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&discovery_before=2024-12-31\
             &sort_by=last_seen&sort_dir=asc&per_page=5&page=2&colour=red&infraction_after=2024-02-01&infraction_before=2024-02-29",
        ));
        let expected = ListComplianceUrlsRequest {
            incident_status_id: Some(3),
            distributor_id: Some(7),
            disabled: Some(true),
            discovery_after: Some("2024-01-01".into()),
            discovery_before: Some("2024-12-31".into()),
            sort_by: UrlSort::LastSeen.into(),
            sort_dir: SortDirection::Asc.into(),
            per_page: Some(5),
            page: Some(2),
            infraction_after: Some("2024-02-01".into()),
            infraction_before: Some("2024-02-29".into()),
        };
        assert_eq!(request.unwrap(), expected);
    }

    #[test]
    fn an_empty_parameter_is_absent_and_of_paging_the_last_counts() {
        assert_eq!(urls(None).unwrap(), ListComplianceUrlsRequest::default());
        let request = urls(Some("disabled=&page=x&page=3&per_page=5&per_page=&%73ort_by=id"));
        let expected = ListComplianceUrlsRequest { page: Some(3), sort_by: UrlSort::Id.into(), ..Default::default() };
        assert_eq!(request.unwrap(), expected);
    }

    #[test]
    fn a_filter_has_one_value() {
        let request = urls(Some("disabled=&disabled=yes&disabled=yes&distributor_id=7&distributor_id="));
        let expected =
            ListComplianceUrlsRequest { disabled: Some(true), distributor_id: Some(7), ..Default::default() };
        assert_eq!(request.unwrap(), expected);
        let several = |label: &str| format!("The {label} field must have only one value. The request has several.");
        assert_eq!(
            violations("disabled=yes&distributor_id=7&disabled=no&distributor_id=x&page=2&page=3"),
            [("distributor_id", "distributor id"), ("disabled", "disabled")]
                .map(|(path, label)| (path.to_owned(), several(label)))
        );
        let request = query("/api/changes", Some("types=url&types=case,affiliate")).changes(None).unwrap();
        assert_eq!(request.types, ["url", "case", "affiliate"]);
    }

    #[test]
    fn a_plus_sign_of_an_offset_need_not_be_encoded() {
        for (sent, read) in [
            ("2026-01-31T14:00:00+02:00", "2026-01-31T14:00:00+02:00"),
            ("2026-01-31+14:00:00.5%2B0200", "2026-01-31 14:00:00.5+0200"),
            ("2026-01-31+14:00:00+02", "2026-01-31 14:00:00+02"),
            ("2026-01-31+14:00:00", "2026-01-31 14:00:00"),
        ] {
            let request = query("/api/audit", Some(&format!("from={sent}"))).request::<SearchChangesRequest>();
            assert_eq!(request.unwrap().from.as_deref(), Some(read), "{sent}");
        }
    }

    #[test]
    fn every_violation_is_reported_in_the_order_of_the_parameters() {
        let reported = violations(
            "page=1.0&per_page=201&sort_dir=up&sort_by=url&discovery_after=soon&disabled=maybe&distributor_id=0",
        );
        let expected = [
            ("distributor_id", "The distributor id field must be between 1 and 9007199254740991."),
            ("disabled", "The selected disabled is invalid. It must be one of: yes, no."),
            ("discovery_after", "The discovery after field must match the format YYYY-MM-DD."),
            (
                "sort_by",
                "The selected sort by is invalid. It must be one of: id, discovery_dt, last_review_dt, last_seen.",
            ),
            ("sort_dir", "The selected sort dir is invalid. It must be one of: asc, desc."),
            ("per_page", "The per page field must be between 1 and 200."),
            ("page", "The page field must be an integer."),
        ];
        assert_eq!(reported, expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    }

    #[test]
    fn a_whole_list_has_filters_and_no_pages() {
        let text = "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&page=&discovery_before=2024-12-31&infraction_after=2024-02-01";
        let request = query("/api/urls", Some(text)).whole_list::<ListAllComplianceUrlsRequest>();
        let expected = ListAllComplianceUrlsRequest {
            incident_status_id: Some(3),
            distributor_id: Some(7),
            disabled: Some(true),
            discovery_after: Some("2024-01-01".into()),
            discovery_before: Some("2024-12-31".into()),
            after_id: None,
            changed_after: None,
            infraction_after: Some("2024-02-01".into()),
            infraction_before: None,
        };
        assert_eq!(request.unwrap(), expected);
        let text = "page=1&sort_dir=asc&per_page=5&sort_by=id&case_status_id=0";
        let error = query("/api/cases", Some(text)).whole_list::<ListAllComplianceCasesRequest>().unwrap_err();
        let paths: Vec<String> = error.violations.into_iter().map(|violation| violation.path).collect();
        assert_eq!(paths, ["case_status_id", "sort_by", "sort_dir", "per_page", "page"]);
    }

    #[test]
    fn violations_of_the_query_and_of_the_last_event_are_reported_together() {
        let paths = |text, last| {
            let error = query("/api/changes", Some(text)).changes(last).unwrap_err();
            error.violations.into_iter().map(|violation| violation.path).collect::<Vec<_>>()
        };
        assert_eq!(paths("limit=x&types=url,x", Some("?")), ["after", "types.1", "limit"]);
        assert_eq!(paths("limit=0&after=x", Some("-1")), ["after", "limit"]);
        assert_eq!(paths("limit=0&after=5", Some("9007199254740992")), ["after", "limit"]);
        assert_eq!(paths("after=x", Some("7")), ["after"]);
        let request = query("/api/changes", Some("limit=5&after=3")).changes(Some("7")).unwrap();
        assert_eq!((request.after, request.limit), (Some(7), Some(5)));
    }

    #[test]
    fn the_last_event_is_in_the_header_or_in_the_query() {
        let after = |text, last| query("/api/changes", Some(text)).changes(last).unwrap().after;
        assert_eq!(after("after=3&lastEventId=5&lastEventId=6", Some("7")), Some(7));
        assert_eq!(after("after=3&lastEventId=5&lastEventId=6", Some("")), Some(6));
        assert_eq!(after("after=3&lastEventId=", None), Some(3));
        assert_eq!(after("lastEventId=6", None), Some(6));
        assert!(query("/api/changes", Some("lastEventId=x")).changes(None).is_err());
    }

    #[test]
    fn integers_are_written_as_integers() {
        for wrong in ["5.0", "5e0", "+5", "%205", "-", "five", "%00", "%FF"] {
            assert_eq!(
                violations(&format!("per_page={wrong}"))[0].1,
                "The per page field must be an integer.",
                "{wrong}"
            );
        }
        assert_eq!(cases(Some("page=99999999999999999999")).unwrap().page, Some(i64::MAX));
        assert_eq!(cases(Some("page=-99999999999999999999")).unwrap().page, Some(i64::MIN));
    }
}

//! Builds requests from a path, a query, headers and a body, and collects all violations.
//!
//! Unknown query parameters are ignored. Empty parameters count as absent.

use std::{borrow::Cow, collections::HashMap, convert::Infallible};

use axum::extract::FromRequestParts;
use compliance_api::{
    description::{Field, Kind, Message as Description},
    error::Error,
    rules::{self, Check, Checker, Violations, label, not_one_of},
    v1::{Format, ListChangesRequest},
};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use prost::Message;
use url::form_urlencoded;

use super::{
    json::Scalar,
    object::{Object, Value, in_json},
};
use crate::{
    content::is_foreign_option,
    head::{IfMatch, PathId},
    route::{LAST_EVENT_PARAMETER, Location, is_parameter},
};

/// Page parameters. Programs append them to URLs that already contain them, so the last value wins.
const PAGING: &[&str] = &["sort_by", "sort_dir", "per_page", "page"];
/// Lowest sort number of unsupported parameters. They are reported after the request's fields.
const UNSUPPORTED: u32 = 1 << 16;

/// A request under construction.
pub(crate) struct Draft<'de> {
    object: Object<'de>,
    violations: Violations,
}

impl<'de> Draft<'de> {
    pub(super) fn of(object: Object<'de>, violations: Violations) -> Self {
        Self { object, violations }
    }

    /// Creates a request without a body or query.
    pub(crate) fn empty<M: Check>() -> Self {
        Self::of(Object::new(M::MESSAGE), Violations::new())
    }

    /// Adds the etags from `If-Match`.
    pub(crate) fn if_match(mut self, if_match: &IfMatch) -> Self {
        let etag = if_match.etag(&mut self.violations);
        if !etag.is_empty() {
            self.object.set("etag", Value::text(etag));
        }
        self
    }

    /// Returns the message.
    pub(crate) fn message<M: Check + Message + Default>(self) -> Result<M, Error> {
        self.wrapped(|message: M| message)
    }

    /// Returns the message, wrapped in a request.
    pub(super) fn wrapped<M: Message + Default, R: Check>(mut self, wrap: impl FnOnce(M) -> R) -> Result<R, Error> {
        let message = self.object.message(Location::Top, &mut self.violations)?;
        accept(self.violations, wrap(message))
    }

    /// Returns the message for the record that the path identifies. Other violations take precedence over an impossible ID.
    pub(crate) fn of_record<M: Check + Message + Default>(
        mut self,
        path: &PathId,
        not_found: fn(String) -> Error,
    ) -> Result<M, Error> {
        if let Some(id) = path.possible() {
            self.object.set("id", Value::Scalar(Scalar::Integer(id)));
        }
        let message = self.message()?;
        path.record_id_after(&message, not_found)?;
        Ok(message)
    }
}

/// A request and the gateway's violations. The core also checks the names in the company's vocabularies.
///
/// If there are violations, the request is marked invalid: the core cannot save it.
pub(crate) struct Checked<M> {
    pub(crate) message: M,
    pub(crate) violations: Violations,
    /// The field that marks the request.
    pub(crate) mark: &'static str,
}

impl<M: Check> Check for Checked<M> {
    const MESSAGE: &'static Description = M::MESSAGE;

    fn check(&self, checker: &mut Checker) {
        self.message.check(checker);
    }
}

impl Draft<'_> {
    /// Returns the message and the gateway's violations. `mark` is an optional text field.
    pub(super) fn checked<M: Check + Message + Default>(mut self, mark: &'static str) -> Result<Checked<M>, Error> {
        let message: M = self.object.message(Location::Top, &mut self.violations)?;
        if self.violations.is_empty() {
            return Ok(Checked { message, violations: self.violations, mark });
        }
        self.violations.merge(rules::check(&message));
        // No text can contain this character.
        self.object.set(mark, Value::text("\0"));
        let message = self.object.message(Location::Top, &mut Violations::new())?;
        // The core's status cannot contain more violations.
        if compliance_api::has_all(&rules::check(&message)) {
            Ok(Checked { message, violations: self.violations, mark })
        } else {
            Err(Error::invalid(self.violations))
        }
    }

    /// Like [`checked`](Self::checked), for the record that the path identifies.
    pub(super) fn checked_record<M: Check + Message + Default>(
        mut self,
        path: &PathId,
        not_found: fn(String) -> Error,
    ) -> Result<Checked<M>, Error> {
        let Some(id) = path.possible() else {
            return Err(self.of_record::<M>(path, not_found).err().unwrap_or_else(Error::internal));
        };
        self.object.set("id", Value::Scalar(Scalar::Integer(id)));
        self.checked("etag")
    }
}

/// Returns the message, or all violations including rule violations.
pub(super) fn accept<M: Check>(mut violations: Violations, message: M) -> Result<M, Error> {
    if violations.is_empty() {
        return Ok(message);
    }
    violations.merge(rules::check(&message));
    Err(Error::invalid(violations))
}

/// A request's query.
pub(crate) struct Query {
    text: String,
}

impl Query {
    pub(super) fn parameters(&self) -> form_urlencoded::Parse<'_> {
        form_urlencoded::parse(self.text.as_bytes())
    }

    /// Rejects options in the query of a JSON request. The service would save what the caller only wants to check.
    pub(super) fn refuse_options(&self) -> Result<(), Error> {
        let mut violations = Violations::new();
        for (name, _) in self.parameters().filter(|(name, value)| !value.is_empty() && is_foreign_option(name)) {
            violations.report(name, |label| {
                format!(
                    "The {label} parameter has no effect on a JSON request. Send options such as validate_only in the body. To send a \
                     table, set the header Content-Type to text/csv or the media type of .xlsx."
                )
            });
        }
        if violations.is_empty() { Ok(()) } else { Err(Error::invalid(violations)) }
    }

    /// Returns the names of parameters that are not UTF-8.
    fn not_utf8(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let is_text = |text: &str| percent_decode_str(text).decode_utf8().is_ok();
        let wrong = self.text.split('&').filter(move |parameter| !is_text(parameter));
        wrong.flat_map(|parameter| form_urlencoded::parse(parameter.as_bytes()).map(|(name, _)| name))
    }

    /// Returns the request with the parameters as its fields.
    pub(crate) fn request<M: Check + Message + Default>(&self) -> Result<M, Error> {
        self.draft::<M>(&[], |_| String::new()).message()
    }

    /// Returns the request for the record that the path identifies.
    pub(crate) fn of_record<M: Check + Message + Default>(
        &self,
        path: &PathId,
        not_found: fn(String) -> Error,
    ) -> Result<M, Error> {
        self.draft::<M>(&[], |_| String::new()).of_record(path, not_found)
    }

    /// Returns whether the query contains a value for any request field.
    pub(crate) fn has_any<M: Check>(&self) -> bool {
        self.parameters().any(|(name, value)| !value.is_empty() && M::MESSAGE.fields.iter().any(|it| it.name == name))
    }

    /// Returns the request for a page of a list.
    pub(crate) fn page<M: Check + Message + Default>(&self) -> Result<M, Error> {
        let message = |label: &str| {
            format!("The {label} field is only for whole lists: send Accept: application/x-ndjson or text/csv.")
        };
        self.draft::<M>(&["changed_after"], message).message()
    }

    /// Returns the request for a whole list, without pages.
    pub(crate) fn whole_list<M: Check + Message + Default>(&self) -> Result<M, Error> {
        let message = |label: &str| {
            format!("The {label} field is only for pages: NDJSON and CSV return the whole list, sorted by ID.")
        };
        self.draft::<M>(PAGING, message).message()
    }

    /// Returns the request without its list, and all violations of its other fields. The parameters are the fields.
    pub(super) fn beside_list<M: Check + Message + Default>(&self) -> Result<(M, Violations), Error> {
        let Draft { object, mut violations } = self.draft::<M>(&[], |_| String::new());
        let message = object.message(Location::Top, &mut violations)?;
        let mut of_rules = rules::check(&message);
        for list in M::MESSAGE.fields.iter().filter(|field| field.is_list) {
            of_rules.forget(list.name);
        }
        violations.merge(of_rules);
        Ok((message, violations))
    }

    /// Returns the request for changes. `last_event_id`, or else the query's `lastEventId`, replaces `after`. Both must be valid.
    pub(crate) fn changes(&self, last_event_id: Option<&str>) -> Result<ListChangesRequest, Error> {
        let sent = self.request::<ListChangesRequest>();
        let in_query = self.parameters().filter(|(name, value)| name == LAST_EVENT_PARAMETER && !value.is_empty());
        let last = last_event_id.filter(|last| !last.is_empty()).map(|last| ("Last-Event-ID", Cow::Borrowed(last)));
        // Clients append the parameter on every reconnect, so the last value wins.
        let in_query = || in_query.last().map(|(_, value)| (LAST_EVENT_PARAMETER, value));
        let Some((name, last)) = last.or_else(in_query) else { return sent };
        let text = form_urlencoded::Serializer::new(String::new()).append_pair("after", &last).finish();
        let replacing = Self { text }.request::<ListChangesRequest>();
        // The core never sees the replaced value, so check it here.
        let mut violations = violations_of(&sent);
        let mut of_last = Violations::new();
        for violation in violations_of(&replacing) {
            of_last.report(name, |label| violation.message.replacen("after", label, 1));
        }
        violations.merge(of_last);
        match (sent, replacing) {
            (Ok(sent), Ok(last)) if violations.is_empty() => Ok(ListChangesRequest { after: last.after, ..sent }),
            _ => Err(Error::invalid(violations)),
        }
    }

    /// Reads a request according to its description. `message` returns the violation of an `unsupported` parameter, given its label.
    fn draft<M: Check>(&self, unsupported: &[&'static str], message: impl Fn(&str) -> String) -> Draft<'_> {
        let mut values: HashMap<Cow<str>, Vec<Cow<str>>> = HashMap::new();
        for (name, value) in self.parameters() {
            values.entry(name).or_default().push(value);
        }
        let (mut object, mut violations) = (Object::new(M::MESSAGE), Violations::new());
        let not_utf8: Vec<_> = self.not_utf8().collect();
        for field in M::MESSAGE.fields.iter().filter(|field| is_parameter(field)) {
            let Some(texts) = values.remove(field.name) else { continue };
            // Other kinds report a type violation instead.
            if matches!(field.kind, Kind::Text) && not_utf8.iter().any(|name| name == field.name) {
                violations.report(field.name, |label| format!("The {label} field must be UTF-8."));
                continue;
            }
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
        Draft::of(object, violations)
    }
}

impl Query {
    pub(super) fn of(parts: &Parts) -> Self {
        Self { text: parts.uri.query().unwrap_or_default().to_owned() }
    }
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// Returns all violations of a request, including rule violations.
fn violations_of<M: Check>(read: &Result<M, Error>) -> Violations {
    match read {
        Ok(message) => rules::check(message),
        Err(error) => error.violations.clone(),
    }
}

/// Returns a parameter's text, if any. Joins lists. A filter with several values is a violation.
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

/// Returns a parameter's value, or the violation if the text has the wrong type.
fn value<'q>(field: &Field, text: Cow<'q, str>) -> Result<Value<'q>, String> {
    let one_of = |names: Vec<&str>| {
        let is_known = names.contains(&&*text);
        if is_known { Ok(()) } else { Err(not_one_of(&label(field.name), &names)) }
    };
    Ok(match field.kind {
        Kind::Integer(_) => Value::Scalar(Scalar::Integer(integer(field, &text)?)),
        Kind::Flag => {
            // Request options are true or false, as in a body.
            let [yes, no] = if field.may_be_absent { ["yes", "no"] } else { ["true", "false"] };
            if text != yes && text != no {
                return Err(format!("The {} field must be {yes} or {no}.", label(field.name)));
            }
            Value::Scalar(Scalar::Flag(text == yes))
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

/// Restores the plus sign of a timestamp's offset, which a query turns into a space. Only an offset can follow the time.
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
    // The rules report numbers beyond 64 bits as out of range.
    Ok(text.parse().unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests;

//! Parses bodies that contain one record or a list of records.

use std::marker::PhantomData;

use compliance_api::{
    description::{Field, Kind, Message as Description},
    error::Error,
    rules::{self, Check, Violations, check_element},
    wire::MAX_ITEMS,
};
use memchr::memchr_iter;
use prost::Message;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    json::{Key, Read, Scalar, Shape, read},
    object::{Object, Value, ValueShape, report},
    request::{Draft, accept},
};
use crate::{
    content::misspelled_option,
    limits::MAX_IGNORED_CHARS,
    route::{Ignored, Location, options_of},
};

/// Maximum number of unknown keys to compare with the options.
const MAX_COMPARED: usize = 1000;

/// A received body.
pub(crate) struct Input<'de> {
    pub(crate) bytes: &'de [u8],
    /// Maximum memory for the messages of a list, in bytes.
    pub(crate) memory: usize,
    pub(crate) ignored: &'de mut Ignored,
}

/// Reads a body that is one object.
pub(super) fn one<M: Check>(Input { bytes, ignored, .. }: Input<'_>) -> Result<Draft<'_>, Error> {
    let value = read(bytes, ValueShape::object(M::MESSAGE, Location::Top, &mut *ignored));
    let Value::Object(object) = value.map_err(|error| not_json(bytes, &error))? else {
        return Err(Error::invalid(Violations::one("body", NOT_AN_OBJECT)));
    };
    ignored.sort();
    Ok(Draft::of(object, Violations::new()))
}

/// Returns a message's list field, and its element type.
pub(super) fn list_of(message: &Description) -> Option<(&'static Field, &'static Description)> {
    message.fields.iter().find_map(|field| match field.kind {
        Kind::Message(element) if field.is_list => Some((field, element)),
        _ => None,
    })
}

/// Rejects a body with too many list elements before reserving memory for them.
pub(super) fn refuse_many_items(list: &Field, bytes: &[u8]) -> Result<(), Error> {
    // Every element that needs memory begins with a brace, so few bodies need an exact count.
    let most = list.max_items.unwrap_or(MAX_ITEMS);
    if memchr_iter(b'{', bytes).count() <= MAX_ITEMS
        || read(bytes, Elements(Some(list.name))).is_ok_and(|it| it <= most)
    {
        return Ok(());
    }
    Err(Error::invalid(Violations::too_many_items(list.name, most)))
}

/// Counts the elements of an array, or of the array with this name in an object.
struct Elements(Option<&'static str>);

impl<'de> Shape<'de> for Elements {
    type Output = usize;

    fn scalar(self, _: Scalar<'de>) -> usize {
        0
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<usize, A::Error> {
        let mut elements = 0;
        while array.next_element::<IgnoredAny>()?.is_some() {
            elements += usize::from(self.0.is_none());
        }
        Ok(elements)
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<usize, A::Error> {
        let mut elements = 0;
        while let Some(Key(name)) = entries.next_key()? {
            if self.0 == Some(&*name) {
                // The last list wins.
                elements = entries.next_value_seed(Read(Self(None)))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(elements)
    }
}

/// Returns the error for a body that is not JSON, with the error's position.
fn not_json(bytes: &[u8], error: &serde_json::Error) -> Error {
    let message = match str::from_utf8(bytes) {
        Err(error) => format!("The body must be UTF-8. Byte {} is not.", error.valid_up_to() + 1),
        Ok("") => "The body must be valid JSON. It is empty.".to_owned(),
        Ok(_) => {
            format!("The body must be valid JSON. The error is at line {}, column {}.", error.line(), error.column())
        }
    };
    Error::invalid(Violations::one("body", message))
}

const NOT_AN_OBJECT: &str = "The body must be a JSON object.";

/// Returns the error for a batch that is not an object. For a bare list, the error names the list's key.
fn not_an_object<M: Check>(bytes: &[u8]) -> Error {
    let list = list_of(M::MESSAGE).filter(|_| bytes.trim_ascii_start().starts_with(b"["));
    let key = list.map(|(list, _)| format!(" Send the list in the field {}.", list.name)).unwrap_or_default();
    Error::invalid(Violations::one("body", format!("{NOT_AN_OBJECT}{key}")))
}

/// A body with the fields of a record `M`, or with a list of records for a batch request `R`.
pub(super) struct Document<'de, M, R> {
    /// The fields of the body itself.
    top: Object<'de>,
    list: Option<Vec<M>>,
    /// Maximum number of messages that fit in memory.
    max_items: usize,
    /// Expected number of elements. Without it, the growing list would repeatedly copy large messages.
    expected_items: usize,
    /// The request's fields, except its list.
    options: Object<'de>,
    /// Violations of the body itself.
    pub(super) violations: Violations,
    of_list: Violations,
    /// Set after a violation: later elements are checked and dropped.
    is_checked: bool,
    /// Why reading the list stopped early. serde errors carry only text.
    refused: Option<Error>,
    ignored: &'de mut Ignored,
    request: PhantomData<R>,
}

impl<'de, M: Check + Message + Default, R: Check + Message + Default> Document<'de, M, R> {
    pub(super) fn read(Input { bytes, memory, ignored }: Input<'de>) -> Result<Self, Error> {
        let max_items = memory / size_of::<M>();
        let mut document = Self {
            top: Object::new(M::MESSAGE),
            list: None,
            max_items,
            expected_items: memchr_iter(b'{', bytes).count().min(max_items).min(MAX_ITEMS),
            options: Object::new(R::MESSAGE),
            violations: Violations::new(),
            of_list: Violations::new(),
            is_checked: false,
            refused: None,
            ignored,
            request: PhantomData,
        };
        match read(bytes, &mut document) {
            Ok(true) => Ok(document),
            Ok(false) => Err(not_an_object::<R>(bytes)),
            Err(error) => Err(document.refused.unwrap_or_else(|| not_json(bytes, &error))),
        }
    }

    pub(super) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// Returns the request for a single record, or all violations.
    pub(super) fn into_one<O: Check>(mut self, request: impl FnOnce(M, &mut Violations) -> O) -> Result<O, Error> {
        if let Some(field) = R::MESSAGE.field("validate_only").filter(|field| self.options.is_true(field.name)) {
            report(&mut self.violations, Location::Top, field.name, field.number, "is allowed only in a batch");
        }
        self.options.message::<R>(Location::Top, &mut self.violations)?;
        let one = self.top.message(Location::Top, &mut self.violations)?;
        let request = request(one, &mut self.violations);
        accept(self.violations, request)
    }

    /// Returns the batch request, or all violations. `fill` adds the list. Ignores record fields of the body itself.
    pub(super) fn into_batch(mut self, fill: impl FnOnce(&mut R, Vec<M>)) -> Result<R, Error> {
        self.top.sent().for_each(|name| self.ignored.add(Location::Top, name));
        let mut request = self.options.message(Location::Top, &mut self.violations)?;
        self.violations.merge(self.of_list);
        fill(&mut request, self.list.unwrap_or_default());
        if !self.is_checked {
            return accept(self.violations, request);
        }
        let mut of_rules = rules::check(&request);
        // The elements were dropped, so the rules see an empty list.
        of_rules.forget(list_name::<R>());
        self.violations.merge(of_rules);
        Err(Error::invalid(self.violations))
    }
}

fn list_name<R: Check>() -> &'static str {
    list_of(R::MESSAGE).map_or("", |(field, _)| field.name)
}

/// Reads the body. Returns whether it is an object.
impl<'de, M: Check + Message + Default, R: Check> Shape<'de> for &mut Document<'de, M, R> {
    type Output = bool;

    fn scalar(self, _: Scalar<'de>) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let (options, mut unknown) = (options_of(R::MESSAGE).collect::<Vec<_>>(), 0);
        while let Some(Key(name)) = entries.next_key()? {
            if name == list_name::<R>() {
                // The last list wins. Discard an earlier list with its violations.
                (self.of_list, self.is_checked) = (Violations::new(), false);
                self.list = Some(entries.next_value_seed(Read(ListShape(&mut *self)))?);
            } else if self.top.read(&name, &mut entries, self.ignored)?
                || self.options.read(&name, &mut entries, self.ignored)?
            {
                self.ignored.note_known(Location::Top, &name);
            } else {
                unknown += 1;
                if unknown <= MAX_COMPARED
                    && name.len() <= MAX_IGNORED_CHARS
                    && let Some(message) = misspelled_option(&name, &options)
                {
                    // Ignoring an option could save what the caller only wants to check.
                    self.violations.report(&*name, |_| message);
                }
                self.ignored.add(Location::Top, &name);
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(true)
    }
}

/// Reads a document's list.
struct ListShape<'a, 'de, M, R>(&'a mut Document<'de, M, R>);

impl<'de, M: Check + Message + Default, R: Check> Shape<'de> for ListShape<'_, 'de, M, R> {
    type Output = Vec<M>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if value != Scalar::Null {
            report(&mut self.0.of_list, Location::Top, list_name::<R>(), 0, "must be an array");
        }
        Vec::new()
    }

    fn array<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Output, A::Error> {
        let (Self(document), name) = (self, list_name::<R>());
        let mut items = Vec::with_capacity(document.expected_items);
        for index in 0.. {
            let location = Location::Element(name, index);
            let shape = ValueShape::object(M::MESSAGE, location, &mut *document.ignored);
            let Some(value) = array.next_element_seed(Read(shape))? else { break };
            let mut of_element = Violations::new();
            let element = match value {
                _ if index == MAX_ITEMS => Err(Error::invalid(Violations::too_many_items(name, MAX_ITEMS))),
                _ if items.len() == document.max_items => Err(Error::body_too_large()),
                Value::Object(object) => object.message::<M>(location, &mut of_element),
                _ => {
                    let entry = M::MESSAGE.fields.iter().find(|field| field.entry);
                    let form = entry.map(|field| format!(" with the field {}", field.name)).unwrap_or_default();
                    report(&mut of_element, location, "", 0, &format!("must be an object{form}"));
                    Ok(M::default())
                }
            };
            let element = element.map_err(|error| {
                document.refused = Some(error);
                A::Error::custom("the list was rejected")
            })?;
            if !document.is_checked && of_element.is_empty() {
                items.push(element);
                continue;
            }
            document.is_checked = true;
            for (index, element) in std::mem::take(&mut items).iter().enumerate() {
                document.of_list.append(check_element(name, index, element));
            }
            of_element.merge(check_element(name, index, &element));
            document.of_list.append(of_element);
        }
        Ok(items)
    }
}

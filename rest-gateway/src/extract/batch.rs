//! A body that is one record, or has a list of records.

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
    draft::{Draft, accept},
    json::{Key, Read, Scalar, Shape, read},
    object::{Object, ObjectShape, report},
};
use crate::ignored::{Ignored, Location};

/// A received body.
pub(crate) struct Input<'de> {
    pub(crate) bytes: &'de [u8],
    /// Bytes that the messages of a list may use.
    pub(crate) memory: usize,
    pub(crate) ignored: &'de mut Ignored,
}

/// Reads a body that is one object.
pub(super) fn one<M: Check>(Input { bytes, ignored, .. }: Input<'_>) -> Result<Draft<'_>, Error> {
    let (mut object, mut violations) = (Object::new(M::MESSAGE), Violations::new());
    let shape = ObjectShape { object: &mut object, location: Location::Top, ignored: &mut *ignored };
    if !read(bytes, shape).map_err(|_| not_json())? {
        return Err(not_an_object());
    }
    ignored.sort();
    object.report(Location::Top, &mut violations);
    Ok(Draft::new(object, violations))
}

/// Returns the list of messages in a message.
pub(super) fn list_of(message: &Description) -> Option<(&'static Field, &'static Description)> {
    message.fields.iter().find_map(|field| match field.kind {
        Kind::Message(element) if field.is_list => Some((field, element)),
        _ => None,
    })
}

fn not_json() -> Error {
    Error::invalid(Violations::one("body", "The body must be valid JSON."))
}

fn not_an_object() -> Error {
    Error::invalid(Violations::one("body", "The body must be a JSON object."))
}

/// A body with the fields of a record `M`, or with a list of records, which become a batch request `R`.
pub(super) struct Document<'de, M, R> {
    /// The fields of the body itself.
    pub(super) top: Object<'de>,
    list: Option<Vec<M>>,
    /// The fields of the request next to its list.
    options: Object<'de>,
    /// Violations of the body itself.
    pub(super) violations: Violations,
    of_list: Violations,
    /// After a violation, elements are checked by the rules and dropped.
    is_checked: bool,
    ignored: &'de mut Ignored,
    request: PhantomData<R>,
}

impl<'de, M: Check + Message + Default, R: Check + Message + Default> Document<'de, M, R> {
    pub(super) fn read(Input { bytes, memory, ignored }: Input<'de>) -> Result<Self, Error> {
        let max_items = memory / size_of::<M>();
        let mut refused = None;
        let document = Self {
            top: Object::new(M::MESSAGE),
            list: None,
            options: Object::new(R::MESSAGE),
            violations: Violations::new(),
            of_list: Violations::new(),
            is_checked: false,
            ignored,
            request: PhantomData,
        };
        let shape = DocumentShape {
            document,
            max_items,
            // Messages are wide, and a growing list is copied again and again.
            expected_items: memchr_iter(b'{', bytes).count().min(max_items).min(MAX_ITEMS),
            refused: &mut refused,
        };
        match read(bytes, shape) {
            Ok(document) => document.ok_or_else(not_an_object),
            Err(_) => Err(refused.unwrap_or_else(not_json)),
        }
    }

    pub(super) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// Returns the request about the body itself, or all violations.
    pub(super) fn into_one<O: Check>(mut self, request: impl FnOnce(M) -> O) -> Result<O, Error> {
        if let Some(field) = R::MESSAGE.field("validate_only").filter(|field| self.options.is_true(field.name)) {
            report(&mut self.violations, Location::Top, field.name, field.number, "is allowed only in a batch");
        }
        self.options.report(Location::Top, &mut self.violations);
        self.top.report(Location::Top, &mut self.violations);
        accept(self.violations, request(self.top.message()?))
    }

    /// Returns the batch request, or all violations. `fill` adds the list. The fields of the body itself are ignored.
    pub(super) fn into_batch(mut self, fill: impl FnOnce(&mut R, Vec<M>)) -> Result<R, Error> {
        self.top.sent().for_each(|name| self.ignored.add(Location::Top, name));
        self.options.report(Location::Top, &mut self.violations);
        self.violations.merge(self.of_list);
        let mut request = self.options.message()?;
        fill(&mut request, self.list.unwrap_or_default());
        if !self.is_checked {
            return accept(self.violations, request);
        }
        let mut of_rules = rules::check(&request);
        // The elements are gone, so the rules find an empty list.
        of_rules.forget(list_name::<R>());
        self.violations.merge(of_rules);
        Err(Error::invalid(self.violations))
    }
}

fn list_name<R: Check>() -> &'static str {
    list_of(R::MESSAGE).map_or("", |(field, _)| field.name)
}

struct DocumentShape<'a, 'de, M, R> {
    document: Document<'de, M, R>,
    max_items: usize,
    expected_items: usize,
    /// Why a list is not read to its end. Errors of serde carry text only.
    refused: &'a mut Option<Error>,
}

/// `None` if the body is not an object.
impl<'de, M: Check + Message + Default, R: Check> Shape<'de> for DocumentShape<'_, 'de, M, R> {
    type Output = Option<Document<'de, M, R>>;

    fn scalar(self, _: Scalar<'de>) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Output, A::Error> {
        let Self { mut document, max_items, expected_items, refused } = self;
        while let Some(Key(name)) = entries.next_key()? {
            if name == list_name::<R>() {
                // The last list counts. An earlier one is forgotten with its violations.
                (document.of_list, document.is_checked) = (Violations::new(), false);
                document.list = Some(entries.next_value_seed(Read(ListShape::<M> {
                    name: list_name::<R>(),
                    max_items,
                    refused: &mut *refused,
                    ignored: &mut *document.ignored,
                    violations: &mut document.of_list,
                    is_checked: &mut document.is_checked,
                    items: Vec::with_capacity(expected_items),
                }))?);
            } else if !document.top.read(&name, &mut entries, document.ignored)?
                && !document.options.read(&name, &mut entries, document.ignored)?
            {
                document.ignored.add(Location::Top, &name);
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(document))
    }
}

struct ListShape<'a, M> {
    name: &'static str,
    max_items: usize,
    refused: &'a mut Option<Error>,
    ignored: &'a mut Ignored,
    violations: &'a mut Violations,
    is_checked: &'a mut bool,
    items: Vec<M>,
}

impl<'de, M: Check + Message + Default> Shape<'de> for ListShape<'_, M> {
    type Output = Vec<M>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if value != Scalar::Null {
            report(self.violations, Location::Top, self.name, 0, "must be an array");
        }
        Vec::new()
    }

    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Output, A::Error> {
        let mut object = Object::new(M::MESSAGE);
        for index in 0.. {
            object.clear();
            let location = Location::Element(self.name, index);
            let shape = ObjectShape { object: &mut object, location, ignored: &mut *self.ignored };
            let Some(is_object) = array.next_element_seed(Read(shape))? else { break };
            let element = match index {
                MAX_ITEMS => Err(Error::invalid(Violations::too_many_items(self.name, MAX_ITEMS))),
                _ if self.items.len() == self.max_items => Err(Error::body_too_large()),
                _ => object.message::<M>(),
            };
            let element = element.map_err(|error| {
                *self.refused = Some(error);
                A::Error::custom("the list is refused")
            })?;
            let mut of_element = Violations::new();
            let has_rules = is_object && object.report(location, &mut of_element);
            if !is_object {
                report(&mut of_element, location, "", 0, "must be an object");
            }
            if !*self.is_checked && of_element.is_empty() {
                self.items.push(element);
                continue;
            }
            *self.is_checked = true;
            for (index, element) in std::mem::take(&mut self.items).iter().enumerate() {
                self.violations.append(check_element(self.name, index, element));
            }
            if has_rules {
                of_element.merge(check_element(self.name, index, &element));
            }
            self.violations.append(of_element);
        }
        Ok(self.items)
    }
}

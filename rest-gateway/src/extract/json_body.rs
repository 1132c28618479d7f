//! Bodies: an object with fields of its own or with a list of such objects.

use std::marker::PhantomData;

use compliance_api::{
    description::Message as Description,
    error::Error,
    rules::{self, Check, Violations, check_element},
    wire::MAX_ITEMS,
};
use memchr::memchr_iter;
use prost::Message;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    checked::accept,
    json::{Key, Read, Shape, Value, read},
    object::{At, Object},
};
use crate::ignored::Ignored;

const VALIDATE_ONLY: &str = "validate_only";
/// What a body may have next to its list, if the message of its operation has such a field.
const OPTIONS: [&str; 4] = [VALIDATE_ONLY, "report_absent", "absent_status", "max_absent"];

/// A message that is made of an object.
pub(super) trait FromObject: Check + Sized {
    /// Key of the list that holds such objects.
    const LIST: &'static str;

    /// An object with its keys.
    fn object<'de>() -> Object<'de>;

    /// The message about an object that was read.
    fn from_object(object: &Object<'_>) -> Result<Self, Error>;
}

/// A body as it was sent.
pub(super) struct JsonBody<'de, M> {
    /// The fields of the body itself.
    pub(super) top: Object<'de>,
    list: Option<Vec<M>>,
    options: Object<'de>,
    /// Violations of the body itself.
    pub(super) violations: Violations,
    /// Violations of the list and its elements.
    of_list: Violations,
    /// An element violates something, so all of them were checked by the rules, and are gone.
    is_checked: bool,
}

impl<M: FromObject> JsonBody<'_, M> {
    /// Whether the body has a list.
    pub(super) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// The message about the body itself. Otherwise everything that it violates.
    pub(super) fn into_one<R: Check>(mut self, message: impl FnOnce(M) -> R) -> Result<R, Error> {
        if self.options.value(VALIDATE_ONLY) == Some(&Value::Flag(true)) {
            let number = self.options.number(VALIDATE_ONLY);
            At::Body.must(&mut self.violations, VALIDATE_ONLY, number, "is for a batch");
        }
        self.options.report(At::Body, &mut self.violations);
        self.top.report(At::Body, &mut self.violations);
        accept(self.violations, message(M::from_object(&self.top)?))
    }

    /// The message about the list, which `fill` adds to its options. The fields of the body itself have no effect. Otherwise
    /// everything that it violates.
    pub(super) fn into_batch<R: Check + Message + Default>(
        mut self,
        ignored: &mut Ignored,
        fill: impl FnOnce(&mut R, Vec<M>),
    ) -> Result<R, Error> {
        self.top.sent().for_each(|name| ignored.add(name));
        self.options.report(At::Body, &mut self.violations);
        self.violations.merge(self.of_list);
        let mut message = self.options.message()?;
        fill(&mut message, self.list.unwrap_or_default());
        if !self.is_checked {
            return accept(self.violations, message);
        }
        let mut of_rules = rules::check(&message);
        // To the rules, the list is empty.
        of_rules.forget(M::LIST);
        self.violations.merge(of_rules);
        Err(Error::invalid(self.violations))
    }
}

/// Reads a body, whose list becomes messages that may take `memory` bytes. `batch` describes the message of the list.
pub(super) fn document<'de, M: FromObject>(
    body: &'de [u8],
    memory: usize,
    batch: &'static Description,
    ignored: &mut Ignored,
) -> Result<JsonBody<'de, M>, Error> {
    let max_items = memory / size_of::<M>();
    let mut refused = None;
    let shape = DocumentShape {
        batch,
        max_items,
        // Messages are wide, and a list that grows while it is read is copied again and again.
        expected_items: memchr_iter(b'{', body).count().min(max_items).min(MAX_ITEMS),
        refused: &mut refused,
        ignored,
        message: PhantomData,
    };
    match read(body, shape) {
        Ok(document) => document.ok_or_else(not_an_object),
        Err(_) => Err(refused.unwrap_or_else(not_json)),
    }
}

/// Reads a body that is one object.
pub(super) fn one<'de>(body: &'de [u8], object: &mut Object<'de>, ignored: &mut Ignored) -> Result<(), Error> {
    let shape = ObjectShape { object: &mut *object, at: At::Body, ignored: &mut *ignored };
    if !read(body, shape).map_err(|_| not_json())? {
        return Err(not_an_object());
    }
    object.report_ignored(ignored);
    Ok(())
}

fn not_json() -> Error {
    Error::invalid(Violations::one("body", "The body must be valid JSON."))
}

fn not_an_object() -> Error {
    Error::invalid(Violations::one("body", "The body must be a JSON object."))
}

struct DocumentShape<'a, M> {
    batch: &'static Description,
    max_items: usize,
    expected_items: usize,
    /// Why a list is not read to its end: serde's errors carry text alone.
    refused: &'a mut Option<Error>,
    ignored: &'a mut Ignored,
    message: PhantomData<M>,
}

/// `None` if the body is not an object.
impl<'de, M: FromObject> Shape<'de> for DocumentShape<'_, M> {
    type Output = Option<JsonBody<'de, M>>;

    fn value(self, _: Value<'de>) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Output, A::Error> {
        let mut document = JsonBody {
            top: M::object(),
            list: None,
            options: Object::new(self.batch.fields, None),
            violations: Violations::new(),
            of_list: Violations::new(),
            is_checked: false,
        };
        while let Some(Key(name)) = object.next_key()? {
            if document.top.read(&name, &mut object)?
                || OPTIONS.contains(&&*name) && document.options.read(&name, &mut object)?
            {
                continue;
            }
            if name != M::LIST {
                self.ignored.add(&name);
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            // The last list counts: an earlier one is forgotten with its violations.
            (document.of_list, document.is_checked) = (Violations::new(), false);
            document.list = Some(object.next_value_seed(Read(ListShape::<M> {
                max_items: self.max_items,
                refused: &mut *self.refused,
                ignored: &mut *self.ignored,
                violations: &mut document.of_list,
                is_checked: &mut document.is_checked,
                items: Vec::with_capacity(self.expected_items),
            }))?);
        }
        Ok(Some(document))
    }
}

struct ListShape<'a, M> {
    max_items: usize,
    refused: &'a mut Option<Error>,
    ignored: &'a mut Ignored,
    violations: &'a mut Violations,
    is_checked: &'a mut bool,
    items: Vec<M>,
}

impl<'de, M: FromObject> Shape<'de> for ListShape<'_, M> {
    type Output = Vec<M>;

    fn value(self, value: Value<'de>) -> Self::Output {
        if value != Value::Null {
            At::Body.must(self.violations, M::LIST, 0, "must be an array");
        }
        Vec::new()
    }

    /// Keeps the elements until one of them violates something. From there on, they are only checked by the rules.
    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Output, A::Error> {
        let mut object = M::object();
        for index in 0.. {
            object.clear();
            let at = At::Element(M::LIST, index);
            let item = ObjectShape { object: &mut object, at, ignored: &mut *self.ignored };
            let Some(is_object) = array.next_element_seed(Read(item))? else { break };
            let element = M::from_object(&object);
            let is_refused = match index {
                MAX_ITEMS => Some(Error::invalid(Violations::too_many_items(M::LIST, MAX_ITEMS))),
                _ if self.items.len() == self.max_items => Some(Error::body_too_large()),
                _ => None,
            };
            let element = match (is_refused, element) {
                (None, Ok(element)) => element,
                (None, Err(error)) | (Some(error), _) => {
                    *self.refused = Some(error);
                    return Err(A::Error::custom("the list is refused"));
                }
            };
            let mut of_element = Violations::new();
            let has_rules = is_object && object.report(at, &mut of_element);
            if !is_object {
                at.must(&mut of_element, "", 0, "must be an object");
            }
            if !*self.is_checked && of_element.is_empty() {
                self.items.push(element);
                continue;
            }
            *self.is_checked = true;
            for (index, element) in std::mem::take(&mut self.items).iter().enumerate() {
                self.violations.append(check_element(M::LIST, index, element));
            }
            if has_rules {
                of_element.merge(check_element(M::LIST, index, &element));
            }
            self.violations.append(of_element);
        }
        Ok(self.items)
    }
}

/// Reads an object, and returns whether the value is one.
struct ObjectShape<'a, 'de> {
    object: &'a mut Object<'de>,
    at: At,
    ignored: &'a mut Ignored,
}

impl<'de> Shape<'de> for ObjectShape<'_, 'de> {
    type Output = bool;

    fn value(self, _: Value<'de>) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        while let Some(Key(name)) = entries.next_key()? {
            if !self.object.read(&name, &mut entries)? {
                match self.at {
                    At::Body | At::Within(_) => self.ignored.add(&name),
                    At::Element(list, index) => self.ignored.add_of_element(list, index, &name),
                }
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(true)
    }
}

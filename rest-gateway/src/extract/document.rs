//! Bodies: an object with fields of its own or with a list of such objects.

use std::marker::PhantomData;

use compliance_api::{error::Error, rules::Check, wire::MAX_ITEMS};
use memchr::memchr_iter;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    body_violations::{At, BodyViolations, not_an_object, not_json, too_large, too_many_items},
    json::{Key, Read, Shape, Value, read},
};

/// An object with known keys, as it was sent.
pub(super) trait Object: Default + Into<Self::Message> {
    /// What the object stands for.
    type Message: Check;
    /// A known key.
    type Key;
    /// Key of the list that holds such objects.
    const LIST: &'static str;

    /// The known key of a name.
    fn key(&mut self, name: &str) -> Option<Self::Key>;

    /// Sets the value of a key. If a key is sent twice, the last value counts.
    fn set(&mut self, key: Self::Key, value: Value);

    /// Reports the values of the wrong type.
    fn report(&self, at: At, violations: &mut BodyViolations);
}

/// A body as it was sent.
pub(super) struct Document<O: Object> {
    /// The fields of the body itself.
    pub(super) top: O,
    /// The list, if the body has one.
    pub(super) list: Option<Vec<O::Message>>,
    /// Values of the wrong type within the list.
    pub(super) violations: BodyViolations,
}

/// Reads a body. The messages of its list may take `memory` bytes.
pub(super) fn document<O: Object>(body: &[u8], memory: usize) -> Result<Document<O>, Error> {
    let max_items = memory / size_of::<O::Message>();
    let mut refused = None;
    let shape = DocumentShape {
        max_items,
        // Messages are wide, and a list that grows while it is read is copied again and again.
        expected_items: memchr_iter(b'{', body).count().min(max_items).min(MAX_ITEMS),
        refused: &mut refused,
        object: PhantomData,
    };
    match read(body, shape) {
        Ok(document) => document.ok_or_else(not_an_object),
        Err(_) => Err(refused.unwrap_or_else(not_json)),
    }
}

/// Reads the entries of an object; `other` reads the value of a name that is not a known key.
fn read_entries<'de, O: Object, A: MapAccess<'de>>(
    object: &mut O,
    entries: &mut A,
    mut other: impl FnMut(&str, &mut A) -> Result<(), A::Error>,
) -> Result<(), A::Error> {
    while let Some(Key(name)) = entries.next_key()? {
        match object.key(&name) {
            Some(key) => object.set(key, entries.next_value()?),
            None => other(&name, entries)?,
        }
    }
    Ok(())
}

struct DocumentShape<'a, O> {
    max_items: usize,
    expected_items: usize,
    /// Why a list is not read to its end: serde's errors carry text alone.
    refused: &'a mut Option<Error>,
    object: PhantomData<O>,
}

/// `None` if the body is not an object.
impl<'de, O: Object> Shape<'de> for DocumentShape<'_, O> {
    type Output = Option<Document<O>>;

    fn value(self, _: Value) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Output, A::Error> {
        let mut top = O::default();
        let (mut list, mut violations) = (None, BodyViolations::default());
        read_entries(&mut top, &mut object, |name, object| {
            if name != O::LIST {
                return object.next_value::<IgnoredAny>().map(drop);
            }
            // The last list counts: an earlier one is forgotten with its violations.
            violations = BodyViolations::default();
            list = Some(object.next_value_seed(Read(ListShape::<O> {
                max_items: self.max_items,
                refused: &mut *self.refused,
                violations: &mut violations,
                items: Vec::with_capacity(self.expected_items),
            }))?);
            Ok(())
        })?;
        Ok(Some(Document { top, list, violations }))
    }
}

struct ListShape<'a, O: Object> {
    max_items: usize,
    refused: &'a mut Option<Error>,
    violations: &'a mut BodyViolations,
    items: Vec<O::Message>,
}

impl<'de, O: Object> Shape<'de> for ListShape<'_, O> {
    type Output = Vec<O::Message>;

    fn value(self, value: Value) -> Self::Output {
        if value != Value::Null {
            self.violations.push(At::Body, O::LIST, 0, "must be an array");
        }
        Vec::new()
    }

    /// Keeps the elements until one of them violates something. From there on, elements are checked by the rules as they
    /// are read, and are not kept.
    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Output, A::Error> {
        let mut is_valid = true;
        for index in 0.. {
            let mut object = O::default();
            let Some(is_object) = array.next_element_seed(Read(ItemShape(&mut object)))? else { break };
            let is_refused = match index {
                MAX_ITEMS => Some(too_many_items(O::LIST, MAX_ITEMS)),
                _ if self.items.len() == self.max_items => Some(too_large()),
                _ => None,
            };
            if is_refused.is_some() {
                *self.refused = is_refused;
                return Err(A::Error::custom("the list is too long"));
            }
            let (at, mut of_element) = (At::Element(O::LIST, index), BodyViolations::default());
            if is_object {
                object.report(at, &mut of_element);
            } else {
                of_element.push_only(at, "", 0, "must be an object");
            }
            let element = object.into();
            if is_valid && of_element.is_empty() {
                self.items.push(element);
                continue;
            }
            if is_valid {
                is_valid = false;
                self.violations.set_final();
                for (index, element) in std::mem::take(&mut self.items).iter().enumerate() {
                    self.violations.add_element(O::LIST, index, BodyViolations::default(), element);
                }
            }
            self.violations.add_element(O::LIST, index, of_element, &element);
        }
        Ok(self.items)
    }
}

/// Reads an element of the list into an object and returns whether it is one.
struct ItemShape<'o, O>(&'o mut O);

impl<'de, O: Object> Shape<'de> for ItemShape<'_, O> {
    type Output = bool;

    fn value(self, _: Value) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        read_entries(self.0, &mut object, |_, object| object.next_value::<IgnoredAny>().map(drop))?;
        Ok(true)
    }
}

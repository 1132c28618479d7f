//! Bodies: an object with fields of its own or with a list of such objects.

use std::marker::PhantomData;

use compliance_api::error::Error;
use memchr::memchr_iter;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    body_violations::{At, BodyViolations, not_an_object, not_json, too_large},
    json::{Key, Read, Shape, read},
};

/// An object with known keys, as it was sent.
pub(super) trait Object: Default + Into<Self::Message> {
    /// What the object stands for.
    type Message: Default;
    /// A known key.
    type Key;
    /// Key of the list that holds such objects.
    const LIST: &'static str;

    /// The known key of a name. `next` is where to search first: 0 for the first key of an object, then left to the
    /// implementation.
    fn key(name: &str, next: &mut usize) -> Option<Self::Key>;

    /// Reads the value of a key. If a key is sent twice, the last value counts.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: Self::Key, object: &mut A) -> Result<(), A::Error>;

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
    let mut overflow = false;
    let shape = DocumentShape {
        max_items,
        // Messages are wide, and a list that grows while it is read is copied again and again.
        expected_items: memchr_iter(b'{', body).count().min(max_items),
        overflow: &mut overflow,
        object: PhantomData,
    };
    match read(body, shape) {
        Ok(document) => document.ok_or_else(not_an_object),
        Err(_) if overflow => Err(too_large()),
        Err(_) => Err(not_json()),
    }
}

struct DocumentShape<'a, O> {
    max_items: usize,
    expected_items: usize,
    /// Set when the list has more than `max_items`, because serde's errors carry text alone.
    overflow: &'a mut bool,
    object: PhantomData<O>,
}

impl<'de, O: Object> Shape<'de> for DocumentShape<'_, O> {
    type Value = Option<Document<O>>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        enum Known<K> {
            List,
            Field(K),
            Nothing,
        }
        let mut document = Document { top: O::default(), list: None, violations: BodyViolations::default() };
        let mut next = 0;
        let mut key = |name: &str| match O::key(name, &mut next) {
            Some(key) => Known::Field(key),
            None if name == O::LIST => Known::List,
            None => Known::Nothing,
        };
        while let Some(known) = object.next_key_seed(Key::new(&mut key))? {
            match known {
                Known::Field(key) => document.top.read(key, &mut object)?,
                Known::List => {
                    // The last list counts: an earlier one is forgotten with its violations.
                    document.violations = BodyViolations::default();
                    let shape = ListShape::<O> {
                        max_items: self.max_items,
                        overflow: &mut *self.overflow,
                        violations: &mut document.violations,
                        items: Vec::with_capacity(self.expected_items),
                    };
                    document.list = Some(object.next_value_seed(Read(shape))?);
                }
                Known::Nothing => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(document))
    }
}

struct ListShape<'a, O: Object> {
    max_items: usize,
    overflow: &'a mut bool,
    violations: &'a mut BodyViolations,
    items: Vec<O::Message>,
}

impl<'de, O: Object> Shape<'de> for ListShape<'_, O> {
    type Value = Vec<O::Message>;

    fn other(self) -> Self::Value {
        self.violations.push(At::Body, O::LIST, 0, |label| format!("The {label} field must be an array."));
        Vec::new()
    }

    fn null(self) -> Self::Value {
        Vec::new()
    }

    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Value, A::Error> {
        while let Some(object) = array.next_element_seed(Read(ObjectShape::<O>(PhantomData)))? {
            let index = self.items.len();
            if index == self.max_items {
                *self.overflow = true;
                return Err(A::Error::custom("the list takes too much memory"));
            }
            let at = At::Element(O::LIST, index);
            if let Some(object) = object {
                object.report(at, self.violations);
                self.items.push((*object).into());
            } else {
                self.violations.push_only(at, "", 0, |label| format!("The {label} field must be an object."));
                // Those that follow keep their indexes.
                self.items.push(O::Message::default());
            }
        }
        Ok(self.items)
    }
}

/// An element of the list; `None` if it is not an object.
struct ObjectShape<O>(PhantomData<O>);

impl<'de, O: Object> Shape<'de> for ObjectShape<O> {
    type Value = Option<Box<O>>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut read = Box::<O>::default();
        let mut next = 0;
        let mut key = |name: &str| O::key(name, &mut next);
        while let Some(known) = object.next_key_seed(Key::new(&mut key))? {
            match known {
                Some(key) => read.read(key, &mut object)?,
                None => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(read))
    }
}

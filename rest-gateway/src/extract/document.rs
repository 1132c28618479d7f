//! Bodies: an object with fields of its own or with a list of such objects.

use std::{collections::HashMap, marker::PhantomData};

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations, check_element, label},
    wire::MAX_ITEMS,
};
use memchr::memchr_iter;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    accept,
    json::{Key, Read, Shape, Value, read},
};
use crate::ignored::Ignored;

const VALIDATE_ONLY: &str = "validate_only";
/// What a body may have next to its list.
const OPTIONS: [&str; 4] = [VALIDATE_ONLY, "report_absent", "absent_status", "max_absent"];

/// The object that a violation is in.
#[derive(Clone, Copy)]
pub(super) enum At {
    Body,
    /// The element of the body's list with this index.
    Element(&'static str, usize),
}

impl At {
    /// Adds a violation of a field, of which `number` is the number in its message, or of the object itself if `field` is
    /// empty: what it must do.
    pub(super) fn must(self, violations: &mut Violations, field: &str, number: u32, must: &str) {
        let item = match self {
            Self::Body => 0,
            Self::Element(_, index) => index as u32 + 1,
        };
        violations.push((item, number), || {
            let path = match self {
                Self::Body => field.to_owned(),
                Self::Element(list, index) => format!("{list}.{index}.{field}").trim_end_matches('.').to_owned(),
            };
            let message = format!("The {} field {must}.", label(&path));
            (path, message)
        });
    }
}

/// An object with known keys, as it was sent.
pub(super) trait Object: Default {
    /// A known key.
    type Key;
    /// Key of the list that holds such objects.
    const LIST: &'static str;

    /// The known key of a name.
    fn key(&mut self, name: &str) -> Option<Self::Key>;

    /// Sets the value of a key. If a key is sent twice, the last value counts.
    fn set(&mut self, key: Self::Key, value: Value);

    /// The known keys that were sent.
    fn sent(&self) -> impl Iterator<Item = &'static str>;

    /// Reports the values of the wrong type, and returns whether the rules apply to the object.
    fn report(&self, at: At, violations: &mut Violations) -> bool;
}

/// A body as it was sent.
pub(super) struct Document<O, M> {
    /// The fields of the body itself.
    pub(super) top: O,
    list: Option<Vec<M>>,
    options: HashMap<&'static str, Value>,
    /// Violations of the body itself.
    pub(super) violations: Violations,
    /// Violations of the list and its elements.
    of_list: Violations,
    /// An element violates something, so all of them were checked by the rules, and are gone.
    is_checked: bool,
}

impl<O: Object, M> Document<O, M> {
    /// Whether the body has a list.
    pub(super) fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// The message about the body itself. Otherwise everything that it violates.
    pub(super) fn into_one<R: Check>(
        mut self,
        ignored: &mut Ignored,
        message: impl FnOnce(O) -> R,
    ) -> Result<R, Error> {
        self.top.report(At::Body, &mut self.violations);
        self.options.keys().for_each(|option| ignored.add(option));
        accept(self.violations, message(self.top))
    }

    /// The message about the list, in which the fields of the body itself have no effect. Otherwise everything that it violates.
    pub(super) fn into_batch<R: Check>(
        mut self,
        ignored: &mut Ignored,
        message: impl FnOnce(Vec<M>) -> R,
    ) -> Result<R, Error> {
        self.top.sent().for_each(|name| ignored.add(name));
        self.options.keys().for_each(|option| ignored.add(option));
        self.violations.merge(self.of_list);
        let message = message(self.list.unwrap_or_default());
        if !self.is_checked {
            return accept(self.violations, message);
        }
        let mut of_rules = rules::check(&message);
        // To the rules, the list is empty.
        of_rules.forget(O::LIST);
        self.violations.merge(of_rules);
        Err(Error::invalid(self.violations))
    }

    /// Whether nothing is to be written. `number` is that of the field in the message of a batch, which alone can have it.
    pub(super) fn validate_only(&mut self, number: u32) -> bool {
        let is_set = self.flag(VALIDATE_ONLY, number);
        if is_set && self.list.is_none() {
            At::Body.must(&mut self.violations, VALIDATE_ONLY, number, "is for a batch");
        }
        is_set && self.list.is_some()
    }

    /// An option that is true or false. `number` is that of the field in the message.
    pub(super) fn flag(&mut self, option: &str, number: u32) -> bool {
        match self.options.remove(option).unwrap_or_default() {
            Value::Flag(flag) => return flag,
            Value::Null => {}
            _ => At::Body.must(&mut self.violations, option, number, "must be true or false"),
        }
        false
    }

    /// An option that is an integer.
    pub(super) fn integer(&mut self, option: &str, number: u32) -> Option<i64> {
        match self.options.remove(option).unwrap_or_default() {
            Value::Integer(integer) => return Some(integer),
            Value::Null => {}
            _ => At::Body.must(&mut self.violations, option, number, "must be an integer"),
        }
        None
    }

    /// An option that is a text.
    pub(super) fn text(&mut self, option: &str, number: u32) -> Option<String> {
        match self.options.remove(option).unwrap_or_default() {
            Value::Text(text) => return Some(text),
            Value::Null => {}
            _ => At::Body.must(&mut self.violations, option, number, "must be a string"),
        }
        None
    }
}

/// Reads a body, whose list becomes messages that may take `memory` bytes.
pub(super) fn document<O: Object, M: Check + From<O>>(
    body: &[u8],
    memory: usize,
    ignored: &mut Ignored,
) -> Result<Document<O, M>, Error> {
    let max_items = memory / size_of::<M>();
    let mut refused = None;
    let shape = DocumentShape {
        max_items,
        // Messages are wide, and a list that grows while it is read is copied again and again.
        expected_items: memchr_iter(b'{', body).count().min(max_items).min(MAX_ITEMS),
        refused: &mut refused,
        ignored,
        types: PhantomData,
    };
    let invalid = |message| Error::invalid(Violations::one("body", message));
    let document = read(body, shape).map_err(|_| refused.unwrap_or_else(|| invalid("The body must be valid JSON.")))?;
    document.ok_or_else(|| invalid("The body must be a JSON object."))
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

struct DocumentShape<'a, O, M> {
    max_items: usize,
    expected_items: usize,
    /// Why a list is not read to its end: serde's errors carry text alone.
    refused: &'a mut Option<Error>,
    ignored: &'a mut Ignored,
    types: PhantomData<(O, M)>,
}

/// `None` if the body is not an object.
impl<'de, O: Object, M: Check + From<O>> Shape<'de> for DocumentShape<'_, O, M> {
    type Output = Option<Document<O, M>>;

    fn value(self, _: Value) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Output, A::Error> {
        let mut top = O::default();
        let (mut list, mut of_list, mut is_checked) = (None, Violations::new(), false);
        let mut options = HashMap::new();
        read_entries(&mut top, &mut object, |name, object| {
            if let Some(option) = OPTIONS.into_iter().find(|option| *option == name) {
                options.insert(option, object.next_value()?);
                return Ok(());
            }
            if name != O::LIST {
                self.ignored.add(name);
                return object.next_value::<IgnoredAny>().map(drop);
            }
            // The last list counts: an earlier one is forgotten with its violations.
            (of_list, is_checked) = (Violations::new(), false);
            list = Some(object.next_value_seed(Read(ListShape::<O, M> {
                max_items: self.max_items,
                refused: &mut *self.refused,
                ignored: &mut *self.ignored,
                violations: &mut of_list,
                is_checked: &mut is_checked,
                items: Vec::with_capacity(self.expected_items),
                object: PhantomData,
            }))?);
            Ok(())
        })?;
        Ok(Some(Document { top, list, options, violations: Violations::new(), of_list, is_checked }))
    }
}

struct ListShape<'a, O, M> {
    max_items: usize,
    refused: &'a mut Option<Error>,
    ignored: &'a mut Ignored,
    violations: &'a mut Violations,
    is_checked: &'a mut bool,
    items: Vec<M>,
    object: PhantomData<O>,
}

impl<'de, O: Object, M: Check + From<O>> Shape<'de> for ListShape<'_, O, M> {
    type Output = Vec<M>;

    fn value(self, value: Value) -> Self::Output {
        if value != Value::Null {
            At::Body.must(self.violations, O::LIST, 0, "must be an array");
        }
        Vec::new()
    }

    /// Keeps the elements until one of them violates something. From there on, they are only checked by the rules.
    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Self::Output, A::Error> {
        for index in 0.. {
            let mut object = O::default();
            let item = ItemShape { object: &mut object, index, ignored: &mut *self.ignored };
            let Some(is_object) = array.next_element_seed(Read(item))? else { break };
            let is_refused = match index {
                MAX_ITEMS => Some(Error::invalid(Violations::too_many_items(O::LIST, MAX_ITEMS))),
                _ if self.items.len() == self.max_items => Some(Error::body_too_large()),
                _ => None,
            };
            if is_refused.is_some() {
                *self.refused = is_refused;
                return Err(A::Error::custom("the list is too long"));
            }
            let (at, mut of_element) = (At::Element(O::LIST, index), Violations::new());
            let has_rules = is_object && object.report(at, &mut of_element);
            if !is_object {
                at.must(&mut of_element, "", 0, "must be an object");
            }
            let element = M::from(object);
            if !*self.is_checked && of_element.is_empty() {
                self.items.push(element);
                continue;
            }
            *self.is_checked = true;
            for (index, element) in std::mem::take(&mut self.items).iter().enumerate() {
                self.violations.append(check_element(O::LIST, index, element));
            }
            if has_rules {
                of_element.merge(check_element(O::LIST, index, &element));
            }
            self.violations.append(of_element);
        }
        Ok(self.items)
    }
}

/// Reads an element of the list into an object and returns whether it is one.
struct ItemShape<'a, O> {
    object: &'a mut O,
    index: usize,
    ignored: &'a mut Ignored,
}

impl<'de, O: Object> Shape<'de> for ItemShape<'_, O> {
    type Output = bool;

    fn value(self, _: Value) -> bool {
        false
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<bool, A::Error> {
        read_entries(self.object, &mut object, |name, object| {
            self.ignored.add_of_element(O::LIST, self.index, name);
            object.next_value::<IgnoredAny>().map(drop)
        })?;
        Ok(true)
    }
}

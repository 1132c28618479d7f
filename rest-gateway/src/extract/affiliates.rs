//! Bodies of `POST /affiliates` and `PUT /affiliates/{id}`, single and batch.

mod record;

use std::marker::PhantomData;

use compliance_api::{
    error::Error,
    rules::{self, Violations},
    v1::{
        AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest,
        CreateAffiliateRequest, UpdateAffiliateRequest,
    },
};
use memchr::memchr_iter;
use serde::de::{Error as _, IgnoredAny, MapAccess, SeqAccess};

use super::{
    Form,
    faults::{Faults, Unreadable},
    json::{Integer, IntegerShape, Key, Read, Shape, read},
    path::PathId,
};
use record::{Known, Record, key};

const LIST: &str = "affiliates";

/// What a `POST` asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Create {
    One(Box<CreateAffiliateRequest>),
    Batch(BatchCreateAffiliatesRequest),
}

/// What a `PUT` asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum Update {
    One(Box<UpdateAffiliateRequest>),
    Batch(BatchUpdateAffiliatesRequest),
}

impl Form for Create {
    fn faults(&self) -> Violations {
        match self {
            Self::One(request) => rules::check(&**request),
            Self::Batch(request) => rules::check(request),
        }
    }
}

impl Form for Update {
    fn faults(&self) -> Violations {
        match self {
            Self::One(request) => rules::check(&**request),
            Self::Batch(request) => rules::check(request),
        }
    }
}

/// Reads the body of a `POST`. Its records may take `memory` bytes.
pub(crate) fn create(body: &[u8], memory: usize) -> Result<Create, Error> {
    let Document { top, list, mut faults } = document::<AffiliateInput>(body, memory)?;
    if let Some(affiliates) = list {
        return faults.or(BatchCreateAffiliatesRequest { affiliates }).map(Create::Batch);
    }
    top.report("", 0, &mut faults);
    faults.or(CreateAffiliateRequest { affiliate: Some(top.into()) }).map(|request| Create::One(Box::new(request)))
}

/// Reads the body of a `PUT` to `path`. Its records may take `memory` bytes.
pub(crate) fn update(body: &[u8], path: &PathId, memory: usize) -> Result<Update, Error> {
    let Document { top, list, mut faults } = document::<AffiliateUpdate>(body, memory)?;
    let update = if let Some(affiliates) = list {
        let request = BatchUpdateAffiliatesRequest { anchor_id: path.possible(), affiliates };
        faults.or(request).map(Update::Batch)
    } else {
        top.report("", 0, &mut faults);
        // A path that holds no number at all has nothing to compare with: it is unknown, which is told below.
        if let (Integer::Is(id), Some(number)) = (top.id, path.number)
            && id != number
        {
            faults.push("id".to_owned(), 0, 1, |label| format!("The {label} field must match the ID in the URL."));
        }
        faults.or(UpdateAffiliateRequest { update: Some(top.into()) }).map(|request| Update::One(Box::new(request)))
    }?;
    if path.possible().is_some() {
        return Ok(update);
    }
    // No record can have this ID, so the core is not asked for one; what is wrong with the body comes first.
    let faults = update.faults();
    Err(if faults.is_empty() { Error::affiliate_not_found(&path.text) } else { Error::invalid(faults) })
}

/// What a body holds: the fields of a single record, and the list when there is one.
struct Document<I> {
    top: Record,
    list: Option<Vec<I>>,
    faults: Faults,
}

fn document<I: Item>(body: &[u8], memory: usize) -> Result<Document<I>, Unreadable> {
    let mut overflow = false;
    let most = memory / size_of::<I>();
    // Records are wide: a list that grows as it is read is copied again and again.
    let expected = memchr_iter(b'{', body).count().min(most);
    let reading = TopShape { most, expected, overflow: &mut overflow, item: PhantomData::<I> };
    match read(body, reading) {
        Ok(document) => document.ok_or(Unreadable::NotAnObject),
        Err(_) if overflow => Err(Unreadable::TooMuch),
        Err(_) => Err(Unreadable::NotJson),
    }
}

/// An element of the list.
trait Item: From<Record> + Default {
    /// Whether `id` is one of its keys; else it is an unknown key like any other.
    const HAS_ID: bool;
}

impl Item for AffiliateInput {
    const HAS_ID: bool = false;
}

impl Item for AffiliateUpdate {
    const HAS_ID: bool = true;
}

/// The body itself.
struct TopShape<'a, I> {
    /// Records that there may be, and that there are at most by the look of the body.
    most: usize,
    expected: usize,
    overflow: &'a mut bool,
    item: PhantomData<I>,
}

impl<'de, I: Item> Shape<'de> for TopShape<'_, I> {
    type Value = Option<Document<I>>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut document = Document { top: Record::default(), list: None, faults: Faults::default() };
        let mut after = 0;
        while let Some(known) = object.next_key_seed(Key::new(|name: &str| key::<I>(name, &mut after)))? {
            match known {
                Known::Field(field) => document.top.read(field, &mut object)?,
                Known::Id => document.top.id = object.next_value_seed(Read(IntegerShape))?,
                Known::List => {
                    // The last list counts: an earlier one is forgotten with its faults.
                    document.faults = Faults::default();
                    let shape = ListShape::<I> {
                        most: self.most,
                        overflow: &mut *self.overflow,
                        faults: &mut document.faults,
                        items: Vec::with_capacity(self.expected),
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

/// The list of a batch.
struct ListShape<'a, I> {
    most: usize,
    overflow: &'a mut bool,
    faults: &'a mut Faults,
    items: Vec<I>,
}

impl<'de, I: Item> Shape<'de> for ListShape<'_, I> {
    type Value = Vec<I>;

    fn other(self) -> Vec<I> {
        self.faults.push(LIST.to_owned(), 0, 0, |label| format!("The {label} field must be an array."));
        Vec::new()
    }

    fn null(self) -> Vec<I> {
        Vec::new()
    }

    fn array<A: SeqAccess<'de>>(mut self, mut array: A) -> Result<Vec<I>, A::Error> {
        while let Some(record) = array.next_element_seed(Read(RecordShape::<I>(PhantomData)))? {
            let index = self.items.len();
            if index == self.most {
                *self.overflow = true;
                return Err(A::Error::custom("the records take too much memory"));
            }
            if let Some(record) = record {
                if record.is_wrong() {
                    record.report(&format!("{LIST}.{index}."), index as u32 + 1, self.faults);
                }
                self.items.push((*record).into());
            } else {
                self.faults.not_an_object(LIST, index);
                // Those that follow keep their places.
                self.items.push(I::default());
            }
        }
        Ok(self.items)
    }
}

/// An element of the list; `None` when it is no object.
struct RecordShape<I>(PhantomData<I>);

impl<'de, I: Item> Shape<'de> for RecordShape<I> {
    type Value = Option<Box<Record>>;

    fn other(self) -> Self::Value {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut record = Box::<Record>::default();
        let mut after = 0;
        while let Some(known) = object.next_key_seed(Key::new(|name: &str| key::<I>(name, &mut after)))? {
            match known {
                Known::Field(field) => record.read(field, &mut object)?,
                Known::Id => record.id = object.next_value_seed(Read(IntegerShape))?,
                Known::List | Known::Nothing => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests;

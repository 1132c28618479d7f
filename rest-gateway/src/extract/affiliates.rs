//! Bodies of `POST /affiliates` and `PUT /affiliates/{id}`, single and batch.

use compliance_api::{
    description::Message,
    error::Error,
    rules::{self, Check, Checker, Violations},
    v1::{
        AffiliateInput, AffiliateSync, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchSyncAffiliatesRequest,
        BatchUpdateAffiliatesRequest, CreateAffiliateRequest, EraseAffiliateRequest, UpdateAffiliateRequest,
    },
};

use super::{
    checked::accept,
    json_body::{FromObject, document},
    object::{At, Object},
    path::PathId,
};
use crate::{ignored::Ignored, tags::IfMatch};

/// What a body asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum OneOrBatch<One, Batch> {
    One(Box<One>),
    Batch(Batch),
}

/// What a `POST` asks for.
pub(crate) type Create = OneOrBatch<CreateAffiliateRequest, BatchCreateAffiliatesRequest>;
/// What a `PUT` asks for.
pub(crate) type Update = OneOrBatch<UpdateAffiliateRequest, BatchUpdateAffiliatesRequest>;

impl<One: Check, Batch: Check> Check for OneOrBatch<One, Batch> {
    const MESSAGE: &'static Message = Batch::MESSAGE;

    fn check(&self, checker: &mut Checker) {
        match self {
            Self::One(request) => request.check(checker),
            Self::Batch(request) => request.check(checker),
        }
    }
}

/// Reads the body of a `POST`. Its records may take `memory` bytes.
pub(crate) fn create(body: &[u8], memory: usize, ignored: &mut Ignored) -> Result<Create, Error> {
    let document = document::<AffiliateInput>(body, memory, BatchCreateAffiliatesRequest::MESSAGE, ignored)?;
    if document.has_list() {
        let fill = |request: &mut BatchCreateAffiliatesRequest, affiliates| request.affiliates = affiliates;
        return document.into_batch(ignored, fill).map(Create::Batch);
    }
    let request = |affiliate| CreateAffiliateRequest { affiliate: Some(affiliate) };
    document.into_one(request).map(|request| Create::One(Box::new(request)))
}

/// Reads the body of a `PUT` to `path`, of a record that must have one of the tags of `if_match`. Its records may take `memory` bytes.
pub(crate) fn update(
    body: &[u8],
    memory: usize,
    path: &PathId,
    if_match: &IfMatch,
    ignored: &mut Ignored,
) -> Result<Update, Error> {
    let mut document = document::<AffiliateUpdate>(body, memory, BatchUpdateAffiliatesRequest::MESSAGE, ignored)?;
    let update = if document.has_list() {
        if_match.refuse(&mut document.violations);
        let fill = |request: &mut BatchUpdateAffiliatesRequest, affiliates| {
            (request.anchor_id, request.affiliates) = (path.possible(), affiliates);
        };
        document.into_batch(ignored, fill).map(Update::Batch)
    } else {
        // A path without a number has nothing to compare with; it is reported as unknown below.
        if let (Some(id), Some(number)) = (document.top.id(), path.number)
            && id != number
        {
            At::Body.must(&mut document.violations, "id", 1, "must match the ID in the URL");
        }
        let etag = if_match.etag(&mut document.violations);
        let request = |update| UpdateAffiliateRequest { update: Some(AffiliateUpdate { etag, ..update }) };
        document.into_one(request).map(|request| Update::One(Box::new(request)))
    }?;
    if path.possible().is_some() {
        return Ok(update);
    }
    // No record can have this ID, so the core is not asked for one; violations of the body come first.
    let violations = rules::check(&update);
    Err(if violations.is_empty() { Error::affiliate_not_found(&path.text) } else { Error::invalid(violations) })
}

/// Reads the body of a `POST` to `:sync`. Its records may take `memory` bytes.
pub(crate) fn sync(body: &[u8], memory: usize, ignored: &mut Ignored) -> Result<BatchSyncAffiliatesRequest, Error> {
    let document = document::<AffiliateSync>(body, memory, BatchSyncAffiliatesRequest::MESSAGE, ignored)?;
    document.into_batch(ignored, |request: &mut BatchSyncAffiliatesRequest, affiliates| request.affiliates = affiliates)
}

/// The request to erase the affiliate of a path that has one of the tags.
pub(crate) fn erasure(path: PathId, if_match: &IfMatch) -> Result<EraseAffiliateRequest, Error> {
    let mut violations = Violations::new();
    let etag = if_match.etag(&mut violations);
    let request = accept(violations, EraseAffiliateRequest { id: 0, etag })?;
    Ok(EraseAffiliateRequest { id: path.record_id(Error::affiliate_not_found)?, ..request })
}

/// Key of a list of affiliates.
const LIST: &str = "affiliates";

impl FromObject for AffiliateInput {
    const LIST: &'static str = LIST;

    fn object<'de>() -> Object<'de> {
        Object::new(Self::MESSAGE.fields, None)
    }

    fn from_object(object: &Object<'_>) -> Result<Self, Error> {
        object.message()
    }
}

impl FromObject for AffiliateSync {
    const LIST: &'static str = LIST;

    fn object<'de>() -> Object<'de> {
        AffiliateInput::object()
    }

    fn from_object(object: &Object<'_>) -> Result<Self, Error> {
        let mut sync = Self { affiliate: Some(object.message()?), ..Self::default() };
        sync.update_mask.get_or_insert_default().paths = object.mask();
        Ok(sync)
    }
}

impl FromObject for AffiliateUpdate {
    const LIST: &'static str = LIST;

    fn object<'de>() -> Object<'de> {
        Object::new(AffiliateInput::MESSAGE.fields, Self::MESSAGE.field("id"))
    }

    fn from_object(object: &Object<'_>) -> Result<Self, Error> {
        let mut update = Self { id: object.id(), affiliate: Some(object.message()?), ..Self::default() };
        update.update_mask.get_or_insert_default().paths = object.mask();
        Ok(update)
    }
}

#[cfg(test)]
mod tests;

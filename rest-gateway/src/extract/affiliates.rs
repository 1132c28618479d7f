//! Bodies of `POST /affiliates` and `PUT /affiliates/{id}`, single and batch.

mod sent;

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
    v1::{
        AffiliateInput, AffiliateSync, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchSyncAffiliatesRequest,
        BatchUpdateAffiliatesRequest, CreateAffiliateRequest, UpdateAffiliateRequest,
    },
};

use super::{
    body::Form,
    document::{At, document},
    json::Value,
    path::PathId,
    tags::IfMatch,
};
use sent::SentAffiliate;

use crate::ignored::Ignored;

/// What a body asks for.
#[derive(Debug, PartialEq)]
pub(crate) enum OneOrBatch<One, Batch, const ELEMENT: usize, const KEY: usize> {
    One(Box<One>),
    Batch(Batch),
}

/// What a `POST` asks for.
pub(crate) type Create =
    OneOrBatch<CreateAffiliateRequest, BatchCreateAffiliatesRequest, { size_of::<AffiliateInput>() }, 0>;
/// What a `PUT` asks for.
pub(crate) type Update =
    OneOrBatch<UpdateAffiliateRequest, BatchUpdateAffiliatesRequest, { size_of::<AffiliateUpdate>() }, MASKED>;

/// What a key takes that a mask names.
const MASKED: usize = size_of::<String>() + 32;

impl<One: Check, Batch: Check, const ELEMENT: usize, const KEY: usize> Form for OneOrBatch<One, Batch, ELEMENT, KEY> {
    const ELEMENT: usize = ELEMENT;
    const KEY: usize = KEY;

    fn violations(&self) -> Violations {
        match self {
            Self::One(request) => rules::check(&**request),
            Self::Batch(request) => rules::check(request),
        }
    }
}

impl Form for BatchSyncAffiliatesRequest {
    const ELEMENT: usize = size_of::<AffiliateSync>();
    const KEY: usize = MASKED;

    fn violations(&self) -> Violations {
        rules::check(self)
    }
}

/// Reads the body of a `POST`. Its records may take `memory` bytes.
pub(crate) fn create(body: &[u8], memory: usize, ignored: &mut Ignored) -> Result<Create, Error> {
    let mut document = document::<SentAffiliate<false>, AffiliateInput>(body, memory, ignored)?;
    let validate_only = document.validate_only(2);
    if document.has_list() {
        let request = |affiliates| BatchCreateAffiliatesRequest { affiliates, validate_only };
        return document.into_batch(ignored, request).map(Create::Batch);
    }
    let request = |affiliate: SentAffiliate<false>| CreateAffiliateRequest { affiliate: Some(affiliate.into()) };
    document.into_one(ignored, request).map(|request| Create::One(Box::new(request)))
}

/// Reads the body of a `PUT` to `path`, of a record that must have one of the tags of `if_match`. Its records may take `memory` bytes.
pub(crate) fn update(
    body: &[u8],
    memory: usize,
    path: &PathId,
    if_match: &IfMatch,
    ignored: &mut Ignored,
) -> Result<Update, Error> {
    let mut document = document::<SentAffiliate<true>, AffiliateUpdate>(body, memory, ignored)?;
    let validate_only = document.validate_only(3);
    let update = if document.has_list() {
        if_match.refuse(&mut document.violations);
        let request =
            |affiliates| BatchUpdateAffiliatesRequest { anchor_id: path.possible(), affiliates, validate_only };
        document.into_batch(ignored, request).map(Update::Batch)
    } else {
        // A path without a number has nothing to compare with; it is reported as unknown below.
        if let (Value::Integer(id), Some(number)) = (&document.top.id, path.number)
            && *id != number
        {
            At::Body.must(&mut document.violations, "id", 1, "must match the ID in the URL");
        }
        let etag = if_match.etag(&mut document.violations);
        let request = |update: SentAffiliate<true>| UpdateAffiliateRequest {
            update: Some(AffiliateUpdate { etag, ..update.into() }),
        };
        document.into_one(ignored, request).map(|request| Update::One(Box::new(request)))
    }?;
    if path.possible().is_some() {
        return Ok(update);
    }
    // No record can have this ID, so the core is not asked for one; violations of the body come first.
    let violations = update.violations();
    Err(if violations.is_empty() { Error::affiliate_not_found(&path.text) } else { Error::invalid(violations) })
}

/// Reads the body of a `POST` to `:sync`. Its records may take `memory` bytes.
pub(crate) fn sync(body: &[u8], memory: usize, ignored: &mut Ignored) -> Result<BatchSyncAffiliatesRequest, Error> {
    let mut document = document::<SentAffiliate<false>, AffiliateSync>(body, memory, ignored)?;
    let report_absent = document.flag("report_absent", 2);
    let absent_status = document.text("absent_status", 3);
    let validate_only = document.flag("validate_only", 4);
    let max_absent = document.integer("max_absent", 5);
    document.into_batch(ignored, |affiliates| BatchSyncAffiliatesRequest {
        affiliates,
        report_absent,
        absent_status,
        validate_only,
        max_absent,
    })
}

#[cfg(test)]
mod tests;

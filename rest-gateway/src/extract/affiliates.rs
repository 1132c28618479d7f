//! Bodies of `POST /affiliates` and `PUT /affiliates/{id}`, single and batch.

mod record;

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
    v1::{
        AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchUpdateAffiliatesRequest,
        CreateAffiliateRequest, UpdateAffiliateRequest,
    },
};

use super::{
    Form,
    body_violations::At,
    document::{Document, Object as _, document},
    json::Value,
    path::PathId,
};
use record::Record;

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

impl Form for Create {
    const ELEMENT: usize = size_of::<AffiliateInput>();
    const KEY: usize = 0;

    fn violations(&self) -> Violations {
        self.check()
    }
}

impl Form for Update {
    const ELEMENT: usize = size_of::<AffiliateUpdate>();
    /// The mask names it.
    const KEY: usize = size_of::<String>() + 32;

    fn violations(&self) -> Violations {
        self.check()
    }
}

impl<One: Check, Batch: Check> OneOrBatch<One, Batch> {
    fn check(&self) -> Violations {
        match self {
            Self::One(request) => rules::check(&**request),
            Self::Batch(request) => rules::check(request),
        }
    }
}

/// Reads the body of a `POST`. Its records may take `memory` bytes.
pub(crate) fn create(body: &[u8], memory: usize) -> Result<Create, Error> {
    let Document { top, list, mut violations } = document::<Record<AffiliateInput>>(body, memory)?;
    if let Some(affiliates) = list {
        return violations.or(BatchCreateAffiliatesRequest { affiliates }).map(Create::Batch);
    }
    top.report(At::Body, &mut violations);
    violations.or(CreateAffiliateRequest { affiliate: Some(top.into()) }).map(|request| Create::One(Box::new(request)))
}

/// Reads the body of a `PUT` to `path`. Its records may take `memory` bytes.
pub(crate) fn update(body: &[u8], memory: usize, path: &PathId) -> Result<Update, Error> {
    let Document { top, list, mut violations } = document::<Record<AffiliateUpdate>>(body, memory)?;
    let update = if let Some(affiliates) = list {
        let request = BatchUpdateAffiliatesRequest { anchor_id: path.possible(), affiliates };
        violations.or(request).map(Update::Batch)
    } else {
        top.report(At::Body, &mut violations);
        // A path without a number has nothing to compare with; it is reported as unknown below.
        if let (Value::Integer(id), Some(number)) = (&top.id, path.number)
            && *id != number
        {
            violations.push(At::Body, "id", 1, "must match the ID in the URL");
        }
        let request = UpdateAffiliateRequest { update: Some(top.into()) };
        violations.or(request).map(|request| Update::One(Box::new(request)))
    }?;
    if path.possible().is_some() {
        return Ok(update);
    }
    // No record can have this ID, so the core is not asked for one; violations of the body come first.
    let violations = update.violations();
    Err(if violations.is_empty() { Error::affiliate_not_found(&path.text) } else { Error::invalid(violations) })
}

#[cfg(test)]
mod tests;

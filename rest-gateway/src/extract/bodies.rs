//! Converts each operation's body to a request.

use compliance_api::{
    description::Message as Description,
    error::Error,
    rules::{Check, Checker, Violations},
    v1::{
        AddComplianceUrlsRequest, AffiliateInput, AffiliateSync, AffiliateUpdate, BatchCreateAffiliatesRequest,
        BatchSyncAffiliatesRequest, BatchUpdateAffiliatesRequest, CreateAffiliateRequest, CreateWebhookRequest,
        OpenCaseRequest, ReviewUrlRequest, UpdateAffiliateRequest, UpdateCaseRequest, UpdateWebhookRequest, UrlInput,
        WebhookInput,
    },
};
use prost::Message;

pub(crate) use super::batch::Input;
use super::{
    batch::{Document, one},
    object::report,
    request::Checked,
};
use crate::{
    head::{IfMatch, PathId},
    route::Location,
};

/// A request for one affiliate or a batch.
#[derive(Debug, PartialEq)]
pub(crate) enum OneOrBatch<One, Batch> {
    One(Box<One>),
    Batch(Batch),
}

pub(crate) type Create = OneOrBatch<CreateAffiliateRequest, BatchCreateAffiliatesRequest>;
pub(crate) type Update = OneOrBatch<UpdateAffiliateRequest, BatchUpdateAffiliatesRequest>;

impl<One: Check, Batch: Check> Check for OneOrBatch<One, Batch> {
    const MESSAGE: &'static Description = Batch::MESSAGE;

    fn check(&self, checker: &mut Checker) {
        match self {
            Self::One(request) => request.check(checker),
            Self::Batch(request) => request.check(checker),
        }
    }
}

pub(crate) fn create_affiliates(input: Input<'_>) -> Result<Create, Error> {
    let document = Document::<AffiliateInput, BatchCreateAffiliatesRequest>::read(input)?;
    if document.has_list() {
        return document.into_batch(|request, affiliates| request.affiliates = affiliates).map(Create::Batch);
    }
    let request = |affiliate, _: &mut _| CreateAffiliateRequest { affiliate: Some(affiliate) };
    document.into_one(request).map(|request| Create::One(Box::new(request)))
}

pub(crate) fn update_affiliates(input: Input<'_>, path: &PathId, if_match: &IfMatch) -> Result<Update, Error> {
    let mut document = Document::<AffiliateUpdate, BatchUpdateAffiliatesRequest>::read(input)?;
    let update = if document.has_list() {
        if_match.refuse(&mut document.violations);
        let fill = |request: &mut BatchUpdateAffiliatesRequest, affiliates| {
            (request.anchor_id, request.affiliates) = (path.possible(), affiliates);
        };
        document.into_batch(fill).map(Update::Batch)
    } else {
        let request = |update: AffiliateUpdate, violations: &mut Violations| {
            // A non-numeric path is rejected as not found below.
            if let (Some(id), Some(number)) = (update.id, path.number)
                && id != number
            {
                report(violations, Location::Top, "id", 1, "must match the ID in the URL");
            }
            let etag = if_match.etag(violations);
            UpdateAffiliateRequest { update: Some(AffiliateUpdate { etag, ..update }) }
        };
        document.into_one(request).map(|request| Update::One(Box::new(request)))
    }?;
    path.record_id_after(&update, Error::affiliate_not_found)?;
    Ok(update)
}

pub(crate) fn sync_affiliates(input: Input<'_>) -> Result<BatchSyncAffiliatesRequest, Error> {
    let document = Document::<AffiliateSync, BatchSyncAffiliatesRequest>::read(input)?;
    document.into_batch(|request, affiliates| request.affiliates = affiliates)
}

pub(crate) fn add_urls(input: Input<'_>) -> Result<AddComplianceUrlsRequest, Error> {
    let document = Document::<UrlInput, AddComplianceUrlsRequest>::read(input)?;
    document.into_batch(|request, urls| request.urls = urls)
}

pub(crate) fn review_url(
    input: Input<'_>,
    path: &PathId,
    if_match: &IfMatch,
) -> Result<Checked<ReviewUrlRequest>, Error> {
    one::<ReviewUrlRequest>(input)?.if_match(if_match).checked_record(path, Error::url_not_found)
}

pub(crate) fn open_case(input: Input<'_>) -> Result<Checked<OpenCaseRequest>, Error> {
    one::<OpenCaseRequest>(input)?.checked("request_id")
}

pub(crate) fn update_case(
    input: Input<'_>,
    path: &PathId,
    if_match: &IfMatch,
) -> Result<Checked<UpdateCaseRequest>, Error> {
    one::<UpdateCaseRequest>(input)?.if_match(if_match).checked_record(path, Error::case_not_found)
}

/// Reads a change to a case's incidents.
pub(crate) fn incidents<M: Check + Message + Default>(input: Input<'_>, path: &PathId) -> Result<M, Error> {
    one::<M>(input)?.of_record(path, Error::case_not_found)
}

/// Reads a change to a case's status. Treats an empty body as an empty object.
pub(crate) fn case_status<M: Check + Message + Default>(
    mut input: Input<'_>,
    path: &PathId,
    if_match: &IfMatch,
) -> Result<M, Error> {
    if input.bytes.iter().all(u8::is_ascii_whitespace) {
        input.bytes = b"{}";
    }
    one::<M>(input)?.if_match(if_match).of_record(path, Error::case_not_found)
}

pub(crate) fn create_webhook(input: Input<'_>) -> Result<CreateWebhookRequest, Error> {
    one::<WebhookInput>(input)?.wrapped(|webhook| CreateWebhookRequest { webhook: Some(webhook) })
}

pub(crate) fn update_webhook(input: Input<'_>, path: &PathId) -> Result<UpdateWebhookRequest, Error> {
    let request =
        one::<WebhookInput>(input)?.wrapped(|webhook| UpdateWebhookRequest { id: 0, webhook: Some(webhook) })?;
    let id = path.record_id_after(&request, Error::webhook_not_found)?;
    Ok(UpdateWebhookRequest { id, ..request })
}

#[cfg(test)]
mod tests;

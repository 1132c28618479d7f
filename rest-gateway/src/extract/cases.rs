//! The bodies of case work and reviews. Each is read by the description of its message.

use compliance_api::{
    error::Error,
    rules::{Check, Violations},
    v1::{
        AttachIncidentsRequest, CaseInput, CloseCaseRequest, DetachIncidentsRequest, OpenCaseRequest,
        ReopenCaseRequest, ResolveCaseRequest, ReviewUrlRequest, UpdateCaseRequest, UrlReview,
    },
};
use prost::Message;
use prost_types::FieldMask;

use super::{
    checked::accept,
    json_body::one,
    object::{At, Object},
};
use crate::{ignored::Ignored, tags::IfMatch};

/// Reads the body of a `POST` to `/cases`.
pub(crate) fn open(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<OpenCaseRequest, Error> {
    let Input { message, violations, .. } = input(body, &[], ignored)?;
    accept(violations, message)
}

/// Reads the body of a `PATCH` of a case that must have one of the tags of `if_match`.
pub(crate) fn update(body: &[u8], if_match: &IfMatch, ignored: &mut Ignored) -> Result<UpdateCaseRequest, Error> {
    let Input { message, mask, mut violations } = input::<CaseInput>(body, &[], ignored)?;
    let etag = if_match.etag(&mut violations);
    let request = UpdateCaseRequest { id: 0, case: Some(message), update_mask: Some(mask), etag };
    accept(violations, request)
}

/// Reads the body of a `PATCH` of a URL.
pub(crate) fn review(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<ReviewUrlRequest, Error> {
    let Input { message, mask, violations } = input::<UrlReview>(body, &[], ignored)?;
    accept(violations, ReviewUrlRequest { id: 0, review: Some(message), update_mask: Some(mask) })
}

/// Reads the body of a `POST` that changes the status of a case. An empty body is an empty object.
pub(crate) fn status<M: StatusChange>(body: &[u8], if_match: &IfMatch, ignored: &mut Ignored) -> Result<M, Error> {
    let body = if body.iter().all(u8::is_ascii_whitespace) { b"{}" } else { body };
    let Input { mut message, mut violations, .. } = input::<M>(body, PATH_AND_HEADER, ignored)?;
    *message.etag() = if_match.etag(&mut violations);
    accept(violations, message)
}

/// Reads the body of a `POST` that attaches incidents.
pub(crate) fn attach(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<AttachIncidentsRequest, Error> {
    let Input { message, violations, .. } = input(body, PATH_AND_HEADER, ignored)?;
    accept(violations, message)
}

/// Reads the body of a `POST` that detaches incidents.
pub(crate) fn detach(body: &[u8], _memory: usize, ignored: &mut Ignored) -> Result<DetachIncidentsRequest, Error> {
    let Input { message, violations, .. } = input(body, PATH_AND_HEADER, ignored)?;
    accept(violations, message)
}

/// A request that changes the status of one case.
pub(crate) trait StatusChange: Check + Message + Default {
    /// The etag that the case must have.
    fn etag(&mut self) -> &mut String;
}

macro_rules! status_changes {
    ($($request:ty),*) => {$(
        impl StatusChange for $request {
            fn etag(&mut self) -> &mut String {
                &mut self.etag
            }
        }
    )*};
}
status_changes!(ResolveCaseRequest, CloseCaseRequest, ReopenCaseRequest);

/// Fields of a request that partners send in the path and in a header.
const PATH_AND_HEADER: &[&str] = &["id", "etag"];

/// What a body has: its message, the names of the fields that were sent, and which values have another type.
struct Input<M> {
    message: M,
    mask: FieldMask,
    violations: Violations,
}

/// Reads a body by the description of its message, whose fields `elsewhere` are not part of it.
fn input<M: Check + Message + Default>(
    body: &[u8],
    elsewhere: &[&'static str],
    ignored: &mut Ignored,
) -> Result<Input<M>, Error> {
    let (mut object, mut violations) = (Object::new(M::MESSAGE.fields, None), Violations::new());
    one(body, &mut object, ignored)?;
    for name in elsewhere {
        if object.remove(name) {
            ignored.add(name);
        }
    }
    object.report(At::Body, &mut violations);
    Ok(Input { message: object.message()?, mask: FieldMask { paths: object.mask() }, violations })
}

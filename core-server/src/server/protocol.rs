//! Checks call heads against gRPC's rules and translates the gRPC library's errors to the contract's errors.

use compliance_api::{
    client::grpc_timeout,
    error::{Error, Reason},
    rules::Violations,
};
use http::{
    HeaderMap, HeaderValue, Method, Response,
    header::{ALLOW, CONTENT_TYPE},
};
use tonic::{Code, Status, body::Body};

use super::call::Called;

const ENCODING: &str = "grpc-encoding";
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
const TIMEOUT: &str = "grpc-timeout";

/// The encoding of uncompressed messages.
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// Rejects a head that is not a supported gRPC call. The response is the same for every path, because tokens are checked later.
pub(super) fn check_head(method: &Method, headers: &HeaderMap) -> Result<(), Error> {
    if method != Method::POST {
        let message = "Call operations with the HTTP method POST.";
        return Err(Error::new(Reason::MethodNotAllowed, message).with("method", "POST"));
    }
    if !headers.get(CONTENT_TYPE).is_some_and(|value| is_grpc(value.as_bytes())) {
        let message = "The call's content-type must be application/grpc or application/grpc+proto.";
        return Err(Error::new(Reason::ContentTypeInvalid, message));
    }
    if headers.get_all(ENCODING).iter().any(|encoding| encoding != IDENTITY) {
        let message = "The request's messages must not be compressed.";
        return Err(Error::new(Reason::CompressionUnsupported, message).with(ACCEPT_ENCODING, "identity"));
    }
    if headers.contains_key(TIMEOUT) && grpc_timeout(headers).is_none() {
        let message = "The grpc-timeout must be one to eight digits and a unit: H, M, S, m, u or n.";
        return Err(Error::invalid(Violations::one(TIMEOUT, message)));
    }
    Ok(())
}

/// Returns whether a `content-type` denotes gRPC with protobuf messages.
fn is_grpc(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    [&b"application/grpc"[..], b"application/grpc+proto"].iter().any(|known| media_type.eq_ignore_ascii_case(known))
}

/// Adds the HTTP status and headers to a rejection, for clients that do not use gRPC.
pub(super) fn complete_rejection(reason: Reason, response: &mut Response<Body>) {
    match reason {
        Reason::MethodNotAllowed => {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        }
        Reason::ContentTypeInvalid => {}
        Reason::CompressionUnsupported => {
            response.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
            return;
        }
        _ => return,
    }
    *response.status_mut() = compliance_api::error::meaning(reason).http;
}

/// Replaces the gRPC library's errors with the contract's errors. `headers` are a response's headers or trailers.
///
/// Does not change successes or the service's own errors.
pub(super) fn describe(called: Called, headers: &mut HeaderMap) {
    let Some(code) = code(headers) else { return };
    if matches!(code, Code::Ok | Code::Cancelled) || headers.contains_key(Status::GRPC_STATUS_DETAILS) {
        return;
    }
    let is_standard = matches!(called, Called::Standard(_));
    let error = match code {
        Code::OutOfRange | Code::ResourceExhausted if is_standard => {
            Error::new(Reason::BodyTooLarge, "The request message is too large.")
        }
        // The pipeline has measured the request, so the response must be too large.
        Code::OutOfRange | Code::ResourceExhausted => Error::new(Reason::BodyTooLarge, RESPONSE_TOO_LARGE),
        Code::NotFound if is_standard => {
            Error::new(Reason::ReferenceNotFound, "The requested service or symbol does not exist.")
        }
        // The library decodes health and reflection requests, which cannot fail for any other reason.
        Code::Internal | Code::Unknown | Code::InvalidArgument if is_standard => malformed(MALFORMED),
        _ => {
            let error = headers.get(Status::GRPC_MESSAGE).and_then(|message| message.to_str().ok());
            tracing::error!(operation = called.name(), error, "the gRPC library rejected a call with {code:?}");
            Error::internal()
        }
    };
    for name in [Status::GRPC_STATUS, Status::GRPC_MESSAGE] {
        headers.remove(name);
    }
    if Status::from(error).add_header(headers).is_err() {
        headers.insert(Status::GRPC_STATUS, HeaderValue::from(Code::Internal as i32));
    }
}

/// Returns the gRPC code in headers or trailers.
pub(super) fn code(headers: &HeaderMap) -> Option<Code> {
    headers.get(Status::GRPC_STATUS).map(|status| Code::from_bytes(status.as_bytes()))
}

/// The message for a response that is too large.
pub(super) const RESPONSE_TOO_LARGE: &str = "The response message is too large. Please request fewer records.";
const MALFORMED: &str = "The body must be a valid message of the operation.";

/// Returns the error for a malformed body.
pub(super) fn malformed(message: &str) -> Error {
    Error::invalid(Violations::one("body", message))
}

#[cfg(test)]
mod tests {
    use super::is_grpc;

    #[test]
    fn only_protobuf_grpc_content_types_are_accepted() {
        for known in ["application/grpc", "application/grpc+proto", "Application/GRPC", "application/grpc; x=y"] {
            assert!(is_grpc(known.as_bytes()), "{known}");
        }
        for other in ["", "application/json", "application/grpc-web", "application/grpc+json", "application/grpcx"] {
            assert!(!is_grpc(other.as_bytes()), "{other}");
        }
    }
}

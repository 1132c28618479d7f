//! Messages that are small on the wire but large in memory. The core rejects them before decoding.

use compliance_api::error::{Error, Reason};
use test_support::{TestService, new_company, reason_of, token};
use tonic::{Code, Status};

use crate::described::calls::Core;

pub(super) const ADD_URLS: &str = "ComplianceUrlService/AddComplianceUrls";
pub(super) const CREATE: &str = "AffiliateService/BatchCreateAffiliates";

/// Sends an encoded message and returns the error.
pub(super) async fn refused(core: &Core, operation: &str, token: &str, message: Vec<u8>) -> Status {
    core.call(operation, &[&format!("Bearer {token}")], message).await.error.unwrap()
}

/// Encodes a list of `items` empty elements.
pub(super) fn empty_items(items: usize) -> Vec<u8> {
    [0x0a, 0].repeat(items)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_with_too_many_items_are_rejected() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let token = token(new_company());
    for (operation, field) in [(ADD_URLS, "urls"), (CREATE, "affiliates")] {
        let status = refused(&core, operation, &token, empty_items(1_000_000)).await;
        assert_eq!((status.code(), reason_of(&status).as_str()), (Code::InvalidArgument, "INVALID_FIELDS"));
        let error = Error::from(&status);
        let violations: Vec<_> = error.violations.iter().map(|violation| violation.path.as_str()).collect();
        assert_eq!(violations, [field]);
        assert_eq!(status.message(), format!("The {field} field must not have more than 100000 items."));
    }
    // JSON requests have the same limit and message.
    let rest = service.rest(new_company());
    let body = format!(r#"{{"urls":[{}{{}}]}}"#, "{},".repeat(100_000));
    let message = rest.post("/urls", body).await.with_status(422)["message"].clone();
    assert_eq!(message, "The urls field must not have more than 100000 items.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_messages_are_rejected() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let token = token(new_company());
    let get = "AffiliateService/GetAffiliate";
    // A string instead of a number, a length past the end, invalid UTF-8, a truncated varint, and a length past the end in a batch.
    for (operation, message) in [
        (get, vec![0x0a, 1, b'x']),
        (ADD_URLS, vec![0x0a, 200, 1]),
        (ADD_URLS, vec![0x0a, 3, 0x0a, 1, 0xff]),
        (get, vec![0x08, 0xff]),
        ("ReadService/BatchRead", vec![0x0a, 200, 1]),
    ] {
        let status = refused(&core, operation, &token, message.clone()).await;
        assert_eq!(
            (status.code(), reason_of(&status).as_str()),
            (Code::InvalidArgument, "INVALID_FIELDS"),
            "{message:?}"
        );
        assert_eq!(status.message(), "The body must be a valid message of the operation.");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oversized_messages_are_rejected() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let token = token(new_company());
    // A 7 MB message that would decode to 180 MB. Each mask contains 1,000 empty paths.
    let mask = [&[0x1a, 0xd0, 0x0f][..], &empty_items(1000)].concat();
    let update = [&[0x12, 0xd3, 0x0f][..], &mask].concat().repeat(4000);
    let operation = "AffiliateService/BatchUpdateAffiliates";
    let status = refused(&core, operation, &token, update).await;
    assert_eq!(Error::from(&status).reason, Reason::BodyTooLarge);
}

/// The core decodes a batch before it can verify the tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_read_limits_apply_without_valid_tokens() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let operation = "ReadService/BatchRead";
    let status = refused(&core, operation, "none", vec![0; 5 << 20]).await;
    assert_eq!(Error::from(&status).reason, Reason::BodyTooLarge);
    let status = refused(&core, operation, "none", [0x12, 0].repeat(2 << 20)).await;
    assert!(matches!(Error::from(&status).reason, Reason::BodyTooLarge | Reason::InvalidFields), "{status:?}");
    let status = refused(&core, operation, "none", [0x12, 0].repeat(1001)).await;
    assert_eq!(status.message(), "The reads field must not have more than 1000 items.");
}

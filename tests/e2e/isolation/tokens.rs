//! Every gRPC operation rejects callers without a valid token.

use compliance_api::token::Claims;
use futures::{StreamExt as _, stream};
use test_support::{TestService, invalid_tokens, new_company, now, reason_of, sign, token};
use tonic::{Code, Status};

use super::operations;
use crate::{
    batch_read::{Batch, affiliate, case, url},
    described::calls::Core,
};

/// The operation whose reads each carry their own token.
const BATCH_READ: &str = "ReadService/BatchRead";
/// Number of concurrent calls. Watches take two seconds each.
const AT_ONCE: usize = 32;

/// Calls an operation with an empty message and returns its error. A batch contains a read of every kind, and all its reads must fail
/// for the same reason.
async fn error_of(core: &Core, operation: &str, token: Option<&str>) -> Option<Status> {
    if operation == BATCH_READ {
        let batch = Batch::default().read(token, affiliate(1)).read(token, url(1)).read(token, case(1));
        let results = batch.results(&core.0).await;
        let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(Status::code)).collect();
        assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
        return results.into_iter().find_map(Result::err);
    }
    let bearer = token.map(|token| format!("Bearer {token}"));
    core.call(operation, bearer.as_deref().as_slice(), Vec::new()).await.error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_requires_a_valid_token() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let company = new_company();
    let checked = stream::iter(operations()).for_each_concurrent(AT_ONCE, async |operation| {
        for (name, token, reason) in invalid_tokens(company) {
            let status = error_of(&core, &operation, token.as_deref()).await.unwrap();
            assert_eq!(
                (status.code(), reason_of(&status).as_str()),
                (Code::Unauthenticated, reason),
                "{operation} with {name}"
            );
        }
        // With a valid token, the call can fail only for other reasons.
        if let Some(status) = error_of(&core, &operation, Some(&token(company))).await {
            assert_ne!(status.code(), Code::Unauthenticated, "{operation}: {status:?}");
        }
    });
    checked.await;
}

/// Services whose operations require a scope.
const SCOPES: [(&str, &str); 4] = [
    ("MonitoringService/", "monitor"),
    ("ErasureService/", "erase"),
    ("AuditService/", "audit"),
    ("WebhookService/", "webhooks"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_require_their_scopes() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let company = new_company();
    let operations = operations();
    let every_scope = token(company);
    let scopes = [None, Some(""), Some("monitoring"), Some("read write")].into_iter();
    let scopes: Vec<_> = scopes.chain(SCOPES.map(|(_, scope)| Some(scope))).collect();
    let calls = operations.iter().flat_map(|operation| scopes.iter().map(move |scope| (operation, *scope)));
    let checked = stream::iter(calls).for_each_concurrent(AT_ONCE, async |(operation, scope)| {
        let needed = SCOPES.iter().find(|(service, _)| operation.starts_with(service)).map(|(_, scope)| *scope);
        let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company, now(), 60) };
        let refused = error_of(&core, operation, Some(&sign(&claims))).await;
        let refused = refused.filter(|status| status.code() == Code::PermissionDenied);
        let is_needed = needed.is_some() && needed != scope;
        assert_eq!(refused.is_some(), is_needed, "{operation} with the scope {scope:?}");
        if let Some(status) = refused {
            assert_eq!(reason_of(&status), "SCOPE_MISSING");
        }
    });
    checked.await;
    let with_every_scope = stream::iter(&operations).for_each_concurrent(AT_ONCE, async |operation| {
        let refused = error_of(&core, operation, Some(&every_scope)).await;
        assert!(refused.is_none_or(|status| status.code() != Code::PermissionDenied), "{operation}");
    });
    with_every_scope.await;
    let is_used = |(service, _): &(&str, &str)| operations.iter().any(|operation| operation.starts_with(service));
    assert!(SCOPES.iter().all(is_used));
}

//! Every gRPC operation rejects callers without a valid token.

use std::time::Duration;

use compliance_api::token::Claims;
use http::uri::PathAndQuery;
use test_support::{TestService, invalid_tokens, new_company, now, reason_of, sign, token};
use tonic::{Code, Request, Status, client::Grpc, transport::Channel};
use tonic_prost::ProstCodec;

use super::operations;
use crate::batch_read::{Batch, affiliate, case, url};

/// The operation whose reads each carry their own token.
const BATCH_READ: &str = "ReadService/BatchRead";

/// The operation with an endless response.
pub(crate) const WATCH: &str = "ChangeService/WatchChanges";

/// Calls an operation with an empty message and ignores its response. A batch contains a read of every kind, and all its reads must fail
/// for the same reason.
async fn call(channel: &Channel, operation: &str, token: Option<&str>) -> Result<(), Status> {
    if operation == BATCH_READ {
        let batch = Batch::default().read(token, affiliate(1)).read(token, url(1)).read(token, case(1));
        let results = batch.results(channel).await;
        let codes: Vec<_> = results.iter().map(|result| result.as_ref().err().map(Status::code)).collect();
        assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
        return results.into_iter().try_for_each(|result| result.map(drop));
    }
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let mut request = Request::new(());
    if let Some(token) = token {
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    if operation == WATCH {
        request.set_timeout(Duration::from_secs(2));
    }
    let path = PathAndQuery::try_from(format!("/compliance.v1.{operation}")).unwrap();
    grpc.unary(request, path, ProstCodec::<(), ()>::default()).await.map(drop)
}

async fn channel(service: &TestService) -> Channel {
    Channel::from_shared(format!("http://{}", service.grpc)).unwrap().connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_requires_a_valid_token() {
    let service = TestService::start().await;
    let channel = channel(&service).await;
    let company = new_company();
    for operation in operations() {
        for (name, token, reason) in invalid_tokens(company) {
            let status = call(&channel, &operation, token.as_deref()).await.unwrap_err();
            assert_eq!(
                (status.code(), reason_of(&status).as_str()),
                (Code::Unauthenticated, reason),
                "{operation} with {name}"
            );
        }
        // With a valid token, the call can fail only for other reasons.
        if let Err(status) = call(&channel, &operation, Some(&token(company))).await {
            assert_ne!(status.code(), Code::Unauthenticated, "{operation}: {status:?}");
        }
    }
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
    let channel = channel(&service).await;
    let company = new_company();
    let operations = operations();
    for operation in &operations {
        let needed = SCOPES.iter().find(|(service, _)| operation.starts_with(service)).map(|(_, scope)| *scope);
        for scope in ["", "monitoring", "read write", "monitor", "erase", "audit", "webhooks"]
            .map(Some)
            .into_iter()
            .chain([None])
        {
            let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company, now(), 60) };
            let refused = call(&channel, operation, Some(&sign(&claims))).await.err();
            let refused = refused.filter(|status| status.code() == Code::PermissionDenied);
            let is_needed = needed.is_some() && needed != scope;
            assert_eq!(refused.is_some(), is_needed, "{operation} with the scope {scope:?}");
            if let Some(status) = refused {
                assert_eq!(reason_of(&status), "SCOPE_MISSING");
            }
        }
        let refused = call(&channel, operation, Some(&token(company))).await.err();
        assert!(refused.is_none_or(|status| status.code() != Code::PermissionDenied), "{operation}");
    }
    let is_used = |(service, _): &(&str, &str)| operations.iter().any(|operation| operation.starts_with(service));
    assert!(SCOPES.iter().all(is_used));
}

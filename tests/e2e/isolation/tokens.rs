//! Every operation of gRPC refuses who presents no token, or no good one.

use compliance_api::token::{Claims, Secret, issue};
use http::uri::PathAndQuery;
use serde_json::json;
use test_support::{TestService, new_company, now, reason_of, sign, tests, token};
use tonic::{Code, Request, Status, client::Grpc, transport::Channel};
use tonic_prost::ProstCodec;

use super::operations;

tests![every_operation_needs_a_token, monitoring_needs_its_scope];

/// Calls an operation with an empty message; what it answers does not matter.
async fn call(channel: &Channel, operation: &str, token: Option<&str>) -> Result<(), Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.unwrap();
    let mut request = Request::new(());
    if let Some(token) = token {
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let path = PathAndQuery::try_from(format!("/compliance.v1.{operation}")).unwrap();
    grpc.unary(request, path, ProstCodec::<(), ()>::default()).await.map(drop)
}

async fn channel(service: &TestService) -> Channel {
    Channel::from_shared(format!("http://{}", service.grpc)).unwrap().connect().await.unwrap()
}

async fn every_operation_needs_a_token() {
    let service = TestService::start().await;
    let channel = channel(&service).await;
    let company = new_company();
    let good = Claims { scope: Some("monitor".to_owned()), ..Claims::new(company, now(), 3600) };
    let other_audience =
        json!({"company_id": company, "exp": now() + 60, "aud": "affiliate-compliance-2", "scope": "monitor"});
    let presented = [
        ("no token", None, "TOKEN_MISSING"),
        ("forged", Some(issue(&Secret::new([7; 32]).unwrap(), &good).unwrap()), "TOKEN_INVALID"),
        ("expired", Some(sign(&Claims { exp: now() - 1, ..good.clone() })), "TOKEN_EXPIRED"),
        ("wrong audience", Some(sign(&serde_json::from_value(other_audience).unwrap())), "TOKEN_INVALID"),
        ("company 0", Some(sign(&Claims { company_id: 0, ..good.clone() })), "TOKEN_INVALID"),
        ("not yet good", Some(sign(&Claims { nbf: Some(now() + 3600), ..good.clone() })), "TOKEN_INVALID"),
        ("nonsense", Some("a.b.c".to_owned()), "TOKEN_INVALID"),
    ];
    for operation in operations() {
        for (name, token, reason) in &presented {
            let status = call(&channel, &operation, token.as_deref()).await.unwrap_err();
            assert_eq!(
                (status.code(), reason_of(&status).as_str()),
                (Code::Unauthenticated, *reason),
                "{operation} with {name}"
            );
        }
        // What is refused is the token, not the call.
        if let Err(status) = call(&channel, &operation, Some(&sign(&good))).await {
            assert_ne!(status.code(), Code::Unauthenticated, "{operation}: {status:?}");
        }
    }
}

async fn monitoring_needs_its_scope() {
    let service = TestService::start().await;
    let channel = channel(&service).await;
    let company = new_company();
    let without = [None, Some(""), Some("monitoring"), Some("read write")];
    let operations = operations();
    for operation in &operations {
        let monitors = operation.starts_with("MonitoringService/");
        for scope in without {
            let claims = Claims { scope: scope.map(str::to_owned), ..Claims::new(company, now(), 60) };
            let refused = call(&channel, operation, Some(&sign(&claims))).await.err();
            let refused = refused.filter(|status| status.code() == Code::PermissionDenied);
            assert_eq!(refused.is_some(), monitors, "{operation} with the scope {scope:?}");
            if let Some(status) = refused {
                assert_eq!(reason_of(&status), "SCOPE_MISSING");
            }
        }
        let refused = call(&channel, operation, Some(&token(company))).await.err();
        assert!(refused.is_none_or(|status| status.code() != Code::PermissionDenied), "{operation}");
    }
    assert!(operations.iter().any(|operation| operation.starts_with("MonitoringService/")));
}

//! Calls that the core rejects before it reads the message: calls with two tokens, and unknown operations.

use test_support::{TestService, new_company, reason_of, token};
use tonic::Code;

use super::{
    calls::Core,
    messages::{contract, operations},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_with_two_tokens_are_rejected() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let [one, other] = [new_company(), new_company()].map(|company| format!("Bearer {}", token(company)));
    for (operation, _) in operations(&contract()) {
        // Each read has its own token in the message.
        if operation == "ReadService/BatchRead" {
            continue;
        }
        for values in [[&one, &one], [&one, &other], [&one, &String::new()], [&String::new(), &one]] {
            let values = values.map(String::as_str);
            let answer = core.call(&operation, &values, Vec::new()).await;
            let status = answer.error.unwrap_or_else(|| panic!("{operation} accepted {values:?}"));
            assert_eq!(
                (status.code(), reason_of(&status).as_str()),
                (Code::Unauthenticated, "TOKEN_INVALID"),
                "{operation}"
            );
            assert!(answer.messages.is_empty());
        }
        // A single token is accepted.
        let answer = core.call(&operation, &[&one], Vec::new()).await;
        assert!(answer.error.is_none_or(|status| status.code() != Code::Unauthenticated), "{operation}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_operations_are_rejected() {
    let service = TestService::start().await;
    let core = Core::connect(service.grpc).await;
    let token = format!("Bearer {}", token(new_company()));
    for operation in ["AffiliateService/NoSuch", "NoSuchService/GetAffiliate", "ReadService/NoSuch", "x"] {
        let refused = |answer: super::calls::Answer| {
            let status = answer.error.unwrap_or_else(|| panic!("{operation} was accepted"));
            (status.code(), reason_of(&status))
        };
        let known = core.call(operation, &[&token], Vec::new()).await;
        assert_eq!(refused(known), (Code::Unimplemented, "UNKNOWN_PATH".to_owned()), "{operation}");
        // Callers without a token cannot find out which operations exist.
        if operation != "ReadService/NoSuch" {
            let unknown = core.call(operation, &[], Vec::new()).await;
            assert_eq!(refused(unknown), (Code::Unauthenticated, "TOKEN_MISSING".to_owned()), "{operation}");
        }
    }
}

//! Tests token claims.

use super::signers::{CLAIMS, HEADER, NOW, Signer, verifier_of_secret};
use crate::token::TokenError;

/// Signed claims, and the result of verifying them at 1,800,000,000 seconds since 1970.
const CLAIM_SETS: &[(&str, Result<i64, TokenError>)] = {
    const INVALID: Result<i64, TokenError> = Err(TokenError::Invalid);
    const EXPIRED: Result<i64, TokenError> = Err(TokenError::Expired);
    &[
        (CLAIMS, Ok(7)),
        // The company.
        (r#"{"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":0,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":-7,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":"7","exp":1800000060,"aud":"affiliate-compliance"}"#, Ok(7)),
        (r#"{"company_id":"+7","exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":" 7","exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":"","exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":"9007199254740992","exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7.0,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7e0,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":[7],"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":null,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":9007199254740991,"exp":1800000060,"aud":"affiliate-compliance"}"#, Ok(9_007_199_254_740_991)),
        (r#"{"company_id":9007199254740992,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":18446744073709551623,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        // Duplicate claims (RFC 7519, 4), including escaped names.
        (r#"{"company_id":8,"company_id":7,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"company\u005fid":8,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":1,"exp":1800000060,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":"another","aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":"affiliate-compliance","scope":"","scope":"monitor"}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":"affiliate-compliance","x":{"a":1,"a":2}}"#, INVALID),
        // Expiry.
        (r#"{"company_id":7,"exp":1800000001,"aud":"affiliate-compliance"}"#, Ok(7)),
        (r#"{"company_id":7,"exp":1800000000.9,"aud":"affiliate-compliance"}"#, EXPIRED),
        (r#"{"company_id":7,"exp":1800000000,"aud":"affiliate-compliance"}"#, EXPIRED),
        (r#"{"company_id":7,"exp":-1,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":"1800000060","aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":null,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":1e999,"aud":"affiliate-compliance"}"#, INVALID),
        (r#"{"company_id":7,"aud":"affiliate-compliance"}"#, INVALID),
        // Audience (RFC 8725, 3.9).
        (r#"{"company_id":7,"exp":1800000060}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":null}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":[]}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":""}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":"Affiliate-Compliance"}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":"affiliate-compliance "}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":["another"]}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":["another",7,"affiliate-compliance"]}"#, INVALID),
        (r#"{"company_id":7,"exp":1800000060,"aud":["another","affiliate-compliance"]}"#, Ok(7)),
        // Not before and issued at, with a minute of clock skew.
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","nbf":1800000060}"#, Ok(7)),
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","nbf":1800000061}"#, INVALID),
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","iat":1800000060}"#, Ok(7)),
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","iat":1800000061}"#, INVALID),
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","nbf":"soon"}"#, INVALID),
        (r#"{"company_id":7,"exp":1800009999,"aud":"affiliate-compliance","nbf":1e300}"#, INVALID),
        // Not an object.
        ("[]", INVALID),
        ("", INVALID),
        (r#""affiliate-compliance""#, INVALID),
    ]
};

#[tokio::test]
async fn only_valid_claims_are_accepted() {
    let verifier = verifier_of_secret(None).await;
    for (claims, expected) in CLAIM_SETS {
        let token = Signer::secret().token(HEADER, claims);
        // The second verification can use the cache.
        for _ in 0..2 {
            assert_eq!(verifier.verify(&token, NOW).map(|token| token.company_id), *expected, "{claims}");
        }
    }
}

#[tokio::test]
async fn configured_issuer_is_required() {
    let verifier = verifier_of_secret(Some("us")).await;
    let issuers = [
        (r#""iss":"us","#, true),
        ("", false),
        (r#""iss":"US","#, false),
        (r#""iss":"","#, false),
        (r#""iss":null,"#, false),
        (r#""iss":["us"],"#, false),
        (r#""iss":"them","iss":"us","#, false),
    ];
    for (issuer, accepted) in issuers {
        let token = Signer::secret().token(HEADER, &CLAIMS.replace('{', &format!("{{{issuer}")));
        assert_eq!(verifier.verify(&token, NOW).is_ok(), accepted, "{issuer}");
    }
}

#[tokio::test]
async fn cached_tokens_expire_on_time() {
    let verifier = verifier_of_secret(None).await;
    let token = Signer::secret().good_token(None);
    // First by signature, then from the cache.
    for now in [NOW, NOW + 59] {
        assert_eq!(verifier.verify(&token, now).map(|token| token.company_id), Ok(7));
    }
    assert_eq!(verifier.verify(&token, NOW + 60), Err(TokenError::Expired));
}

//! Tests claims in the forms that issuers use.

use serde_json::{Value, json};

use super::signers::{HEADER, NOW, SECRET, Signer};
use crate::token::{ClaimRules, Claims, KeySource, Secret, TokenError, Verifier, issue_for};

async fn verifier(company: &str, role_scopes: &[(&str, &[&str])]) -> Verifier {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let role_scopes = role_scopes.iter().map(|&(role, scopes)| (role.to_owned(), owned(scopes))).collect();
    let rules = ClaimRules { company: company.to_owned(), role_scopes, ..ClaimRules::default() };
    let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
    Verifier::with_rules(source, rules).await.unwrap()
}

fn signed(mut claims: Value) -> String {
    claims["exp"] = json!(NOW + 60);
    claims["aud"] = json!("affiliate-compliance");
    Signer::secret().token(HEADER, &claims.to_string())
}

#[tokio::test]
async fn company_is_read_from_configured_claim() {
    const URL: &str = "https://partner.example/company.id";
    for (name, claims, expected) in [
        ("tenant", json!({"tenant": 7}), Ok(7)),
        ("tenant", json!({"tenant": "7"}), Ok(7)),
        ("tenant", json!({"tenant": "007"}), Ok(7)),
        // The default claim is ignored.
        ("tenant", json!({"company_id": 7}), Err("tenant: missing")),
        ("tenant", json!({"tenant": 7, "company_id": 8}), Ok(7)),
        ("tenant", json!({"tenant": [7]}), Err("tenant: must be a whole number from 1 to ")),
        ("tenant", json!({"tenant": {"id": 7}}), Err("tenant: must be a whole number from 1 to ")),
        ("tenant.id", json!({"tenant": {"id": 7}}), Ok(7)),
        // The whole name takes precedence over a path.
        ("tenant.id", json!({"tenant": {"id": 8}, "tenant.id": 7}), Ok(7)),
        ("tenant.id", json!({"tenant": 7}), Err("tenant.id: missing")),
        (URL, json!({(URL): "7"}), Ok(7)),
        (
            "https://partner.example/app.company.id",
            json!({"https://partner.example/app": {"company": {"id": 7}}}),
            Ok(7),
        ),
    ] {
        let (verifier, token) = (verifier(name, &[]).await, signed(claims.clone()));
        match expected {
            Ok(company) => {
                assert_eq!(verifier.verify(&token, NOW).map(|token| token.company_id), Ok(company), "{name} {claims}");
                assert_eq!(verifier.explain(&token, NOW), None);
            }
            Err(why) => {
                assert_eq!(verifier.verify(&token, NOW), Err(TokenError::Invalid), "{name} {claims}");
                let explained = verifier.explain(&token, NOW).unwrap();
                assert!(explained.starts_with(why), "{explained}");
            }
        }
        // The verifier accepts tokens issued with the same claim.
        let secret = Secret::new(SECRET).unwrap();
        let own = issue_for(&secret, &Claims::new(9, NOW, 60), name).unwrap();
        assert_eq!(verifier.verify(&own, NOW).map(|token| token.company_id), Ok(9), "{name}");
    }
}

#[tokio::test]
async fn person_is_read_from_configured_claim() {
    let claims = json!({"company_id": 7, "sub": "8f2e", "email": "bea@partner.example", "name": " ", "profile": {"name": "Bea"}});
    for (name, expected) in [
        ("sub", "8f2e"),
        ("email", "bea@partner.example"),
        ("profile.name", "Bea"),
        // If the claim contains no string, the subject is used.
        ("name", "8f2e"),
        ("profile", "8f2e"),
        ("given_name", "8f2e"),
    ] {
        let rules = ClaimRules { person: name.to_owned(), ..ClaimRules::default() };
        let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
        let verifier = Verifier::with_rules(source, rules).await.unwrap();
        let token = verifier.verify(&signed(claims.clone()), NOW).unwrap();
        assert_eq!(token.sub.as_deref(), Some(expected), "{name}");
    }
}

/// In Entra ID, the audience is always the client.
#[tokio::test]
async fn configured_audience_is_required() {
    let rules = ClaimRules { audience: "00000000-0000".to_owned(), ..ClaimRules::default() };
    let source = KeySource { secret: Some(Secret::new(SECRET).unwrap()), ..KeySource::default() };
    let verifier = Verifier::with_rules(source, rules).await.unwrap();
    let token = |aud: Value| {
        let claims = json!({"company_id": 7, "exp": NOW + 60, "aud": aud});
        Signer::secret().token(HEADER, &claims.to_string())
    };
    for accepted in [json!("00000000-0000"), json!(["other", "00000000-0000"])] {
        assert!(verifier.verify(&token(accepted.clone()), NOW).is_ok(), "{accepted}");
    }
    let refused = token(json!("affiliate-compliance"));
    assert_eq!(verifier.verify(&refused, NOW), Err(TokenError::Invalid));
    let expected = "aud: must contain \"00000000-0000\", but is \"affiliate-compliance\"";
    assert_eq!(verifier.explain(&refused, NOW).as_deref(), Some(expected));
}

#[tokio::test]
async fn scopes_come_from_strings_lists_and_roles() {
    let with_roles = verifier("company_id", &[("Case Officer", &["cases"]), ("admin", &["audit", "erase"])]).await;
    let without = verifier("company_id", &[]).await;
    for (claims, of_scopes, of_roles) in [
        (json!({}), None, None),
        (json!({"scope": "audit  webhooks"}), Some("audit webhooks"), Some("audit webhooks")),
        (json!({"scope": ["audit", "webhooks"]}), Some("audit webhooks"), Some("audit webhooks")),
        (json!({"scope": null, "scp": "audit cases"}), Some("audit cases"), Some("audit cases")),
        (json!({"scope": "openid", "scp": ["audit"]}), Some("openid audit"), Some("openid audit")),
        (json!({"scope": [], "roles": []}), None, None),
        (json!({"roles": ["Case Officer", "user"]}), None, Some("cases")),
        (json!({"roles": "admin"}), None, Some("audit erase")),
        (json!({"roles": ["ADMIN", "Case"]}), None, None),
        (json!({"realm_access": {"roles": ["admin"]}, "scope": "cases"}), Some("cases"), Some("cases audit erase")),
    ] {
        let mut claims = claims.clone();
        claims["company_id"] = json!(7);
        let token = signed(claims.clone());
        assert_eq!(without.verify(&token, NOW).unwrap().scope.as_deref(), of_scopes, "{claims}");
        assert_eq!(with_roles.verify(&token, NOW).unwrap().scope.as_deref(), of_roles, "{claims}");
    }
    // Invalid roles matter only if roles are mapped.
    let token = signed(json!({"company_id": 7, "roles": {"admin": true}}));
    assert!(without.verify(&token, NOW).is_ok());
    assert_eq!(with_roles.verify(&token, NOW), Err(TokenError::Invalid));
    assert!(
        with_roles.explain(&token, NOW).unwrap().starts_with("roles: must be a string or a list of strings, but is {")
    );
}

#[tokio::test]
async fn explanations_are_rate_limited_and_sanitized() {
    let verifier = verifier("company_id", &[]).await;
    let header = |token: &str| format!("Bearer {token}").into_bytes();
    assert_eq!(verifier.explain_some(None, NOW), None);
    let wrong = header(&Signer::secret().token("{\"alg\":\"\\n\\u0085forged\"}", "{}"));
    for second in [NOW, NOW + 1] {
        let explained: Vec<String> = (0..20).filter_map(|_| verifier.explain_some(Some(&wrong), second)).collect();
        assert_eq!(explained.len(), 5);
        assert!(
            explained.iter().all(|why| why.starts_with("header: ") && !why.contains(char::is_control)),
            "{explained:?}"
        );
    }
}

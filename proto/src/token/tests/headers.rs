//! Tests token headers and encodings.

use super::signers::{CLAIMS, HEADER, NOW, Signer, base64, verifier_of_secret};
use crate::token::TokenError;

/// Headers of tokens signed with the shared secret, and whether the verifier accepts them.
const HEADERS: &[(&str, bool)] = &[
    (HEADER, true),
    (r#"{"alg":"HS256"}"#, true),
    // Only access token types (RFC 8725, 3.11).
    (r#"{"alg":"HS256","typ":"jwt"}"#, true),
    (r#"{"alg":"HS256","typ":"at+jwt"}"#, true),
    (r#"{"alg":"HS256","typ":"application/at+JWT"}"#, true),
    (r#"{"alg":"HS256","typ":"application/jwt"}"#, true),
    (r#"{"alg":"HS256","typ":"logout+jwt"}"#, false),
    (r#"{"alg":"HS256","typ":"secevent+jwt"}"#, false),
    (r#"{"alg":"HS256","typ":"dpop+jwt"}"#, false),
    (r#"{"alg":"HS256","typ":"application/"}"#, false),
    (r#"{"alg":"HS256","typ":"äpplication/jwt"}"#, false),
    (r#"{"alg":"HS256","typ":""}"#, false),
    (r#"{"alg":"HS256","typ":7}"#, false),
    // Extensions that a service must support (RFC 7515, 4.1.11).
    (r#"{"alg":"HS256","crit":["exp"],"exp":1}"#, false),
    (r#"{"alg":"HS256","crit":["b64"],"b64":true}"#, false),
    (r#"{"alg":"HS256","crit":["unknown"]}"#, false),
    (r#"{"alg":"HS256","crit":[]}"#, false),
    (r#"{"alg":"HS256","crit":null}"#, false),
    (r#"{"alg":"HS256","crit":"exp"}"#, false),
    (r#"{"alg":"HS256","\u0063rit":["exp"]}"#, false),
    // Unencoded payloads (RFC 7797, 7).
    (r#"{"alg":"HS256","b64":false}"#, false),
    (r#"{"alg":"HS256","b64":"no"}"#, false),
    (r#"{"alg":"HS256","b64":true}"#, true),
    // Algorithms (RFC 8725, 3.1 and 3.2).
    (r#"{"alg":"none"}"#, false),
    (r#"{"alg":"None"}"#, false),
    (r#"{"alg":"hs256"}"#, false),
    (r#"{"alg":"HS384"}"#, false),
    (r#"{"alg":"RS256"}"#, false),
    (r#"{"alg":"ES256"}"#, false),
    (r#"{"alg":["HS256"]}"#, false),
    (r#"{"alg":null}"#, false),
    (r#"{"typ":"JWT"}"#, false),
    // Duplicate members (RFC 7515, 4), including escaped names.
    (r#"{"alg":"HS256","alg":"HS256"}"#, false),
    (r#"{"alg":"none","alg":"HS256"}"#, false),
    (r#"{"alg":"HS256","\u0061lg":"none"}"#, false),
    (r#"{"alg":"HS256","kid":"a","kid":"b"}"#, false),
    (r#"{"alg":"HS256","crit":["exp"],"crit":["exp"]}"#, false),
    // Keys within the token (RFC 8725, 3.10) are ignored; the shared secret decides.
    (r#"{"alg":"HS256","jku":"http://127.0.0.1:1/keys","x5u":"file:///etc/passwd"}"#, true),
    (r#"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#, true),
    (r#"{"alg":"HS256","kid":"' or 1=1 --"}"#, true),
    (r#"{"alg":"HS256","kid":"../../../dev/null"}"#, true),
    (r#"{"alg":"HS256","kid":7}"#, false),
    // Not an object.
    ("[]", false),
    ("", false),
    ("null", false),
    ("{\"alg\":\"HS256\"}x", false),
    ("{\"alg\":\"HS256\",}", false),
];

#[tokio::test]
async fn only_supported_headers_are_accepted() {
    let verifier = verifier_of_secret(None).await;
    for (header, accepted) in HEADERS {
        let result = verifier.verify(&Signer::secret().token(header, CLAIMS), NOW);
        let expected = if *accepted { Ok(7) } else { Err(TokenError::Invalid) };
        assert_eq!(result.map(|token| token.company_id), expected, "{header}");
    }
}

/// Each variant re-encodes or rearranges a valid token.
#[tokio::test]
async fn noncanonical_token_encodings_are_rejected() {
    let verifier = verifier_of_secret(None).await;
    let good = Signer::secret().good_token(None);
    assert!(verifier.verify(&good, NOW).is_ok());
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("{good}") };
    // The last base64 character of 32 bytes has two unused bits, and both must be 0.
    let last = signature.chars().last().unwrap();
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let other = alphabet.chars().nth(alphabet.find(last).unwrap() ^ 1).unwrap();
    let standard = |text: &str| text.replace('-', "+").replace('_', "/");
    let mut variants = vec![
        format!("{}{other}", &good[..good.len() - 1]),
        format!("{good}="),
        format!("{good}."),
        format!(".{good}"),
        format!("{good} "),
        format!("{good}\n"),
        format!("{header}.{claims}"),
        format!("{header}.{claims}."),
        format!("{header}..{signature}"),
        format!("{header}.{claims}.{signature}.{signature}.{signature}"),
        format!("{header}=.{claims}.{signature}"),
        format!("{claims}.{header}.{signature}"),
        // RFC 7515, 7.2: the JSON form.
        format!(r#"{{"protected":"{header}","payload":"{claims}","signature":"{signature}"}}"#),
    ];
    if standard(signature) != signature {
        variants.push(format!("{header}.{claims}.{}", standard(signature)));
    }
    for variant in variants {
        assert_eq!(verifier.verify(&variant, NOW), Err(TokenError::Invalid), "{variant}");
    }
}

/// The verifier never parses long tokens, and nested tokens cannot overflow its stack.
#[tokio::test]
async fn long_and_deeply_nested_tokens_are_rejected() {
    let verifier = verifier_of_secret(None).await;
    let signer = Signer::secret();
    let of_length = |length: usize| signer.token(HEADER, &CLAIMS.replace('{', &format!("{{{}", " ".repeat(length))));
    assert!(verifier.verify(&of_length(5000), NOW).is_ok());
    assert!(of_length(6100).len() > 8192);
    assert_eq!(verifier.verify(&of_length(6100), NOW), Err(TokenError::Invalid));
    let huge = format!("{}.{}.{}", base64(HEADER), "A".repeat(16 << 20), "A".repeat(43));
    assert_eq!(verifier.verify(&huge, NOW), Err(TokenError::Invalid));
    let depth = 700;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let header = format!(r#"{{"alg":"HS256","x":{nested}}}"#);
        let unknown_claim = CLAIMS.replace('{', &format!(r#"{{"x":{nested},"#));
        let audience = CLAIMS.replace(r#""affiliate-compliance""#, &nested);
        // The verifier reads every name to detect duplicates.
        for (header, claims) in [(&*header, CLAIMS), (HEADER, &unknown_claim), (HEADER, &audience)] {
            let token = signer.token(header, claims);
            assert!(token.len() < 8192, "{}", token.len());
            assert_eq!(verifier.verify(&token, NOW), Err(TokenError::Invalid), "{token}");
        }
    }
}

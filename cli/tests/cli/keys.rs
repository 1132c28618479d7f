//! Keys of tokens that change while the service runs.

use std::{fs, path::Path};

use crate::common::{DataDir, Service, compliance, wait_until};

/// Two Ed25519 keys (`x`), and for each a token of company 7 without an end. The private keys are gone.
const FIRST: (&str, &str) = (
    "Ynf0goelchueOQCh_N0XFwE1JwtS2Lty6HMqCyEgh3k",
    "eyJhbGciOiJFZERTQSJ9.eyJjb21wYW55X2lkIjo3LCJleHAiOjk5OTk5OTk5OTksImF1ZCI6ImFmZmlsaWF0ZS1jb21wbGlhbmNlIn0.\
     sPFTyo7n-lcgerlgMY6zsUBez0emvkOW8pnvAjJIAUR8IM7LeF-w2AlHQ9RG7q3u2NmCgrBWv0p2AzO5-9siCA",
);
const SECOND: (&str, &str) = (
    "BmpfATyCFhGO4RwcFhYyPwBPEu4AqkiVewSH5wkW09U",
    "eyJhbGciOiJFZERTQSJ9.eyJjb21wYW55X2lkIjo3LCJleHAiOjk5OTk5OTk5OTksImF1ZCI6ImFmZmlsaWF0ZS1jb21wbGlhbmNlIn0.\
     7YN4MP5TlMPQBZQWL8Z-uoXkbZOL7JY4mu0pGs8nR3NnVI0LWlDMazOdKp3hprbOWOqRT5ez-yf3ocJIK_3DAw",
);

/// Replaces the key set at once, as an issuer does.
fn write_key(path: &Path, x: &str) {
    let next = path.with_extension("next");
    fs::write(&next, format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}]}}"#)).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn tokens_of_a_replaced_key_are_refused_after_the_refresh() {
    let data = DataDir::new();
    fs::create_dir_all(data.path()).unwrap();
    let file = data.path().join("keys.json");
    write_key(&file, FIRST.0);
    let mut command = compliance(&data);
    command.args(["serve", "--jwks-refresh", "1s", "--jwks-file"]).arg(&file);
    let service = Service::start_as(&mut command);
    let status = |token: &str| service.request("GET", "/api/urls/1", token, "").0;
    // 404: the caller is known, the URL is not.
    assert_eq!((status(FIRST.1), status(SECOND.1)), (404, 401));
    write_key(&file, SECOND.0);
    wait_until("the token of the previous key is refused", || status(FIRST.1) == 401);
    assert_eq!(status(SECOND.1), 404);
    // A key set that cannot be read changes nothing.
    fs::write(&file, "{").unwrap();
    service.wait_for_log("the previous keys stay in use");
    assert_eq!((status(FIRST.1), status(SECOND.1)), (401, 404));
}

//! Runs the authentication pages' commands as written, and checks that the service accepts their tokens.

use std::{
    fs,
    path::{Path, PathBuf},
};

use compliance_api::v1::{GetAffiliateRequest, affiliate_service_client::AffiliateServiceClient};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::common::{DataDir, Service, compliance, migrated, output, program, start};

const PAGES: &str =
    concat!(include_str!("../../../docs/authentication.md"), include_str!("../../../docs/console-sign-in.md"));

/// Returns the code blocks with an info string.
fn blocks(info: &str) -> Vec<&'static str> {
    let begin = format!("\n```{info}\n");
    PAGES.split(&begin).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

/// A temporary folder for the pages' files.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("compliance-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Runs commands in the folder, and returns their output.
    fn run(&self, data: &DataDir, commands: &str) -> String {
        let mut shell = test_support::service_command("bash", data);
        let programs = Path::new(&program()).parent().unwrap().to_owned();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        shell.args(["-c", &format!("set -euo pipefail\n{commands}")]).env("PATH", path).current_dir(&self.0);
        let (status, printed, errors) = output(&mut shell);
        assert!(status.success(), "{commands}\n{printed}{errors}");
        printed
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap().trim().to_owned()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the statuses of three calls: without a required scope, with `cases`, and with `audit`.
fn statuses(service: &Service, token: &str) -> [u16; 3] {
    [("GET", "/api/urls", ""), ("POST", "/api/cases", "{}"), ("GET", "/api/audit", "")]
        .map(|(method, path, body)| service.request(method, path, token, body).0)
}

#[test]
#[ignore = "needs openssl: tools/scripts/check-examples runs it"]
fn documented_token_commands_yield_valid_tokens() {
    let (data, folder) = (migrated(), Folder::new("tokens"));
    let [commands, secret, pair, sign, doctor] = blocks("sh")[..] else { panic!("unexpected number of sh blocks") };
    let printed = folder.run(&data, commands);
    let of_commands: Vec<&str> = printed.lines().collect();
    let service = Service::start_as(compliance(&data).arg("serve"));
    // The service checks the scope before it rejects the empty case.
    assert_eq!(statuses(&service, of_commands[0]), [200, 403, 403]);
    assert_eq!(statuses(&service, of_commands[1]), [200, 422, 200]);
    drop(service);

    folder.run(&data, secret);
    let of_secret = folder.read("token.txt");
    folder.run(&data, &format!("{pair}\n{sign}"));
    let of_pair = folder.read("token.txt");
    let (file, keys) = (folder.path("jwt-secret"), folder.path("keys.json"));
    let arguments = ["serve", "--jwt-secret-file", &file, "--jwks-file", &keys];
    let service = Service::start_as(compliance(&data).args(arguments));
    assert_eq!(statuses(&service, &of_secret), [200, 403, 403]);
    assert_eq!(statuses(&service, &of_pair), [200, 422, 403]);
    // `doctor` may also report unrelated problems.
    let found = folder.run(&data, &format!("{doctor} || true"));
    let token = found.lines().find(|line| line.contains("token")).unwrap();
    assert!(token.contains("issued for company 1"), "{found}");
}

#[test]
#[ignore = "needs openssl: tools/scripts/check-examples runs it"]
fn identity_provider_settings_work_as_documented() {
    let (data, folder) = (migrated(), Folder::new("provider"));
    let [_, _, pair, sign, _] = blocks("sh")[..] else { panic!("unexpected number of sh blocks") };
    let [settings, sign_in] = blocks("sh settings")[..] else { panic!("unexpected number of settings blocks") };
    // Returns a command's words, with the key set read from a file.
    let words_of = |settings: &str| {
        let words = folder.run(&data, &format!("compliance() {{ printf '%s\\n' \"$@\"; }}\n{settings}"));
        let mut words: Vec<String> = words.lines().map(str::to_owned).collect();
        let at = words.iter().position(|word| word == "--jwks-url").unwrap();
        words[at] = "--jwks-file".to_owned();
        words[at + 1] = folder.path("keys.json");
        words
    };

    let claims = r#""company_id":1"#;
    let of_provider = json!({
        "iss": "https://login.example.com/realms/partners",
        "tenant": {"id": "1"},
        "realm_access": {"roles": ["case-officer", "user"]},
    });
    let of_provider = of_provider.to_string();
    let signed = sign.replace(claims, &of_provider[1..of_provider.len() - 1]).replace(r#","scope":"cases""#, "");
    assert!(sign.contains(claims) && signed.contains("case-officer") && !signed.contains("scope"), "{signed}");
    folder.run(&data, &format!("{pair}\n{signed}"));
    let token = folder.read("token.txt");
    let service = Service::start_as(compliance(&data).args(words_of(settings)));
    assert_eq!(statuses(&service, &token), [200, 422, 403]);

    // If the claim is missing, the log contains the reason, but the response does not.
    let base64url = pair.lines().next().unwrap();
    folder.run(&data, &format!("{base64url}\n{sign}"));
    let (status, body) = service.request("GET", "/api/urls", &folder.read("token.txt"), "");
    let expected = json!({"code": "401", "status": "error", "detail": {"msg": "The bearer token is invalid."}});
    assert_eq!((status, body), (401, expected));
    service.wait_for_log("tenant.id: missing");

    // The console reads the sign-in address.
    let console = migrated();
    let service = Service::start_as(compliance(&console).args(words_of(sign_in)));
    let (status, body) = service.request("GET", "/console/sign-in.json", "", "");
    let provider = &body["openid_connect"];
    assert_eq!((status, &provider["client_id"]), (200, &json!("compliance-console")), "{body}");
    assert_eq!(provider["issuer"], "https://login.example.com/realms/main");
}

#[test]
fn log_explains_token_rejection() {
    const LINE: &str = r#""message":"a token was refused","why":"not a signed JSON Web Token"#;
    let data = migrated();
    let service = start(&data, &["serve"]);
    assert_eq!(service.request("GET", "/api/urls", "abc", "").0, 401);
    service.wait_for_log(LINE);
    let address = format!("http://{}", service.grpc);
    let refused = Runtime::new().unwrap().block_on(async {
        let mut request = tonic::Request::new(GetAffiliateRequest { id: 1, ..Default::default() });
        request.metadata_mut().insert("authorization", "Bearer abc".parse().unwrap());
        AffiliateServiceClient::connect(address).await.unwrap().get_affiliate(request).await
    });
    assert_eq!(refused.unwrap_err().code(), tonic::Code::Unauthenticated);
    service.wait_for_log(LINE);
}

//! Tests both ports' certificates: which clients they accept, and how they reload.

use std::{
    fs::{self, Permissions},
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Command,
};

use nix::{sys::signal::Signal, unistd::Uid};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reqwest::{Certificate, Client, Version};
use tokio::runtime::Runtime;

use crate::{
    common::{DataDir, Service, compliance, output, wait_until},
    observability::metrics,
    programs::{Programs, SECRET, token},
};

/// A certificate authority that writes its certificates to a folder.
struct Authority {
    folder: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Creates an authority, and writes its certificate to `NAME-ca.pem`.
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(folder.join(format!("{name}-ca.pem")), issuer.pem()).unwrap();
        Self { folder: folder.to_owned(), issuer }
    }

    /// Issues certificates for this machine, and replaces existing certificate and key files.
    fn issue(&self, files: &[&str]) {
        for file in files {
            let names = ["localhost", "127.0.0.1"].map(str::to_owned);
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
            fs::write(self.folder.join(format!("{file}.pem")), certificate.pem()).unwrap();
            fs::write(self.folder.join(format!("{file}-key.pem")), key.serialize_pem()).unwrap();
        }
    }

    fn client(&self) -> Client {
        let own = Certificate::from_pem(self.issuer.pem().as_bytes()).unwrap();
        Client::builder().tls_certs_only([own]).build().unwrap()
    }
}

/// Adds settings to a command. Values that end in `.pem` are files in a folder.
fn with<'c>(command: &'c mut Command, folder: &Path, settings: &[(&str, &str)]) -> &'c mut Command {
    for (flag, value) in settings {
        let file = folder.join(value);
        command.arg(flag).arg(if Path::new(value).extension().is_some_and(|extension| extension == "pem") {
            file.as_os_str()
        } else {
            value.as_ref()
        });
    }
    command
}

const REST: [(&str, &str); 2] = [("--rest-tls-cert", "rest.pem"), ("--rest-tls-key", "rest-key.pem")];
const GRPC: [(&str, &str); 2] = [("--grpc-tls-cert", "grpc.pem"), ("--grpc-tls-key", "grpc-key.pem")];

fn gateway(programs: &Programs, core: SocketAddr) -> Command {
    let mut command = programs.gateway_of(&[], &[]);
    command.env("COMPLIANCE_CORE_URL", format!("https://localhost:{}", core.port()));
    command
}

#[test]
fn tiers_authenticate_each_other_with_mutual_tls() {
    let (threads, files) = (Runtime::new().unwrap(), DataDir::new());
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let [ours, other] = ["ours", "other"].map(|name| Authority::new(folder, name));
    ours.issue(&["rest", "grpc", "gateway"]);
    other.issue(&["stranger"]);
    let programs = Programs::new();
    let client_ca = ("--grpc-client-ca", "ours-ca.pem");
    let core = Service::start_as(with(&mut programs.core(&[]), folder, &[&GRPC[..], &[client_ca]].concat()));
    let trust = ("--core-ca", "ours-ca.pem");
    let identity = [("--core-tls-cert", "gateway.pem"), ("--core-tls-key", "gateway-key.pem")];
    let known = [&REST[..], &identity, &[trust]].concat();
    let known = Service::start_as(with(&mut gateway(&programs, core.grpc), folder, &known));

    let get = async |client: &Client, gateway: &Service| {
        let url = format!("https://localhost:{}/api/affiliates", gateway.rest.port());
        let response = client.get(url).bearer_auth(token()).send().await?;
        Ok::<_, reqwest::Error>((response.version(), response.status().as_u16(), response.text().await?))
    };
    threads.block_on(async {
        let (version, status, body) = get(&ours.client(), &known).await.unwrap();
        assert!(version == Version::HTTP_2 && status == 200 && body.contains("\"data\":[]"), "{version:?} {body}");
        let own = Certificate::from_pem(ours.issuer.pem().as_bytes()).unwrap();
        let http1 = Client::builder().tls_certs_only([own]).http1_only().build().unwrap();
        assert_eq!(get(&http1, &known).await.unwrap().0, Version::HTTP_11);
        assert!(get(&other.client(), &known).await.is_err(), "the client trusts the wrong authority");
    });

    // Cores accept only clients with a certificate from the right authority, and gateways trust only such cores.
    let stranger = [("--core-tls-cert", "stranger.pem"), ("--core-tls-key", "stranger-key.pem")];
    for settings in
        [&[trust][..], &[&stranger[..], &[trust]].concat(), &[&identity[..], &[("--core-ca", "other-ca.pem")]].concat()]
    {
        let gateway = Service::start_as(with(&mut gateway(&programs, core.grpc), folder, settings));
        assert_eq!(gateway.request("GET", "/api/affiliates/1", &token(), "").0, 503, "{settings:?}");
        assert_eq!(gateway.request("GET", "/readyz", "", "").0, 503, "{settings:?}");
    }
    let unencrypted = Service::start_as(&mut programs.gateway_of(&[core.grpc], &[]));
    assert_eq!(unencrypted.request("GET", "/api/affiliates/1", &token(), "").0, 503);
    let mut plain = TcpStream::connect(known.rest).unwrap();
    plain.write_all(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "the REST port responded without TLS");

    // Health checks work with TLS.
    let health = |address: &str, settings: &[(&str, &str)]| {
        output(with(compliance(&DataDir::new()).args(["health", address]), folder, settings)).0.code()
    };
    let (of_core, of_gateway) = (format!("grpcs://{}", core.grpc), format!("https://{}", known.rest));
    assert_eq!(health(&of_core, &[&identity[..], &[trust]].concat()), Some(0));
    assert_eq!(health(&of_core, &[trust]), Some(1));
    assert_eq!(health(&of_gateway, &[trust]), Some(0));
    assert_eq!(health(&of_gateway, &[("--core-ca", "other-ca.pem")]), Some(1));
    let of_core = format!("https://{}", core.grpc);
    let (_, _, log) = output(with(compliance(&DataDir::new()).args(["health", &of_core]), folder, &[trust]));
    assert!(log.contains("the peer requires another protocol; if this is a core, use grpcs://"), "{log}");
}

#[test]
fn certificates_reload_without_restart() {
    let (threads, files) = (Runtime::new().unwrap(), DataDir::new());
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let [first, second] = ["first", "second"].map(|name| Authority::new(folder, name));
    first.issue(&["rest", "grpc"]);
    fs::copy(folder.join("first-ca.pem"), folder.join("trusted.pem")).unwrap();
    let programs = Programs::new();
    let refresh = ("--tls-refresh", "1s");
    let core = Service::start_as(with(&mut programs.core(&[]), folder, &[&GRPC[..], &[refresh]].concat()));
    let admin = ("--admin-addr", "127.0.0.1:0");
    let settings = [&REST[..], &[refresh, admin, ("--core-ca", "trusted.pem")]].concat();
    let gateway = Service::start_as(with(&mut gateway(&programs, core.grpc), folder, &settings));
    let url = format!("https://127.0.0.1:{}/api/affiliates/1", gateway.rest.port());
    let status = |client: &Client| {
        let response = threads.block_on(client.get(&url).bearer_auth(token()).send());
        response.map(|response| response.status().as_u16()).ok()
    };
    let metric = |name: &str| metrics(gateway.admin)[&format!("compliance_certificate_{name}{{port=\"REST\"}}")];
    let (failures, expiry) = ("refresh_failures_total", "expiry_timestamp_seconds");
    // By default, these certificates expire in the year 4096.
    assert_eq!((metric(failures), metric(expiry)), (0, 67_090_118_400));
    let before = first.client();
    assert_eq!((status(&before), status(&second.client())), (Some(404), None));

    // An unusable file does not replace the certificate.
    fs::write(folder.join("rest.pem"), "no certificate").unwrap();
    gateway.wait_for_log("the previous certificates stay in use");
    assert!(metric(failures) > 0);
    assert_eq!(status(&first.client()), Some(404));

    second.issue(&["rest", "grpc"]);
    fs::copy(folder.join("second-ca.pem"), folder.join("trusted.pem")).unwrap();
    wait_until("the new certificate is used", || status(&second.client()) == Some(404));
    assert_eq!(status(&first.client()), None, "a new connection used the old certificate");
    assert_eq!(status(&before), Some(404), "an open connection broke");
    // The new authority signed the certificate of a new core at the same address.
    let address = core.grpc.to_string();
    core.signal(Signal::SIGTERM);
    core.end();
    let again = [&GRPC[..], &[("--grpc-addr", address.as_str())]].concat();
    let _core = Service::start_as(with(&mut programs.core(&[]), folder, &again));
    wait_until("the gateway reaches the new core", || status(&before) == Some(404));
}

/// The port keeps its own certificate and key.
#[test]
fn client_ca_reloads_independently() {
    let files = DataDir::new();
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let [first, second] = ["first", "second"].map(|name| Authority::new(folder, name));
    first.issue(&["grpc", "old"]);
    second.issue(&["new"]);
    let replace = |authority: &str| fs::copy(folder.join(authority), folder.join("clients.pem")).unwrap();
    replace("first-ca.pem");
    let programs = Programs::new();
    let settings = [&GRPC[..], &[("--grpc-client-ca", "clients.pem"), ("--tls-refresh", "1s")]].concat();
    let core = Service::start_as(with(&mut programs.core(&[]), folder, &settings));
    let address = format!("grpcs://{}", core.grpc);
    let is_let_in = |certificate: &str, key: &str| {
        let settings = [("--core-tls-cert", certificate), ("--core-tls-key", key), ("--core-ca", "first-ca.pem")];
        let (status, ..) = output(with(compliance(&DataDir::new()).args(["health", &address]), folder, &settings));
        status.code() == Some(0)
    };
    let are_let_in = || [is_let_in("old.pem", "old-key.pem"), is_let_in("new.pem", "new-key.pem")];
    assert_eq!(are_let_in(), [true, false]);
    for (authority, expected) in [("second-ca.pem", [false, true]), ("first-ca.pem", [true, false])] {
        replace(authority);
        wait_until("the new authority is used", || are_let_in() == expected);
    }
}

#[test]
fn startup_rejects_unusable_certificates() {
    let files = DataDir::new();
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let authority = Authority::new(folder, "ours");
    authority.issue(&["rest", "grpc"]);
    fs::write(folder.join("empty.pem"), "").unwrap();
    let programs = Programs::new();
    let grpc = |settings: &[(&'static str, &'static str)]| [&GRPC[..], settings].concat();
    let wrong = [
        (vec![("--rest-tls-cert", "rest.pem"), ("--rest-tls-key", "none.pem")], "--rest-tls-key", "cannot read"),
        (
            vec![("--rest-tls-cert", "empty.pem"), ("--rest-tls-key", "rest-key.pem")],
            "--rest-tls-cert",
            "contains no PEM certificate",
        ),
        (
            vec![("--grpc-tls-cert", "grpc.pem"), ("--grpc-tls-key", "empty.pem")],
            "--grpc-tls-key",
            "contains no PEM private key",
        ),
        (
            vec![("--grpc-tls-cert", "grpc.pem"), ("--grpc-tls-key", "rest-key.pem")],
            "--grpc-tls-key",
            "rest-key.pem cannot be used: the key does not belong to the certificate in ",
        ),
        (vec![("--rest-tls-cert", "rest.pem")], "--rest-tls-cert", "--rest-tls-key"),
        (grpc(&[("--grpc-client-ca", "none.pem")]), "--grpc-client-ca", "cannot read"),
        (grpc(&[("--grpc-client-ca", "empty.pem")]), "--grpc-client-ca", "contains no PEM certificate"),
        (grpc(&[("--webhook-ca", "none.pem")]), "--webhook-ca", "cannot read"),
    ];
    for (settings, setting, reason) in wrong {
        let (status, _, errors) = output(with(&mut programs.serve(&[]), folder, &settings));
        assert!(status.code() == Some(2) && errors.contains(reason) && errors.contains(setting), "{errors}");
        let others = settings.iter().filter(|(other, _)| *other != setting && *other != reason);
        assert!(others.into_iter().all(|(other, _)| !errors.contains(other)), "{errors}");
    }
}

/// Incomplete settings, such as a certificate without its key, must not fall back to plain text.
#[test]
fn startup_rejects_incomplete_tls_settings() {
    let files = DataDir::new();
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let authority = Authority::new(folder, "ours");
    authority.issue(&["rest", "grpc"]);
    let programs = Programs::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let command = |name: &str| match name {
        "core" => programs.core(&[]),
        "serve" => programs.serve(&[]),
        _ => programs.gateway_of(&[nobody], &[]),
    };
    for (name, setting, file, missing) in [
        ("core", "grpc-tls-cert", "grpc.pem", "--grpc-tls-key"),
        ("core", "grpc-tls-key", "grpc-key.pem", "--grpc-tls-cert"),
        ("core", "grpc-client-ca", "ours-ca.pem", "--grpc-tls-cert"),
        ("serve", "grpc-client-ca", "ours-ca.pem", "--grpc-tls-cert"),
        ("serve", "rest-tls-key", "rest-key.pem", "--rest-tls-cert"),
        ("gateway", "rest-tls-cert", "rest.pem", "--rest-tls-key"),
        ("gateway", "rest-tls-key", "rest-key.pem", "--rest-tls-cert"),
        ("gateway", "core-tls-cert", "grpc.pem", "--core-tls-key"),
        ("gateway", "core-tls-key", "grpc-key.pem", "--core-tls-cert"),
        ("core", "webhook-ca", "none.pem", "--webhook-ca"),
    ] {
        let path = folder.join(file).display().to_string();
        let variable = format!("COMPLIANCE_{}", setting.replace('-', "_").to_uppercase());
        for mut command in [with_flag(command(name), setting, &path), with_variable(command(name), &variable, &path)] {
            let (status, _, errors) = output(&mut command);
            assert!(status.code() == Some(2) && errors.contains(missing), "{name}, {setting}: {errors}");
        }
    }
    // One setting can be a variable and the other a flag.
    let path = folder.join("rest-key.pem").display().to_string();
    let command = programs.gateway_of(&[nobody], &[]);
    let mut command = with_variable(command, "COMPLIANCE_REST_TLS_KEY", &path);
    Service::start_as(with(&mut command, folder, &REST[..1]));
}

fn with_flag(mut command: Command, setting: &str, value: &str) -> Command {
    command.args([&format!("--{setting}"), value]);
    command
}

fn with_variable(mut command: Command, variable: &str, value: &str) -> Command {
    command.env(variable, value);
    command
}

/// Runs the scripts as an unprivileged user. An existing certificate can be read-only.
#[test]
#[ignore = "needs openssl: tools/scripts/check-examples runs it"]
fn deploy_scripts_rotate_certificates_as_any_user() {
    let folder = DataDir::new();
    let deploy = folder.path().join("deploy");
    fs::create_dir_all(&deploy).unwrap();
    let user = Uid::effective().is_root().then_some(65_534);
    for script in ["make-secrets", "make-certificates"] {
        fs::copy(format!("{}/../deploy/{script}", env!("CARGO_MANIFEST_DIR")), deploy.join(script)).unwrap();
    }
    for path in [folder.path(), &deploy] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        chown(path, user, user).unwrap();
    }
    let run_with = |script: &str, arguments: &[&str]| {
        let mut command = Command::new(deploy.join(script));
        command.current_dir("/").args(arguments);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        output(&mut command)
    };
    let run = |script: &str| {
        let (status, _, errors) = run_with(script, &[]);
        assert!(status.success(), "{script}: {errors}");
    };
    let certificate = || fs::read(deploy.join("secrets/core.pem")).unwrap();
    run("make-certificates");
    let first = certificate();
    run("make-secrets");
    let mode = |name: &str| fs::metadata(deploy.join("secrets").join(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("jwt-secret"), mode("core-key.pem"), mode("authority-key.pem")), (0o444, 0o600, 0o600));
    run("make-certificates");
    let second = certificate();
    assert_ne!(first, second);
    fs::set_permissions(deploy.join("secrets/core.pem"), Permissions::from_mode(0o444)).unwrap();
    run("make-certificates");
    assert_ne!(second, certificate());

    let third = certificate();
    for script in ["make-secrets", "make-certificates"] {
        for wrong in ["--help", "core 1"] {
            let (status, _, errors) = run_with(script, &[wrong]);
            assert_eq!(status.code(), Some(2), "{script} {wrong}");
            assert!(errors.contains(&format!("{script}: '{wrong}' is not a host name or IP address")), "{errors}");
        }
    }
    assert_eq!(certificate(), third);
    assert!(run_with("make-certificates", &["10.0.0.5", "::1", "core-1.internal"]).0.success());
    let mut openssl = Command::new("openssl");
    openssl.args(["x509", "-noout", "-ext", "subjectAltName", "-in"]).arg(deploy.join("secrets/core.pem"));
    let (_, text, _) = output(&mut openssl);
    for name in ["IP Address:10.0.0.5", "IP Address:0:0:0:0:0:0:0:1", "DNS:core-1.internal"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(run_with("make-secrets", &["::1"]).0.success());
    let url = fs::read_to_string(deploy.join("secrets/service-database-url")).unwrap();
    assert!(url.ends_with("@[::1]/compliance"), "{url}");
}

/// The logs and metrics of both tiers, and `doctor`, name the reason for a failed connection.
#[test]
fn failed_core_connections_report_the_cause() {
    let files = DataDir::new();
    let folder = files.path();
    fs::create_dir_all(folder).unwrap();
    let [ours, other] = ["ours", "other"].map(|name| Authority::new(folder, name));
    ours.issue(&["grpc", "gateway"]);
    other.issue(&["stranger"]);
    let programs = Programs::new();
    let admin = ("--admin-addr", "127.0.0.1:0");
    let settings = [&GRPC[..], &[("--grpc-client-ca", "ours-ca.pem"), admin]].concat();
    let core = Service::start_as(with(&mut programs.core(&[]), folder, &settings));
    let plain_core = Service::start_as(with(&mut programs.core(&[]), folder, &[admin]));
    let identity = |name: &'static str, key: &'static str| [("--core-tls-cert", name), ("--core-tls-key", key)];
    let (known, stranger) = (identity("gateway.pem", "gateway-key.pem"), identity("stranger.pem", "stranger-key.pem"));
    let (trust, mistrust) = (("--core-ca", "ours-ca.pem"), ("--core-ca", "other-ca.pem"));
    let [https, plain] = ["https", "http"].map(|scheme| format!("{scheme}://localhost:{}", core.grpc.port()));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = format!("https://localhost:{}", nobody.port());
    let to_plain = format!("https://localhost:{}", plain_core.grpc.port());
    // Address, settings, reason in the gateway, reason in the core, and next step from `doctor`.
    let cases: [(&str, Settings<'_>, &str, &str, &str); 7] = [
        (&https, &[trust], "peer_needs_certificate", "certificate_missing", "--core-tls-cert"),
        (
            &https,
            &[&stranger[..], &[trust]].concat(),
            "peer_refuses_certificate",
            "certificate_of_unknown_authority",
            "--grpc-client-ca",
        ),
        (
            &https,
            &[&known[..], &[mistrust]].concat(),
            "certificate_of_unknown_authority",
            "peer_refuses_certificate",
            "--core-ca",
        ),
        (&nobody, &[&known[..], &[trust]].concat(), "refused", "", "--grpc-addr"),
        (&plain, &[], "peer_speaks_tls", "not_tls", "use https://"),
        (&to_plain, &[&known[..], &[trust]].concat(), "not_tls", "peer_speaks_tls", "use http://"),
        ("https://no-such-name.invalid:1", &[trust], "name_not_resolved", "", "name servers"),
    ];
    for (url, settings, of_gateway, of_core, next_step) in cases {
        let mut command = programs.gateway_of(&[], &[]);
        command.env("COMPLIANCE_CORE_URL", url);
        let gateway = Service::start_as(with(&mut command, folder, &[settings, &[admin]].concat()));
        assert_eq!(gateway.request("GET", "/api/affiliates/1", &token(), "").0, 503);
        let counted = |address, name: &str, labels: &str| {
            metrics(address).get(&format!("compliance_{name}_failures_total{{{labels}}}")).copied().unwrap_or_default()
        };
        let labels = format!("reason=\"{of_gateway}\"");
        wait_until("the gateway counts the failure", || counted(gateway.admin, "gateway_connect", &labels) > 0);
        gateway.wait_for_log(&format!("\"reason\":\"{of_gateway}\""));
        assert_eq!(counted(gateway.admin, "gateway_connect", "reason=\"other\""), 0, "{of_gateway}");
        // Repeated failures with the same reason are logged once for each of the name's addresses.
        for _ in 0..10 {
            assert_eq!(gateway.request("GET", "/api/affiliates/1", &token(), "").0, 503);
        }
        let logged = gateway.logged().iter().filter(|line| line.contains("cannot connect to a core")).count();
        assert!(logged <= 4, "{logged} lines: {of_gateway}");
        if !of_core.is_empty() {
            let core = if url == to_plain { &plain_core } else { &core };
            let labels = format!("port=\"gRPC\",reason=\"{of_core}\"");
            wait_until("the core counts the failure", || counted(core.admin, "tls", &labels) > 0);
            let reason = format!("\"reason\":\"{of_core}\"");
            // The core logs at most one of these lines per second, so an earlier failure can suppress this one.
            wait_until("the core logs the reason", || {
                gateway.request("GET", "/api/affiliates/1", &token(), "");
                core.logged().iter().any(|line| line.contains(&reason))
            });
        }
        let (status, printed, log) = doctor(folder, url, settings, &token());
        assert_eq!(status, Some(3), "{log}");
        let line =
            printed.lines().find(|line| line.contains("\"check\":\"core\"")).unwrap_or_else(|| panic!("{printed}"));
        let reason = match of_gateway {
            "refused" => "cannot connect",
            "name_not_resolved" => "the name cannot be resolved",
            reason => reason,
        };
        assert!(line.contains("problem") && line.contains(reason) && line.contains(next_step), "{line}");
    }
    // `doctor` finds the reason even if the core closes the connection while `doctor` is still sending.
    for (url, settings, reason) in [(&https, &[trust][..], "peer_needs_certificate"), (&plain, &[], "peer_speaks_tls")]
    {
        for run in 0..5 {
            let (_, printed, _) = doctor(folder, url, settings, &token());
            assert!(printed.contains(reason), "{run}: {printed}");
        }
    }

    // With correct settings, `doctor` also asks the core to verify the token.
    let right = [&known[..], &[trust]].concat();
    let (_, printed, log) = doctor(folder, &https, &right, &token());
    assert!(printed.contains("is healthy") && printed.contains("accepts the token"), "{printed}{log}");
    let forged = token().chars().rev().collect::<String>();
    let (_, printed, _) = doctor(folder, &https, &right, &forged);
    assert!(printed.contains("does not accept the token"), "{printed}");
}

/// Flags and their values.
type Settings<'s> = &'s [(&'s str, &'s str)];

/// Runs `doctor` for a gateway with these settings. Returns the status, output and log.
fn doctor(folder: &Path, core_url: &str, settings: &[(&str, &str)], token: &str) -> (Option<i32>, String, String) {
    let mut command = compliance(&DataDir::new());
    command.args(["doctor", "--json", "--jwt-secret", SECRET, "--token", token, "--core-url", core_url]);
    let (status, printed, log) = output(with(&mut command, folder, settings));
    (status.code(), printed, log)
}

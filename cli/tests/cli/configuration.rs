//! Tests the sources of settings, and the rejection of invalid settings.

use std::{fs, path::PathBuf};

use nix::sys::signal::Signal;

use crate::common::{DataDir, Service, compliance, migrated, output, start};

const SECRET: &str = "Hid4en-0123456789abcdef0123456789abcdef";

/// Creates a file in a folder. Returns its path.
fn file(folder: &DataDir, name: &str, content: &str) -> PathBuf {
    fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

/// Arguments, variables, and texts that the error must contain.
type Wrong = (Vec<String>, &'static [(&'static str, &'static str)], &'static [&'static str]);

/// Checks that each command fails with its texts, and creates no data folder.
fn assert_rejected(data: &DataDir, cases: Vec<Wrong>) {
    for (arguments, variables, expected) in cases {
        let (status, out, errors) = output(compliance(data).args(&arguments).envs(variables.iter().copied()));
        assert_eq!(status.code(), Some(2), "{arguments:?} {variables:?}: {errors}");
        for text in expected {
            assert!(errors.contains(text), "{arguments:?} {variables:?}: {text:?} is missing in {errors}");
        }
        assert!(out.is_empty() && !errors.contains("Hid4en") && !errors.contains("panicked"), "{errors}");
        assert!(!data.path().exists(), "{arguments:?} {variables:?}");
    }
}

#[test]
fn invalid_settings_fail_before_creating_anything() {
    let (data, files) = (DataDir::new(), DataDir::new());
    let file = |name: &str, content: &str| file(&files, name, content).to_str().unwrap().to_owned();
    let (keys, short) = (file("keys", "{}"), file("short", "too short"));
    let words = |arguments: &[&str]| arguments.iter().map(|word| (*word).to_owned()).collect();
    let serve = |arguments: &[&str]| words(&[&["serve"], arguments].concat());
    let cases: Vec<Wrong> = vec![
        (serve(&["--jwks-file", &keys]), &[], &["--jwks-file", "not a JSON Web Key Set"]),
        (serve(&["--jwks-file", "/nonexistent"]), &[], &["--jwks-file", "/nonexistent"]),
        (serve(&["--jwt-secret-file", &short]), &[], &["--jwt-secret-file", "at least 32"]),
        (serve(&["--jwt-secret-file", "/nonexistent"]), &[], &["--jwt-secret-file", "/nonexistent"]),
        (serve(&[]), &[("COMPLIANCE_JWT_SECRET", "short")], &["COMPLIANCE_JWT_SECRET", "at least 32"]),
        (serve(&["--log", "nonsense"]), &[], &["--log", "nonsense", "warn, info"]),
        (serve(&[]), &[("COMPLIANCE_LOG", "info,loud")], &["--log", "environment variable COMPLIANCE_LOG"]),
        (serve(&["--database-url", "mysql://h/d"]), &[], &["--database-url", "postgres://"]),
        (
            serve(&["--database-url", "postgres://h/d?pasword=Hid4en"]),
            &[],
            &["--database-url", "the parameter pasword is unknown"],
        ),
        (serve(&["--database-url-file", &short]), &[], &["--database-url-file", "postgres://"]),
        (serve(&["--rest-addr", "8080"]), &[], &["--rest-addr", "localhost:8080"]),
        (serve(&["--rest-addr", "127.0.0.1:99999"]), &[], &["--rest-addr", "between 0 and 65535"]),
        (serve(&["--call-timeout", "30 parsecs"]), &[], &["--call-timeout", "ms"]),
        (serve(&["--rest-max-connections", "0"]), &[], &["--rest-max-connections", "between 1 and"]),
        (serve(&[]), &[("COMPLIANCE_MAX_IN_FLIGHT", "-1")], &["--max-in-flight", "variable COMPLIANCE_MAX_IN_FLIGHT"]),
        (
            serve(&["--webhook-networks", "10.1.0.0"]),
            &[],
            &["--webhook-networks", "prefix length, such as 10.1.0.0/16"],
        ),
        (serve(&["--message-limit", "0"]), &[], &["--message-limit", "between 1KiB and"]),
        (
            serve(&["--jwks-url", "ftp://u:Hid4en@host/keys"]),
            &[],
            &["--jwks-url", "ftp://host/keys does not have the form https://"],
        ),
        (words(&["health", "core:50051"]), &[], &["core:50051: must begin with http://"]),
        (serve(&["--config", "/f"]), &[], &["--config", "unexpected argument"]),
        (serve(&[]), &[("COMPLIANCE_CONFIG", "/f")], &["COMPLIANCE_CONFIG", "configuration files are not supported"]),
        (
            serve(&[]),
            &[("COMPLIANCE_DATABASE_URL", "postgres://u:Hid4en@h/d")],
            &["this variable does not exist: set DATABASE_URL"],
        ),
        (serve(&["--jwt-secret", SECRET]), &[("COMPLIANCE_JWT_SECRET_FILE", "/f")], &["cannot be used with"]),
        (
            serve(&[]),
            &[("COMPLIANCE_GRPC_CLIENT_CA", "/f")],
            &["required", "--grpc-tls-cert", "As environment variables: ", "COMPLIANCE_GRPC_TLS_CERT"],
        ),
        (
            serve(&[]),
            &[("DATABASE_URL", "postgres://u:Hid4en@h/d"), ("COMPLIANCE_DATABASE_URL_FILE", "/f")],
            &["cannot be used with", "As environment variables: ", "DATABASE_URL", "COMPLIANCE_DATABASE_URL_FILE"],
        ),
        (
            serve(&["--rest-addr", "127.0.0.1:7001"]),
            &[("COMPLIANCE_GRPC_ADDR", "127.0.0.1:7001")],
            &["--grpc-addr (COMPLIANCE_GRPC_ADDR)", "127.0.0.1:7001 is already used by --rest-addr"],
        ),
        (
            serve(&[]),
            &[("DATABASE_URL", "postgres://u:Hid4en@h/d?sslmode=verify-full&sslrootcert=/nonexistent")],
            &["DATABASE_URL", "the parameter sslrootcert", "/nonexistent"],
        ),
        (serve(&[]), &[("DATABASE_URL", "postgres://u:Hid4en/x@h/d")], &["DATABASE_URL", "write it as %2F"]),
        (serve(&[]), &[("DATABASE_URL", "postgres://u:Hid4en@h")], &["DATABASE_URL", "names no database"]),
        (words(&["migrate", "--database-url", "postgres://h/d", "--service-role", ""]), &[], &["--service-role"]),
        (
            words(&["restored", "--data-dir", "/nonexistent"]),
            &[("DATABASE_URL", "postgres://u:Hid4en@h/d")],
            &["--data-dir and DATABASE_URL choose different databases"],
        ),
        (
            words(&["erase", "--company", "1", "--yes", "--data-dir", "/nonexistent"]),
            &[("COMPLIANCE_DATABASE_URL_FILE", "/f")],
            &["--data-dir and COMPLIANCE_DATABASE_URL_FILE choose"],
        ),
        (
            words(&["audit", "verify", "--data-dir", "/f", "--database-url", "postgres://u:Hid4en@h/d"]),
            &[],
            &["--data-dir and --database-url choose"],
        ),
        (
            words(&["export", "urls", "--company", "7", "--data-dir", "/nonexistent"]),
            &[("COMPLIANCE_CORE_URL", "http://u:Hid4en@127.0.0.1:1")],
            &["--data-dir and COMPLIANCE_CORE_URL choose"],
        ),
        (
            words(&["export", "urls", "--company", "7", "--database-url", "postgres://u:Hid4en@h/d"]),
            &[("COMPLIANCE_CORE_URL", "http://127.0.0.1:1")],
            &["--database-url and COMPLIANCE_CORE_URL choose"],
        ),
        (
            words(&["export", "urls", "--company", "7", "--core-url", "http://127.0.0.1:1"]),
            &[("COMPLIANCE_TOKEN", "e30.eyJjb21wYW55X2lkIjo4fQ.eA")],
            &["--token (COMPLIANCE_TOKEN)", "belongs to company 8, but --company is 7"],
        ),
    ];
    assert_rejected(&data, cases);
}

#[test]
fn unusable_core_addresses_and_certificates_are_rejected() {
    let words = |arguments: &[&str]| arguments.iter().map(|word| (*word).to_owned()).collect();
    let cases: Vec<Wrong> = vec![
        (
            words(&["gateway", "--core-url", "ftp://core"]),
            &[("COMPLIANCE_JWT_SECRET", SECRET)],
            &["--core-url", "ftp://core"],
        ),
        (
            words(&["gateway", "--core-url", "http://core:80,http://CORE"]),
            &[("COMPLIANCE_JWT_SECRET", SECRET)],
            &["--core-url", "http://core:80/ and http://CORE/ are the same core"],
        ),
        (words(&["export", "urls", "--company", "7", "--core-url", "core"]), &[], &["--core-url", "core"]),
        (
            words(&["gateway", "--core-url", "http://127.0.0.1:1,http://127.0.0.1:2", "--core-ca", "/f"]),
            &[("COMPLIANCE_JWT_SECRET", SECRET)],
            &["--core-ca (COMPLIANCE_CORE_CA)", "no --core-url (COMPLIANCE_CORE_URL) begins with https://"],
        ),
        (
            words(&["export", "urls", "--company", "7", "--core-url", "http://127.0.0.1:1"]),
            &[("COMPLIANCE_CORE_TLS_CERT", "/f"), ("COMPLIANCE_CORE_TLS_KEY", "/f")],
            &["--core-tls-cert (COMPLIANCE_CORE_TLS_CERT)", "begins with https://"],
        ),
    ];
    assert_rejected(&DataDir::new(), cases);
}

#[test]
fn unknown_environment_variables_log_a_warning() {
    let data = DataDir::new();
    let mut command = compliance(&data);
    command.args(["token", "--company", "7"]).envs([("COMPLIANCE_JWT_SECRET", SECRET), ("COMPLIANCE_LOGG", "info")]);
    let (status, _, errors) = output(&mut command);
    assert!(status.success() && errors.contains("COMPLIANCE_LOGG") && errors.lines().count() == 1, "{errors}");
    assert!(errors.contains(r#"similar="COMPLIANCE_LOG""#), "{errors}");
}

#[test]
fn equal_secrets_log_a_warning() {
    let mut command = compliance(&DataDir::new());
    command.args(["doctor", "--core-url", "http://127.0.0.1:1"]);
    command.envs([("COMPLIANCE_JWT_SECRET", SECRET), ("COMPLIANCE_JWT_SECOND_SECRET", SECRET)]);
    let (_, _, errors) = output(&mut command);
    assert!(errors.contains("COMPLIANCE_JWT_SECOND_SECRET) equals the first secret"), "{errors}");
}

/// A tier warns once about settings of the other tier, but not about settings of other commands.
#[test]
fn settings_of_the_other_tier_log_a_warning() {
    let data = DataDir::new();
    let variables = [
        ("COMPLIANCE_RATE_LIMIT", "500/s"),
        ("COMPLIANCE_REST_TLS_CERT", "/c"),
        ("COMPLIANCE_CORE_URL", "ftp://core"),
        ("COMPLIANCE_CORE_CA", "/c"),
        ("COMPLIANCE_TOKEN", "t"),
        ("COMPLIANCE_SERVICE_ROLE", "r"),
        ("COMPLIANCE_REST_ADDR", "127.0.0.1:0"),
        ("COMPLIANCE_GRPC_ADDR", "127.0.0.1:0"),
    ];
    let other = "COMPLIANCE_CORE_CA, COMPLIANCE_CORE_URL";
    for (tier, unset, unused) in [
        ("gateway", "COMPLIANCE_REST_TLS_CERT", "COMPLIANCE_RATE_LIMIT"),
        ("core", "COMPLIANCE_TOKEN", &*format!("{other}, COMPLIANCE_REST_TLS_CERT")),
        ("core", "COMPLIANCE_GRPC_ADDR", &format!("{other}, COMPLIANCE_REST_ADDR, COMPLIANCE_REST_TLS_CERT")),
        ("serve", "COMPLIANCE_REST_TLS_CERT", other),
    ] {
        let mut command = compliance(&data);
        command.arg(tier).envs(variables).env("DATABASE_URL", "mysql://h/d").env_remove(unset);
        command.env_remove("COMPLIANCE_GRPC_SHUTDOWN_DELAY").env_remove("COMPLIANCE_REST_SHUTDOWN_DELAY");
        let (status, _, errors) = output(&mut command);
        let warnings: Vec<_> = errors.lines().filter(|line| line.contains("WARN")).collect();
        assert!(status.code() == Some(2) && warnings.len() == 1, "{tier}: {errors}");
        assert!(warnings[0].contains(&format!(" {unused}: no effect")), "{tier}: {errors}");
    }
}

#[test]
fn private_database_ignores_or_rejects_pg_variables() {
    let data = migrated();
    let variables = [("PGSSLMODE", "verify-full"), ("PGHOST", "/nonexistent"), ("PGUSER", "nobody"), ("PGPORT", "1")];
    let service = Service::start_as(compliance(&data).arg("serve").envs(variables));
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
    let (status, _, errors) = output(compliance(&data).arg("serve").env("PGOPTIONS", "-c work_mem=64kB"));
    assert!(status.code() == Some(2) && errors.contains("PGOPTIONS"), "{errors}");
}

#[test]
fn host_names_and_secret_files_are_accepted() {
    let (data, files) = (migrated(), DataDir::new());
    let secret = file(&files, "secret", &format!("{SECRET}\n"));
    let path = secret.to_str().unwrap();
    let service =
        Service::start_as(compliance(&data).args(["serve", "--rest-addr", "localhost:0", "--jwt-secret-file", path]));
    let (status, token, errors) =
        output(compliance(&data).args(["token", "--company", "7"]).env("COMPLIANCE_JWT_SECRET_FILE", path));
    assert!(status.success(), "{errors}");
    assert_eq!(service.get("/api/affiliates", token.trim())["data"], serde_json::json!([]));
    assert!(!data.path().join("jwt-secret").exists());
}

#[test]
fn commands_create_no_data_folder_without_init() {
    let commands: [&[&str]; 4] = [
        &["token", "--company", "7"],
        &["export", "affiliates", "--company", "7"],
        &["import", "affiliates", "FILE", "--company", "7"],
        &["doctor", "--counts"],
    ];
    for arguments in commands {
        let (data, files) = (DataDir::new(), DataDir::new());
        let input = file(&files, "csv", "affiliate_name,client_affiliate_id\nAcme,A-1\n");
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| if *argument == "FILE" { input.to_str().unwrap() } else { argument })
            .collect();
        let (status, out, errors) = output(compliance(&data).args(&arguments));
        assert_eq!(status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains(data.path().to_str().unwrap()) && out.is_empty(), "{arguments:?}: {errors}");
        assert!(!data.path().exists(), "{arguments:?}");
        if arguments[0] != "doctor" {
            let (status, _, errors) = output(compliance(&data).args(&arguments).arg("--init"));
            assert!(status.success() && data.path().exists(), "{arguments:?}: {errors}");
        }
    }
    // With a running service, the folder exists.
    let data = migrated();
    let _service = start(&data, &["serve"]);
    for arguments in [["token", "--company", "7"].as_slice(), &["export", "urls", "--company", "7"]] {
        let (status, _, errors) = output(compliance(&data).args(arguments));
        assert!(status.success(), "{arguments:?}: {errors}");
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let data = DataDir::new();
    let commands = ["serve", "core", "gateway", "token", "migrate", "demo-data", "doctor", "import", "export"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (status, script, errors) = output(compliance(&data).args(["completions", shell]));
        assert!(status.success() && errors.is_empty(), "{errors}");
        assert!(commands.iter().all(|command| script.contains(command)) && script.contains("log-format"), "{shell}");
    }
    let pages = DataDir::new();
    let (status, _, errors) = output(compliance(&data).args(["man", "--output", pages.path().to_str().unwrap()]));
    assert!(status.success(), "{errors}");
    for command in commands {
        let page = fs::read_to_string(pages.path().join(format!("compliance-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Example"), "{command}");
    }
    let serve = fs::read_to_string(pages.path().join("compliance-serve.1")).unwrap();
    assert!(serve.contains("COMPLIANCE_REST_ADDR"));
}

//! Settings: their sources, how they are printed, and what happens to wrong settings.

use std::{fs, path::PathBuf};

use crate::common::{DataDir, Service, compliance, output, start};

const SECRET: &str = "Hid4en-0123456789abcdef0123456789abcdef";

/// A new file in a folder.
fn file(folder: &DataDir, name: &str, content: &str) -> PathBuf {
    fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

/// The settings that `serve --print-config` prints.
fn printed(data: &DataDir, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = compliance(data);
    command.env_remove("COMPLIANCE_REST_ADDR").env_remove("COMPLIANCE_GRPC_ADDR");
    let (status, out, errors) = output(command.args(arguments).arg("--print-config").envs(variables.iter().copied()));
    assert!(status.success() && errors.is_empty(), "{errors}");
    assert!(!data.path().exists());
    out
}

#[test]
fn flags_override_variables_and_variables_override_the_file() {
    let (data, files) = (DataDir::new(), DataDir::new());
    let path = file(
        &files,
        "toml",
        "rest-addr = \"127.0.0.1:1\"\ngrpc-addr = \"127.0.0.1:2\"\nrate-limit = \"5/s\"\nmax-in-flight = 7\n\
         rest-reuse-port = true\n[serve]\nlog-format = \"json\"\nbody-limit = \"1MiB\"\ncall-timeout = 45\n[core]\nmessage-limit = \"8MiB\"\n",
    );
    let path = path.to_str().unwrap();
    let arguments = ["serve", "--config", path, "--rest-addr", "localhost:3"];
    let variables = [("COMPLIANCE_GRPC_ADDR", "127.0.0.1:4"), ("COMPLIANCE_LOG", "")];
    let text = printed(&data, &arguments, &variables);
    for (setting, value, origin) in [
        ("rest-addr", "\"localhost:3\"", "flag"),
        ("grpc-addr", "\"127.0.0.1:4\"", "environment variable COMPLIANCE_GRPC_ADDR"),
        ("rate-limit", "\"5/s\"", path),
        ("max-in-flight", "7", path),
        ("rest-reuse-port", "true", path),
        ("body-limit", "\"1MiB\"", path),
        ("call-timeout", "45", path),
        ("message-limit", "\"64MiB\"", "default"),
        ("log", "\"info,access=warn,sqlx::postgres::notice=warn\"", "default"),
        ("log-format", "\"json\"", path),
    ] {
        let line = format!("{setting} = {value}   # {origin}");
        assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
    }
    // Without a command, and with the file named by a variable.
    assert!(printed(&data, &[], &[("COMPLIANCE_CONFIG", path)]).contains(&format!("max-in-flight = 7   # {path}\n")));
}

/// A database or secret in the file must not override a setting that the caller gives in another form.
#[test]
fn a_setting_overrides_settings_that_it_excludes() {
    let (data, files) = (DataDir::new(), DataDir::new());
    let path = file(
        &files,
        "toml",
        "jwt-secret-file = \"/nonexistent\"\ndatabase-url-file = \"/nonexistent\"\n\
         jwt-second-secret-file = \"/nonexistent\"\nread-database-url-file = \"/nonexistent\"\n\
         [serve]\njwt-second-secret = \"of the table\"\n",
    );
    let arguments = ["serve", "--config", path.to_str().unwrap(), "--jwt-secret", SECRET];
    let text = printed(&data, &arguments, &[("DATABASE_URL", "postgres://host/database")]);
    for line in [
        "# jwt-secret is set and hidden   # flag",
        "# jwt-secret-file is not set",
        "# database-url is set and hidden   # environment variable DATABASE_URL",
        "# database-url-file is not set",
        "# jwt-second-secret-file is not set",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
    }
    assert!(text.contains("read-database-url-file = \"/nonexistent\""), "{text}");
}

#[test]
fn secrets_are_hidden_and_the_output_is_a_configuration_file() {
    let (data, files) = (DataDir::new(), DataDir::new());
    let secret = file(&files, "toml", &format!("jwt-secret = \"{SECRET}\"\n"));
    let url = format!("postgres://user:{SECRET}@host/database");
    let arguments = ["serve", "--config", secret.to_str().unwrap()];
    let variables = [("DATABASE_URL", url.as_str()), ("COMPLIANCE_MAX_IN_FLIGHT", "9")];
    let text = printed(&data, &arguments, &variables);
    assert!(text.contains("\n# database-url is set and hidden   # environment variable DATABASE_URL\n"), "{text}");
    assert!(text.contains("\n# jwt-secret is set and hidden   # ") && !text.contains("Hid4en"), "{text}");

    let again = file(&files, "again", &text);
    let reprinted = printed(&data, &["serve", "--config", again.to_str().unwrap()], &[]);
    let settings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split("   #").next().unwrap().to_owned()).collect()
    };
    assert!(settings(&text).len() > 20);
    assert_eq!(settings(&reprinted), settings(&text));
}

/// Arguments, variables, and texts that the error must have.
type Wrong = (Vec<String>, &'static [(&'static str, &'static str)], &'static [&'static str]);

#[test]
fn a_wrong_setting_is_rejected_before_anything_is_created() {
    let (data, files) = (DataDir::new(), DataDir::new());
    let file = |name: &str, content: &str| file(&files, name, content).to_str().unwrap().to_owned();
    let (keys, short) = (file("keys", "{}"), file("short", "too short"));
    let toml = |name: &str, content: &str| vec!["serve".to_owned(), "--config".to_owned(), file(name, content)];
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
        (serve(&["--call-timeout", "30 parsecs"]), &[], &["--call-timeout", "ms"]),
        (serve(&["--rest-max-connections", "0"]), &[], &["--rest-max-connections", "between 1 and"]),
        (serve(&[]), &[("COMPLIANCE_MAX_IN_FLIGHT", "-1")], &["--max-in-flight", "variable COMPLIANCE_MAX_IN_FLIGHT"]),
        (serve(&["--message-limit", "0"]), &[], &["--message-limit", "between 1KiB and"]),
        (
            serve(&["--jwks-url", "ftp://u:Hid4en@host/keys"]),
            &[],
            &["--jwks-url", "ftp://host/keys is not of the form https://"],
        ),
        (
            words(&["gateway", "--core-url", "ftp://core"]),
            &[("COMPLIANCE_JWT_SECRET", SECRET)],
            &["--core-url", "ftp://core"],
        ),
        (words(&["export", "urls", "--company", "7", "--core-url", "core"]), &[], &["--core-url", "core"]),
        (words(&["health", "core:50051"]), &[], &["core:50051: it must begin with http://"]),
        (serve(&["--config", "/nonexistent"]), &[], &["/nonexistent", "No such file"]),
        (toml("a", "rest-adr = 1"), &[], &["rest-adr", "not a setting"]),
        (toml("b", "company = 1"), &[], &["company", "not a setting"]),
        (toml("c", "[server]\nrest-addr = \"x\""), &[], &["[server]", "not the name of a command"]),
        (
            toml("d", "[gateway]\ngrpc-addr = \"127.0.0.1:1\""),
            &[],
            &["grpc-addr", "not a setting of this command, but of serve, core"],
        ),
        (toml("e", "max-in-flight = 1.5"), &[], &["max-in-flight", "whole number"]),
        (toml("f", "log = \"info\"\nrest-addr ="), &[], &["line 2"]),
        (toml("g", "body-timeout = \"soon\""), &[], &["--body-timeout", "soon", "/g"]),
        (toml("h", "jwt-secret = \"Hid4en"), &[], &["line 1"]),
        (
            toml("i", "[serve]\ndatabase-url = \"postgres://u:Hid4en@h/d\"\ndatabase-url-file = \"/f\""),
            &[],
            &["\"database-url\"", "\"database-url-file\"", "cannot both be given"],
        ),
    ];
    for (arguments, variables, expected) in cases {
        let (status, out, errors) = output(compliance(&data).args(&arguments).envs(variables.iter().copied()));
        assert_eq!(status.code(), Some(2), "{arguments:?} {variables:?}: {errors}");
        for text in expected {
            assert!(errors.contains(text), "{arguments:?} {variables:?}: {text:?} is missing in {errors}");
        }
        assert!(out.is_empty() && !errors.contains("Hid4en") && !errors.contains("panicked"), "{errors}");
        assert!(!data.path().exists(), "{arguments:?} {variables:?}");
    }
}

#[test]
fn unknown_variables_are_reported() {
    let data = DataDir::new();
    let mut command = compliance(&data);
    command.args(["token", "--company", "7"]).envs([("COMPLIANCE_JWT_SECRET", SECRET), ("COMPLIANCE_LOGG", "info")]);
    let (status, _, errors) = output(&mut command);
    assert!(status.success() && errors.contains("COMPLIANCE_LOGG") && errors.lines().count() == 1, "{errors}");
}

#[test]
fn host_names_and_secrets_in_files_are_used() {
    let (data, files) = (DataDir::new(), DataDir::new());
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
fn only_init_makes_a_data_folder_for_a_command() {
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
    // A running service has the folder that they need.
    let data = DataDir::new();
    let _service = start(&data, &["serve"]);
    for arguments in [["token", "--company", "7"].as_slice(), &["export", "urls", "--company", "7"]] {
        let (status, _, errors) = output(compliance(&data).args(arguments));
        assert!(status.success(), "{arguments:?}: {errors}");
    }
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let data = DataDir::new();
    let commands = ["serve", "core", "gateway", "token", "migrate", "demo-data", "doctor", "import", "export"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (status, script, errors) = output(compliance(&data).args(["completions", shell]));
        assert!(status.success() && errors.is_empty(), "{errors}");
        assert!(commands.iter().all(|command| script.contains(command)) && script.contains("print-config"), "{shell}");
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

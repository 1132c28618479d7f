//! Checks that no command prints a secret in its help, errors or most verbose log.

use std::{collections::BTreeSet, process::Command};

use crate::common::{DataDir, compliance, output};

const COMMANDS: [&str; 8] = ["serve", "core", "gateway", "token", "migrate", "demo-data", "import", "export"];
/// Part of every secret in these tests.
const SECRET: &str = "Hid4en";

/// Returns the variables named in a help text.
fn variables(help: &str) -> BTreeSet<String> {
    let names = help.split("[env: ").skip(1).map(|rest| rest.split(['=', ']']).next().unwrap().to_owned());
    names.collect()
}

fn may_hold_a_secret(variable: &str) -> bool {
    // These variables name a certificate's key file.
    let is_file = variable.ends_with("_TLS_KEY");
    ["URL", "ENDPOINT", "SECRET", "TOKEN", "PASSWORD", "KEY"].iter().any(|word| variable.ends_with(word)) && !is_file
}

#[test]
fn help_hides_environment_secrets() {
    let data = DataDir::new();
    let listed = output(compliance(&data).arg("help")).1;
    let mut secret = BTreeSet::new();
    for command in COMMANDS {
        assert!(listed.contains(&format!("\n  {command} ")), "{listed}");
        let help = |command: &mut Command| output(command).1;
        let names = variables(&help(compliance(&data).args(["help", command])));
        assert!(!names.is_empty());
        let values = names.iter().map(|name| (name, format!("{SECRET}:{name}.")));
        let with_values = help(compliance(&data).args(["help", command]).envs(values));
        for name in names {
            let is_shown = with_values.contains(&format!("{SECRET}:{name}."));
            assert_eq!(is_shown, !may_hold_a_secret(&name), "{command}: {name}");
            if may_hold_a_secret(&name) {
                secret.insert(name);
            }
        }
    }
    let expected = [
        "COMPLIANCE_CORE_URL",
        "COMPLIANCE_JWKS_URL",
        "COMPLIANCE_JWT_SECOND_SECRET",
        "COMPLIANCE_JWT_SECRET",
        "COMPLIANCE_OTLP_ENDPOINT",
        "COMPLIANCE_TOKEN",
        "DATABASE_URL",
    ];
    assert_eq!(secret.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

/// A command, variables with `$` for the secret, and text that the error must contain.
type Failure = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

const FAILURES: &[Failure] = &[
    (&["core", "--database-url", "postgres://u:$@127.0.0.1:1/d"], &[("COMPLIANCE_JWT_SECRET", "$")], "at least 32"),
    (&["core"], &[("DATABASE_URL", "postgres://u:$@127.0.0.1:1/d"), LONG], "cannot connect to the database d"),
    (&["core"], &[("DATABASE_URL", "postgres://u:$@127.0.0.1:port/d"), LONG], "the database URL is not valid"),
    (&["core"], &[("DATABASE_URL", "postgres://127.0.0.1:1/d?user=u&password=$"), LONG], "cannot connect"),
    (&["core"], &[("DATABASE_URL", "postgres://127.0.0.1:1/d?pasword=$"), LONG], "pasword is unknown"),
    (&["migrate"], &[("DATABASE_URL", "postgres://u:$@127.0.0.1:1/d")], "cannot connect to the database d"),
    (&["migrate"], &[("DATABASE_URL", "u:$@127.0.0.1")], "the database URL is not valid"),
    (&["core"], &[("COMPLIANCE_JWKS_URL", "http://u:$@127.0.0.1:1/keys?key=$"), DATABASE], "http://127.0.0.1:1/keys"),
    (&["core"], &[("COMPLIANCE_JWKS_URL", "http://u:$@127.0.0.1:port/"), DATABASE], "does not have the form https://"),
    (&["core"], &[("COMPLIANCE_JWKS_URL", "u:$@127.0.0.1"), DATABASE], "does not have the form https://"),
    (
        &["gateway", "--jwks-url", "https://u:$@127.0.0.1:1"],
        &[("COMPLIANCE_CORE_URL", "http://c:1")],
        "https://127.0.0.1:1",
    ),
    (&["gateway"], &[("COMPLIANCE_CORE_URL", "https://u:$@127.0.0.1:1"), LONG], "https://127.0.0.1:1"),
    (&["gateway"], &[("COMPLIANCE_CORE_URL", "http://u:$@127.0.0.1:port"), LONG], "the core's address"),
    (&["gateway"], &[("COMPLIANCE_CORE_URL", "http://u:$@127.0.0.1:1"), LONG], "http://127.0.0.1:1"),
    (&["gateway"], &[("COMPLIANCE_CORE_URL", "http://h:$@h:1"), LONG], "http://h:1"),
    (
        &["export", "urls", "--company", "7", "--core-url", "http://127.0.0.1:1"],
        &[("COMPLIANCE_TOKEN", "$\u{7f}")],
        "the token contains invalid characters",
    ),
    (&["export", "urls", "--company", "7", "--core-url", "ftp://u:$@127.0.0.1:1"], &[LONG], "the core's address"),
    (&["token", "--company", "7", "--jwt-secret", "$"], &[], "at least 32"),
    // A token in the wrong place.
    (&["token", "--company", "eyJ$.a.b"], &[], "invalid value '…' for '--company"),
    (&["export", "urls", "eyJ$.a.b"], &[], "unexpected argument '…'"),
    (&["eyJ$.a.b"], &[], "unrecognized subcommand '…'"),
    (&["health", "Bearer eyJ$.a.b"], &[], "invalid value '…'"),
];
const LONG: (&str, &str) = ("COMPLIANCE_JWT_SECRET", "0123456789abcdef0123456789$");
const DATABASE: (&str, &str) = ("DATABASE_URL", "postgres://u:$@127.0.0.1:1/d");

#[test]
fn errors_and_logs_hide_secrets() {
    for (arguments, variables, expected) in FAILURES {
        let data = DataDir::new();
        let with_secret = |text: &str| text.replace('$', SECRET);
        let mut command = compliance(&data);
        command.args(arguments.iter().map(|argument| with_secret(argument)));
        command.envs(variables.iter().map(|(name, value)| (name, with_secret(value)))).env("COMPLIANCE_LOG", "trace");
        let (status, out, errors) = output(&mut command);
        assert!(!status.success(), "{arguments:?} {variables:?}");
        assert!(errors.contains(expected), "{arguments:?} {variables:?}: {errors}");
        assert!(!out.contains(SECRET) && !errors.contains(SECRET), "{arguments:?} {variables:?}: {errors}");
    }
}

//! Runs the partner guide's shell and Python examples as written, and compares their responses with the guide.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use test_support::output;

use crate::common::{Service, compliance, migrated, start, token};

/// Chapters with commands, ordered so each chapter finds the records it needs.
const CHAPTERS: &[&str] = &[
    include_str!("../../../docs/partners/affiliates.md"),
    include_str!("../../../docs/partners/batches.md"),
    include_str!("../../../docs/partners/repeating-safely.md"),
    include_str!("../../../docs/partners/syncs.md"),
    include_str!("../../../docs/partners/urls.md"),
    include_str!("../../../docs/partners/cases.md"),
    include_str!("../../../docs/partners/overview.md"),
    include_str!("../../../docs/partners/changes.md"),
    include_str!("../../../docs/partners/webhooks.md"),
    include_str!("../../../docs/partners/history.md"),
    include_str!("../../../docs/partners/lists.md"),
    include_str!("../../../docs/partners/errors.md"),
    include_str!("../../../docs/reference/values.md"),
    include_str!("../../../docs/partners/erasure.md"),
    QUICK_START,
];
const QUICK_START: &str = include_str!("../../../docs/partners/quick-start.md");

/// Case that the test opens at [`CASE_IS_OPENED`], as the company's monitoring does.
const CASE: &str = r#"{"request_id":"c-1","case":{"client_affiliate_id":"A-1001","case_status":"Open","risk_level":"High","tags":["priority"]},"incidents":[{"incident_type":"display ad","reference":"ad 7","infraction_type":"Health Claim","infraction_name":"weight loss"}]}"#;
const CASE_IS_OPENED: &str = "<!-- test: a case is opened -->";

/// Marks omitted keys, and parts that vary between runs.
const ANYTHING: &str = "…";

/// Defines `call`, then evaluates a block with one Python expression.
const PYTHON: &str = "
import ast, json, sys
first, block = json.load(sys.stdin)
names = {}
exec(first, names)
status, answer = eval(compile(ast.Expression(ast.parse(block).body[0].value), 'guide', 'eval'), names)
print(json.dumps([status, answer]))
";

/// A block's info string, which begins with the language, and its text.
type Block<'a> = (&'a str, &'a str);

fn blocks() -> Vec<Block<'static>> {
    CHAPTERS.iter().flat_map(|chapter| blocks_of(chapter)).collect()
}

fn blocks_of(chapter: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = chapter;
    while let Some(start) = rest.find("\n```").into_iter().chain(rest.find(CASE_IS_OPENED)).min() {
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix(CASE_IS_OPENED) {
            blocks.push((CASE_IS_OPENED, ""));
            rest = after;
            continue;
        }
        let (info, after) = rest["\n```".len()..].split_once('\n').unwrap();
        let (text, after) = after.split_once("\n```").unwrap();
        blocks.push((info, text));
        rest = after;
    }
    blocks
}

fn run(program: &str, arguments: &[&str], service: &Service, token: &str, input: &str) -> String {
    let mut command = Command::new(program);
    command.args(arguments).env("BASE", format!("http://{}", service.rest)).env("TOKEN", token);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{input}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a shell command. Returns the status and the JSON response.
fn in_shell(service: &Service, token: &str, command: &str) -> (u64, Value) {
    let with_status = format!("set -eu\ncurl() {{ command curl -w '\\n%{{http_code}}' \"$@\"; }}\n{command}\n");
    let printed = run("bash", &["-s"], service, token, &with_status);
    let (body, status) = printed.trim_end().rsplit_once('\n').unwrap();
    (status.parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn in_python(service: &Service, token: &str, first: &str, block: &str) -> (u64, Value) {
    // Files often contain the token with a line break.
    let token = format!("{token}\r\n");
    let printed = run("python3", &["-c", PYTHON], service, &token, &json!([first, block]).to_string());
    let answer: Value = serde_json::from_str(&printed).unwrap();
    (answer[0].as_u64().unwrap(), answer[1].clone())
}

/// Returns whether a response matches the documented response.
fn is_as_shown(shown: &Value, answer: &Value) -> bool {
    match (shown, answer) {
        (Value::String(text), _) if text == ANYTHING => true,
        (Value::Object(shown), Value::Object(answer)) => {
            let is_whole = !shown.contains_key(ANYTHING);
            (!is_whole || shown.len() == answer.len())
                && shown
                    .iter()
                    .filter(|(key, _)| *key != ANYTHING)
                    .all(|(key, value)| answer.get(key).is_some_and(|answer| is_as_shown(value, answer)))
        }
        (Value::Array(shown), Value::Array(answer)) => {
            shown.len() == answer.len() && shown.iter().zip(answer).all(|(shown, answer)| is_as_shown(shown, answer))
        }
        (shown, answer) => shown == answer,
    }
}

/// Runs all commands in one language on a new service. Returns the number of compared responses.
fn every_command_of(language: &str) -> usize {
    let data = migrated();
    let service = start(&data, &["serve"]);
    // The guide requires these scopes.
    let scopes = ["token", "--company", "1", "--scope", "cases erase webhooks"];
    let (status, token, log) = output(compliance(&data).args(scopes));
    assert!(status.success(), "{log}");
    let token = token.trim();
    let blocks = blocks();
    let definition = blocks.iter().find(|(info, text)| *info == "python" && text.contains("def call(")).unwrap().1;
    let (mut given, mut compared) = (None, 0);
    for (info, text) in &blocks {
        if *info == CASE_IS_OPENED {
            let path = data.path().join("case.ndjson");
            fs::write(&path, CASE).unwrap();
            let arguments = ["import", "cases", path.to_str().unwrap(), "--company", "1"];
            let (status, _, log) = output(compliance(&data).args(arguments));
            assert!(status.success(), "{log}");
        } else if *info == language && *text != definition {
            given = Some(match language {
                "sh" => in_shell(&service, token, text),
                _ => in_python(&service, token, definition, text),
            });
        } else if let Some(status) = info.strip_prefix("json ") {
            let (answered, answer) = given.take().unwrap_or_else(|| panic!("no command in {language} before {text}"));
            let shown: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(answered.to_string(), status, "{answer}");
            assert!(is_as_shown(&shown, &answer), "shown:\n{shown:#}\nanswered:\n{answer:#}");
            compared += 1;
        }
    }
    compared
}

/// Compares a watch's events, up to the last documented line.
#[test]
#[ignore = "needs curl: tools/scripts/check-examples runs it"]
fn watch_example_returns_documented_events() {
    let data = migrated();
    let (service, token) = (start(&data, &["serve"]), token(&data, 1));
    let created =
        service.request("POST", "/api/affiliates", &token, r#"{"client_affiliate_id":"A","affiliate_name":"N"}"#);
    assert_eq!(created.0, 201, "{}", created.1);
    let blocks = blocks();
    let mut blocks = blocks.iter().skip_while(|(info, _)| *info != "sh events").map(|(_, text)| text);
    let (command, shown) = (blocks.next().unwrap(), blocks.next().unwrap());
    let first_lines = format!("{command} | head -n {}", shown.lines().count());
    let printed = run("bash", &["-s"], &service, &token, &first_lines);
    for (shown, line) in shown.lines().zip(printed.lines()) {
        match (shown.strip_prefix("data: "), line.strip_prefix("data: ")) {
            (Some(shown), Some(data)) => {
                let [shown, data]: [Value; 2] = [shown, data].map(|text| serde_json::from_str(text).unwrap());
                assert!(is_as_shown(&shown, &data), "shown:\n{shown:#}\nreceived:\n{data:#}");
            }
            _ => assert!(
                shown == line || shown.split_once(ANYTHING).is_some_and(|(start, _)| line.starts_with(start)),
                "{line}"
            ),
        }
    }
    assert_eq!(printed.lines().count(), shown.lines().count());
}

#[test]
#[ignore = "needs curl: tools/scripts/check-examples runs it"]
fn shell_examples_return_documented_responses() {
    assert_eq!(every_command_of("sh"), 29);
}

#[test]
#[ignore = "needs python3: tools/scripts/check-examples runs it"]
fn python_examples_return_documented_responses() {
    assert_eq!(every_command_of("python"), 29);
}

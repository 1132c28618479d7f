//! Each task of the program that lasts as long as its process is supervised. The others are listed, with the reason.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Files that spawn tasks without a supervisor: how many, and why they need none.
const ENDING: [(&str, usize, &str); 18] = [
    ("cli/src/commands/health.rs", 2, "the connection of a command"),
    ("cli/src/start.rs", 1, "serves until the service is ready"),
    ("core-server/src/changes/hub.rs", 2, "one read, whose failure its readers see"),
    ("core-server/src/changes/watch.rs", 1, "a call"),
    ("core-server/src/chunks.rs", 1, "a call"),
    ("core-server/src/database/lease.rs", 1, "the clean-up of a connection"),
    ("core-server/src/database/probe.rs", 1, "a wait for connections that were silent"),
    ("core-server/src/lists/stream.rs", 1, "a call"),
    ("core-server/src/record_pages.rs", 1, "a call"),
    ("core-server/src/webhooks/dispatch.rs", 1, "the attempts of one delivery, whose lease ends"),
    ("core-server/src/writes/apart.rs", 1, "the writes of a company, which ends with them, also by a panic"),
    (
        "crates/batcher/src/lib.rs",
        2,
        "the dispatcher, which runs batches in tasks of their own or catches their panics",
    ),
    ("crates/embedded-postgres/src/cluster.rs", 1, "the supervisor of PostgreSQL, which owns its process"),
    ("crates/embedded-postgres/src/server.rs", 1, "a process, no task"),
    ("crates/http-server/src/accept.rs", 3, "a connection"),
    ("crates/http-server/src/unready.rs", 1, "a connection"),
    ("cli/src/program/logging/repeats.rs", 1, "a thread of the log"),
    ("cli/src/program/observability.rs", 1, "the admin port, whose connections are tasks of their own"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

#[test]
fn a_task_that_lasts_is_supervised() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut files = Vec::new();
    for folder in ["cli/src", "core-server/src", "rest-gateway/src", "proto/src"] {
        sources(&root.join(folder), &mut files);
    }
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut spawned = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let is_call = |line: &str| line.contains("spawn(") && !line.starts_with("//") && !line.contains("fn spawn(");
        // The name of a task is written where it is supervised: in the same line, or in one of the two before.
        let is_supervised =
            |number: usize| lines[number.saturating_sub(2)..=number].iter().any(|line| line.contains("supervise(\""));
        let count = (0..lines.len()).filter(|number| is_call(lines[*number]) && !is_supervised(*number)).count();
        if count > 0 {
            spawned.insert(path.strip_prefix(root).unwrap().display().to_string(), count);
        }
    }
    let expected = ENDING.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    assert_eq!(spawned, expected, "supervise a task that lasts (telemetry::background), or list one that ends");
}

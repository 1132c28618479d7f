//! Tests that `docs/promises` lists only existing tests, and only programs that CI runs.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PAGES: [&str; 5] = [
    include_str!("../../../docs/promises/load.md"),
    include_str!("../../../docs/promises/access.md"),
    include_str!("../../../docs/promises/writes.md"),
    include_str!("../../../docs/promises/changes.md"),
    include_str!("../../../docs/promises/database.md"),
];

/// Returns the folder with a suite's tests.
fn folder(suite: &str) -> PathBuf {
    let folder = match suite {
        "e2e" => "tests/e2e",
        "core" => "core-server/tests",
        "gateway" => "rest-gateway/tests/gateway",
        "cli" => "cli/tests/cli",
        "cluster" => "crates/embedded-postgres/tests/cluster",
        "unit `compliance-api`" => "proto/src",
        "unit `rest-gateway`" => "rest-gateway/src",
        "unit `core-server`" => "core-server/src",
        "unit `admission`" => "crates/admission/src",
        "unit `storage`" => "crates/storage/src",
        other => panic!("unknown test suite: {other}"),
    };
    Path::new(ROOT).join(folder)
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the names of the test functions in a file.
fn tests_in(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_next = false;
    for line in source.lines().map(str::trim) {
        is_next |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        if let Some((_, function)) = line.split_once("fn ").filter(|_| is_next) {
            names.extend(function.split('(').next().map(str::to_owned));
            is_next = false;
        }
    }
    names
}

/// Returns the full names of a suite's tests, as `cargo test` filters match them.
fn tests_of(suite: &str) -> Vec<String> {
    let (folder, mut files) = (folder(suite), Vec::new());
    add_files(&folder, &mut files);
    let named = |file: &PathBuf| {
        let module = file.strip_prefix(&folder).unwrap().with_extension("").to_string_lossy().replace('/', "::");
        let module = ["mod", "main", "lib", "tests"].iter().fold(module, |module, end| {
            module.strip_suffix(end).map_or(module.clone(), |outer| outer.trim_end_matches("::").to_owned())
        });
        let tests = tests_in(&fs::read_to_string(file).unwrap()).into_iter();
        tests.map(|test| format!("{module}::{test}")).collect::<Vec<_>>()
    };
    let tests: Vec<String> = files.iter().flat_map(named).collect();
    assert!(tests.len() > 5, "{suite}: {tests:?}");
    tests
}

/// Returns the rows of the promise tables: promise, suites, tests.
fn rows() -> Vec<[&'static str; 3]> {
    let cells = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        <[&str; 3]>::try_from(cells).unwrap_or_else(|_| panic!("expected three cells: {line}"))
    };
    let lines = PAGES.iter().flat_map(|page| page.lines());
    let rows = lines.filter(|line| line.starts_with('|')).map(cells);
    rows.filter(|[promise, ..]| !promise.starts_with("---") && *promise != "Promise").collect()
}

/// Returns the code spans of a cell.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_promise_names_existing_tests() {
    let rows = rows();
    assert!(rows.len() >= 100, "found only {} rows", rows.len());
    // The scripts that CI runs for every change, and every night.
    let ci =
        [".ci/run", "tools/scripts/test-long"].map(|script| fs::read_to_string(format!("{ROOT}/{script}")).unwrap());
    let nightly = fs::read_to_string(format!("{ROOT}/.github/workflows/nightly.yml")).unwrap();
    assert!(nightly.contains("tools/scripts/test-long"), "nightly.yml does not run tools/scripts/test-long");
    for [promise, suites, names] in rows {
        let names = quoted(names);
        assert!(!names.is_empty(), "{promise} names no test");
        if suites.is_empty() {
            // Rows without suites name programs.
            for name in names {
                assert!(ci.iter().any(|script| script.contains(name)), "{promise} names {name}, which CI does not run");
            }
            continue;
        }
        let suites: Vec<Vec<String>> = suites.split(", ").map(tests_of).collect();
        // A name selects one test, or all tests in a module.
        let is = |test: &str, name: &str| {
            test.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let has = |tests: &[String], name: &str| tests.iter().any(|test| is(test, name));
        for name in &names {
            assert!(suites.iter().any(|tests| has(tests, name)), "{promise} names {name}, which is not a test");
        }
        for tests in &suites {
            assert!(names.iter().any(|name| has(tests, name)), "{promise} names a suite without any of {names:?}");
        }
    }
}

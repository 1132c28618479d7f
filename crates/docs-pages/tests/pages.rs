//! Tests that files and flags mentioned in handwritten pages exist.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Pages that can mention removed files.
const OF_THE_PAST: &[&str] = &["CHANGELOG.md"];

/// Pages that can mention removed flags, or flags of other programs.
const OTHER_PROGRAMS: &[&str] =
    &["CHANGELOG.md", "docs/configuration.md", "docs/load-testing.md", "docs/performance.md"];

/// Flags of other programs mentioned in pages.
const OTHER_FLAGS: &[&str] = &[
    // cargo, docker, kubectl, pg_restore, protoc
    "--features",
    "--help",
    "--version",
    "--rev",
    "--tag",
    "--test",
    "--skip",
    "--build-arg",
    "--clean",
    "--go_out",
    "--from-file",
    // compliance-sync-affiliates
    "--absent-status",
    "--report-absent",
    "--ignore",
    "--column",
    // tools/bench, tools/scripts
    "--only",
    "--before-build",
    "--quick",
    "--publish",
    "--format",
];

/// Folders that commands create.
const MADE: &[&str] = &[".git", "compliance-data", "node_modules", "secrets", "target", "venv", "__pycache__"];

/// Returns the path of every file in the repository.
fn files() -> Vec<String> {
    fn add(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !path.is_dir() {
                files.push(path);
            } else if !MADE.contains(&&*name) {
                add(&path, files);
            }
        }
    }
    let mut paths = Vec::new();
    add(Path::new(ROOT), &mut paths);
    paths.iter().map(|path| path.strip_prefix(ROOT).unwrap().to_string_lossy().into_owned()).collect()
}

fn pages(files: &[String]) -> Vec<(&str, String)> {
    let pages = files.iter().filter(|file| Path::new(file).extension().is_some_and(|extension| extension == "md"));
    pages.map(|file| (file.as_str(), fs::read_to_string(Path::new(ROOT).join(file)).unwrap())).collect()
}

/// Returns a page's code blocks and code spans.
fn code(page: &str) -> (Vec<String>, Vec<&str>) {
    let (mut blocks, mut spans) = (Vec::new(), Vec::new());
    for (index, part) in page.split("```").enumerate() {
        if index % 2 == 1 {
            blocks.push(part.replace("\\\n", " "));
        } else {
            spans.extend(part.split('`').skip(1).step_by(2));
        }
    }
    (blocks, spans)
}

/// Returns the flags in a command.
fn flags(command: &str) -> impl Iterator<Item = &str> {
    let words = command.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
    words.map(|word| word.split(['=', ',', '\'', ')']).next().unwrap())
}

#[test]
fn files_named_in_pages_exist() {
    let files = files();
    let folders =
        ["cli/", "client/", "core-server/", "crates/", "deploy/", "proto/", "rest-gateway/", "tests/", "tools/"];
    // Files that commands create.
    let is_made = |path: &str| path.starts_with("deploy/secrets") || path.contains("X.Y.Z");
    let exists = |path: &str| {
        let path = path.trim_end_matches('/');
        let (inner, folder) = (format!("/{path}"), format!("{path}/"));
        files.iter().any(|file| file == path || file.ends_with(&inner) || file.starts_with(&folder))
    };
    let (mut seen, mut missing) = (0, Vec::new());
    for (page, text) in pages(&files).iter().filter(|(page, _)| !OF_THE_PAST.contains(page)) {
        for span in code(text).1 {
            let is_plain = span.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
            let is_source =
                [".rs", ".sql", ".proto", ".cjs"].iter().any(|end| span.len() > end.len() && span.ends_with(end));
            if is_plain && (is_source || folders.iter().any(|folder| span.starts_with(folder))) && !is_made(span) {
                seen += 1;
                if !exists(span) {
                    missing.push(format!("{page}: {span}"));
                }
            }
        }
    }
    assert!(seen > 100, "found only {seen} paths in the pages");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn flags_named_in_pages_exist() {
    let files = files();
    let known = fs::read_to_string(Path::new(ROOT).join("docs/configuration.md")).unwrap();
    let is_known = |flag: &str| {
        // A group of flags, such as `--rest-…`.
        let start = flag.split('…').next().unwrap();
        known.contains(&format!("`{flag}`")) || (start != flag && known.contains(&format!("`{start}")))
    };
    let (mut seen, mut unknown) = (0, Vec::new());
    for (page, text) in pages(&files).iter().filter(|(page, _)| !OTHER_PROGRAMS.contains(page)) {
        let (blocks, spans) = code(text);
        let commands = blocks.iter().flat_map(|block| block.lines()).filter(|line| {
            let line = line.trim_start();
            line.starts_with("compliance ") || line.starts_with("target/release/compliance ")
        });
        let named = spans.iter().filter(|span| span.starts_with("--") || span.starts_with("compliance "));
        let of_commands = commands.flat_map(|line| flags(line.split('#').next().unwrap()));
        for flag in of_commands.chain(named.flat_map(|span| flags(span))) {
            seen += 1;
            if !is_known(flag) && !OTHER_FLAGS.contains(&flag) {
                unknown.push(format!("{page}: {flag}"));
            }
        }
    }
    assert!(seen > 150, "found only {seen} flags in the pages");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

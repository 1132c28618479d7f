//! Links between the pages lead somewhere, and the reference of settings matches the commands' help.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::common::{DataDir, compliance, output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const CONFIGURATION: &str = include_str!("../../../docs/configuration.md");

/// The pages that people read on the web.
fn pages() -> Vec<PathBuf> {
    let folders = [
        "",
        "docs",
        "docs/architecture",
        "docs/operations",
        "docs/partners",
        "docs/promises",
        "docs/reference",
        "client/grpc-python",
        "client/python",
        "client/rust",
        "client/typescript",
    ];
    let files = folders.map(|folder| fs::read_dir(format!("{ROOT}/{folder}")).unwrap());
    let files = files.into_iter().flatten().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '));
    let kept = |character: &char| character.is_alphanumeric() || matches!(character, '-' | '_' | ' ');
    headings.map(|text| text.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn links_lead_somewhere() {
    let (mut broken, mut seen) = (Vec::new(), 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            if target.contains("://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { page.parent().unwrap_or(Path::new(".")).join(file) };
            let is_there = if anchor.is_empty() {
                file.exists()
            } else {
                fs::read_to_string(&file).is_ok_and(|text| anchors(&text).iter().any(|known| known == anchor))
            };
            if !is_there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(seen > 50, "the pages were not understood: {seen} links");
}

#[test]
fn every_setting_is_in_the_reference() {
    let data = DataDir::new();
    let mut seen = 0;
    for command in ["serve", "core", "gateway", "token", "migrate"] {
        let (status, help, _) = output(compliance(&data).args(["help", command]));
        assert!(status.success());
        for line in help.lines().map(str::trim) {
            let flag = line.strip_prefix("--").map(|rest| format!("--{}", rest.split([' ', '=']).next().unwrap()));
            let variable = line.strip_prefix("[env: ").map(|rest| rest.split(['=', ']']).next().unwrap().to_owned());
            for name in flag.into_iter().chain(variable).filter(|name| name != "--help") {
                assert!(CONFIGURATION.contains(&format!("`{name}`")), "{command}: {name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "the help was not understood: {seen}");
}

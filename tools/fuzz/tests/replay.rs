//! Runs the targets without libFuzzer, over the corpus and random changes of it.

use std::{env, fs, path::Path};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

/// Number of changes for each target, unless `COMPLIANCE_FUZZ_CHANGES` is set.
const CHANGES: u64 = 20_000;

fn replay(name: &str) {
    let (_, target) = compliance_fuzz::TARGETS.into_iter().find(|(target, _)| *target == name).unwrap();
    let changes = env::var("COMPLIANCE_FUZZ_CHANGES").map_or(CHANGES, |count| count.parse().expect("a number"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<Vec<u8>> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{} is empty", folder.display());
    seeds.iter().for_each(|seed| target(seed));
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..changes {
        let mut bytes = seeds.choose(&mut random).unwrap().clone();
        for _ in 0..random.random_range(1..8) {
            change(&mut bytes, &seeds, &mut random);
        }
        target(&bytes);
    }
    println!("{name}: {} files and {changes} changes", seeds.len());
}

/// Changes bytes at one place.
fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut StdRng) {
    let at = random.random_range(0..=bytes.len());
    let end = random.random_range(at..=bytes.len().min(at + 16));
    match random.random_range(0..4) {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.insert(at, random.random()),
        2 if at < bytes.len() => bytes[at] = random.random(),
        _ => {
            let other = seeds.choose(random).unwrap();
            let start = random.random_range(0..=other.len());
            let part = other[start..other.len().min(start + 32)].to_vec();
            bytes.splice(at..end, part);
        }
    }
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn json() {
    replay("json");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn query() {
    replay("query");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn token() {
    replay("token");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn csv() {
    replay("csv");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn xlsx() {
    replay("xlsx");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn protobuf() {
    replay("protobuf");
}

/// Every target has a test.
#[test]
fn every_target_is_replayed() {
    assert_eq!(compliance_fuzz::TARGETS.map(|(name, _)| name), ["json", "query", "token", "csv", "xlsx", "protobuf"]);
}

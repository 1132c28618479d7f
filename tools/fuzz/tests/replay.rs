//! Runs the targets without libFuzzer, on the corpus and random variations of it.

use std::{env, fs, path::Path};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

/// Number of variations per target, unless `COMPLIANCE_FUZZ_CHANGES` is set.
const CHANGES: u64 = 20_000;

fn replay(name: &str) {
    let (_, target) = compliance_fuzz::TARGETS.into_iter().find(|(target, _)| *target == name).unwrap();
    let changes = env::var("COMPLIANCE_FUZZ_CHANGES").map_or(CHANGES, |count| count.parse().expect("not a number"));
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
    println!("{name}: {} files and {changes} variations", seeds.len());
}

/// Changes the bytes at one position.
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
fn json_target_survives_mutated_corpus() {
    replay("json");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn query_target_survives_mutated_corpus() {
    replay("query");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn token_target_survives_mutated_corpus() {
    replay("token");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn csv_target_survives_mutated_corpus() {
    replay("csv");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn xlsx_target_survives_mutated_corpus() {
    replay("xlsx");
}

#[test]
#[ignore = "a long test: tools/scripts/test-long runs it"]
fn protobuf_target_survives_mutated_corpus() {
    replay("protobuf");
}

#[test]
fn every_fuzz_target_has_a_replay_test() {
    assert_eq!(compliance_fuzz::TARGETS.map(|(name, _)| name), ["json", "query", "token", "csv", "xlsx", "protobuf"]);
}

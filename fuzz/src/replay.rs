//! Runs the targets without libFuzzer: over the files of the corpus, and over random changes of them.
//!
//! `replay FOLDER COUNT [TARGET]`: the corpus, and how often each target runs on changed bytes.

use std::{fs, path::Path};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, count, chosen @ ..] = &arguments[..] else { panic!("usage: replay FOLDER COUNT [TARGET]") };
    let count: u64 = count.parse().expect("a number");
    for (name, target) in compliance_fuzz::TARGETS {
        if chosen.first().is_some_and(|chosen| chosen != name) {
            continue;
        }
        let folder = Path::new(corpus).join(name);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut seeds: Vec<Vec<u8>> = entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
        seeds.sort();
        assert!(!seeds.is_empty(), "{} is empty", folder.display());
        seeds.iter().for_each(|seed| target(seed));
        let mut random = StdRng::seed_from_u64(1);
        for _ in 0..count {
            let mut bytes = seeds.choose(&mut random).unwrap().clone();
            for _ in 0..random.random_range(1..8) {
                change(&mut bytes, &seeds, &mut random);
            }
            target(&bytes);
        }
        println!("{name}: {} files and {count} changes", seeds.len());
    }
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

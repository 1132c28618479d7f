//! Migrations that a release has are never changed: databases have run them, and know their digests.

/// The migrations of all releases as `sha384sum` prints them.
const PUBLISHED: &str = include_str!("../../migrations/published.sha384");

/// A change goes into a new file, and a release adds its new files to the list.
#[test]
fn a_published_migration_never_changes() {
    let hexadecimal = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
    let digest = |bytes: &[u8]| bytes.iter().flat_map(hexadecimal).collect::<String>();
    let steps: Vec<(String, i64)> =
        super::MIGRATIONS.iter().map(|step| (digest(&step.checksum), step.version)).collect();
    let mut count = 0;
    for line in PUBLISHED.lines() {
        let (digest, file) = line.split_once("  ").unwrap();
        let version = file.split('_').next().unwrap().parse().unwrap();
        assert!(steps.contains(&(digest.to_owned(), version)), "{file} is published, and must be as it was");
        count += 1;
    }
    assert!(count >= 18, "{count} migrations are published");
}

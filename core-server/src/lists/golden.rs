//! The statements of lists as they are sent, one of each structure: `golden/*.sql`. `tools/scripts/write-reference` rewrites
//! them.

use std::{collections::BTreeSet, env, fs, path::Path};

use super::layout::{WIDTH, lay_out, one_line};
use crate::{list_statements, read_statements, write_statements};
use storage::limits::STATEMENT_CACHE;

const WRITE: &str = "COMPLIANCE_WRITE_REFERENCE";
/// Statements whose structure no other sort key, direction or list changes.
const COMMITTED: [&str; 17] = [
    // All matches, sorted.
    "compliance_urls of an affiliate by id descending",
    "compliance_urls of an affiliate by id descending in a range filtered",
    // A scan along the sort order.
    "compliance_urls near by last_seen descending",
    "compliance_urls near by discovery_date descending in a range",
    // The same for each combination of the filters' values.
    "compliance_urls near by last_seen descending filtered",
    "compliance_cases near by created_date descending in a range filtered",
    // A scan or a sort.
    "compliance_urls near by last_seen descending in a range",
    "compliance_urls near by last_seen descending in a range filtered",
    "compliance_urls deep by last_review_date descending in a range filtered",
    // A walk over the counts.
    "compliance_cases deep by id descending",
    "compliance_urls deep by id descending filtered",
    "compliance_urls deep by last_seen descending",
    "compliance_urls deep by last_seen descending filtered",
    "compliance_urls deep by discovery_date descending in a range",
    "compliance_urls deep by discovery_date descending in a range filtered",
    "compliance_cases deep by id descending in a range",
    "compliance_urls deep by id descending in a range filtered",
];
#[test]
fn the_committed_statements_are_those_that_are_sent() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lists/golden");
    if env::var_os(WRITE).is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
    }
    let mut files = BTreeSet::new();
    for statement in COMMITTED {
        let (_, sql, _) = list_statements().find(|(name, ..)| name == statement).unwrap();
        let name = format!("{}.sql", statement.replace([' ', '_'], "-"));
        let text = lay_out(sql);
        assert_eq!(one_line(&text), one_line(sql), "the layout changes white space alone");
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(WIDTH), "{name} has a line of {longest:?} characters");
        if env::var_os(WRITE).is_some() {
            fs::write(folder.join(&name), &text).unwrap();
        }
        let committed = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(committed == text, "{name} is not what is sent: run tools/scripts/write-reference. It is:\n{text}");
        files.insert(name);
    }
    let committed = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(committed.collect::<BTreeSet<_>>(), files);
}

/// A statement that is prepared anew each time costs a round trip and a plan.
#[test]
fn a_connection_keeps_every_statement() {
    // Neither listed by this crate nor described in `.sqlx`: at most so many.
    let others = 50;
    let lists = list_statements().count();
    let described = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx")).unwrap().count();
    let all = lists + read_statements().count() + write_statements().count() + described + others;
    assert!(all <= STATEMENT_CACHE, "{all} statements, {lists} of them of lists");
}

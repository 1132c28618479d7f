//! The statements of all operations, for what looks at each of them: the functions of Citus, and tools that look at plans.

use crate::{affiliates, cases, changes, monitoring, overview, urls};

/// Every statement that reads a page of a list, with its name and the types of its parameters. For tools that look at plans.
pub fn list_statements() -> impl Iterator<Item = (String, &'static str, String)> {
    urls::STATEMENTS.pages().chain(cases::STATEMENTS.pages())
}

/// Every statement that reads records by ID, or all of them, with the types of its parameters. For tools that look at plans.
pub fn read_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let exports = monitoring::export_statements();
    affiliates::read_statements()
        .chain(urls::STATEMENTS.reads())
        .chain(cases::STATEMENTS.reads())
        .chain(exports)
        .chain(urls::WHOLE.statements)
        .chain(cases::WHOLE.statements)
        .chain([urls::KNOWN])
}

/// Every statement that reads the records of a company in the order of a key, until it has enough or has read all: searches, the
/// overview, and changes. With the types of its parameters. For tools that look at plans.
pub fn scan_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let changes = [changes::STATEMENT, changes::SEARCH, changes::CHANGED];
    let past = changes::PAST.values().map(|statement| (*statement, changes::TYPES_OF_PAST));
    let others = [affiliates::search_statement(), urls::search_statement(), overview::STATEMENT];
    others.into_iter().chain(urls::STATEMENTS.compared()).chain(cases::STATEMENTS.compared()).chain(changes).chain(past)
}

/// The statements that write records in large numbers, with the types of their parameters. For tools that look at plans.
pub fn write_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    affiliates::write_statements().chain(urls::WRITE_STATEMENTS).chain(monitoring::WRITE_STATEMENTS)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use storage::limits::STATEMENT_CACHE;

    use super::{list_statements, read_statements, write_statements};

    /// Preparing a statement again costs a round trip and a plan.
    #[test]
    fn a_connection_keeps_every_statement() {
        // Neither listed by this crate nor described in `.sqlx`: at most so many.
        let others = 50;
        let lists = list_statements().count();
        let described = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".sqlx")).unwrap().count();
        let all = lists + read_statements().count() + write_statements().count() + described + others;
        assert!(all <= STATEMENT_CACHE, "{all} statements, {lists} of them of lists");
    }
}

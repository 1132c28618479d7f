//! The schema of the program that uses storage.

use sqlx::migrate::Migrator;

/// Tables of a program, and the statements that use them.
#[derive(Debug)]
pub struct Schema {
    /// Migrations that create the tables.
    pub migrations: Migrator,
    /// Statements of one company, with their parameter types.
    ///
    /// Commas separate the types.
    pub statements: fn() -> Vec<(&'static str, &'static str)>,
    /// Tables that Citus distributes by company.
    ///
    /// Each comes after the tables that it refers to.
    pub distributed: &'static [&'static str],
    /// Tables that each Citus node has a copy of.
    pub copied: &'static [&'static str],
    /// Tables whose IDs come from a sequence.
    pub numbered: &'static [&'static str],
    /// Functions of triggers and erasures that write other tables.
    ///
    /// Each is a list of statements. The company is its argument, or in its first argument.
    pub functions: &'static [&'static str],
}

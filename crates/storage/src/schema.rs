//! Describes the schema of the program that uses storage.

use sqlx::migrate::Migrator;

/// A program's tables, and the statements that use them.
#[derive(Debug)]
pub struct Schema {
    /// Migrations that create the tables.
    pub migrations: Migrator,
    /// Single-company statements, each with its parameter types, separated by commas.
    pub statements: fn() -> Vec<(&'static str, &'static str)>,
    /// Tables that Citus distributes by company.
    ///
    /// Each comes after the tables it references.
    pub distributed: &'static [&'static str],
    /// Tables copied to every Citus node.
    pub copied: &'static [&'static str],
    /// Tables whose IDs come from a sequence.
    pub numbered: &'static [&'static str],
    /// The number of triggers, constraints and indexes of each table. Later versions may add more.
    pub objects: &'static [(&'static str, [i64; 3])],
    /// Trigger and erasure functions that write to other tables.
    ///
    /// Each function is a list of statements. The company is its argument, or part of its first argument.
    pub functions: &'static [&'static str],
}

//! What is stored, as the program that uses storage says.

use sqlx::migrate::Migrator;

/// The tables of a program, and the statements that use them.
#[derive(Debug)]
pub struct Schema {
    /// The steps that make the tables.
    pub migrations: Migrator,
    /// The statements of one company, with the types of their parameters, separated by commas.
    pub statements: fn() -> Vec<(&'static str, &'static str)>,
    /// The tables that Citus distributes by company, each after the tables that it refers to. The shards of a company's records are together on one
    /// node.
    pub distributed: &'static [&'static str],
    /// The tables that each node of Citus has a copy of.
    pub copied: &'static [&'static str],
    /// The tables whose records have IDs of a sequence.
    pub numbered: &'static [&'static str],
    /// The functions that write other tables, for triggers and erasures. Each is a list of statements, and has the company as its argument
    /// or within the first.
    pub functions: &'static [&'static str],
}

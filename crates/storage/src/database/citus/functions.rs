//! Creates functions that run a company's statements on the node with its records.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, PgConnection, PgExecutor, SqlSafeStr as _, Statement as _,
    TypeInfo as _, postgres::PgTypeInfo,
};

use crate::{Schema, template::fill};

/// Helper functions on all nodes, in creation order.
const HELPERS: [&str; 5] = [
    include_str!("sql/next_id.sql"),
    include_str!("sql/draw_ids.sql"),
    include_str!("sql/lock_shard.sql"),
    include_str!("sql/company_shards.sql"),
    include_str!("sql/prepared_statement.sql"),
];
const FUNCTION: &str = include_str!("sql/function.sql");
const RUN: &str = include_str!("sql/run.sql");
/// Variables that [`RUN`] uses.
const VARIABLES: &str = "statement text; prepared text;";

/// Part of each function's name. Change it whenever [`on_shards`] changes, to recreate the functions.
const VERSION: &str = "3";

/// Maximum number of prepared statements per session. Each caches one plan per shard.
const MAX_PREPARED: &str = "1000";

/// Prefix of the settings that hold a sequence's next ID. `next_id.sql` reads them.
const NEXT: &str = "compliance.next_";

/// A function that runs a statement for one company.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) statement: &'static str,
    /// The statement's parameter types.
    types: &'static str,
    /// Statement that names shards.
    text: String,
    name: String,
    /// Statement that calls the function.
    pub(super) call: &'static str,
    /// Whether the statement takes arrays, and the first contains each item's company. The function has an extra parameter for the company,
    /// which is the same for all items.
    pub(super) is_shared: bool,
    /// Sequences that assign IDs to the created records.
    pub(super) sequences: Vec<String>,
}

/// Returns the functions for all statements.
pub(super) fn functions(schema: &Schema) -> impl Iterator<Item = Function> {
    (schema.statements)().into_iter().filter_map(|(statement, types)| Function::new(statement, types, schema))
}

/// Returns the statements as they run on a node, with their parameter types, for tests.
///
/// `%1$s` is the shard of the first table.
pub fn statements_on_shards(schema: &Schema) -> impl Iterator<Item = (String, &'static str)> {
    functions(schema).map(|function| (function.text, function.types))
}

impl Function {
    /// Returns `None` for a statement that uses no distributed table or returns no rows. The latter kind runs within a transaction.
    fn new(statement: &'static str, types: &'static str, schema: &Schema) -> Option<Self> {
        if statement.trim_start().starts_with("insert") {
            return None;
        }
        let (text, created) = on_shards(statement, &[], schema)?;
        let name = name_of("call", statement);
        let is_shared = types.starts_with("bigint[]");
        let sequences: Vec<String> = created.into_iter().map(|table| format!("{table}_id_seq")).collect();
        let count = types.split(", ").count() + usize::from(is_shared) + 1 + usize::from(!sequences.is_empty());
        let call = format!("select * from {name}({})", parameters(count).join(", ")).leak();
        Some(Self { statement, types, text, name, call, is_shared, sequences })
    }

    /// Returns the statement that creates the function.
    ///
    /// The function's last parameters are the company (if the statement has several), the lock timeout, and each sequence's first ID.
    async fn definition(&self, connection: &mut PgConnection) -> Result<String, sqlx::Error> {
        let types: Vec<_> = self.types.split(", ").map(PgTypeInfo::with_name).collect();
        let prepared = connection.prepare_with(self.statement.into_sql_str(), &types).await?;
        let columns: Vec<String> = prepared
            .columns()
            .iter()
            .map(|column| format!("\"{}\" {}", column.name(), column.type_info().name()))
            .collect();
        let values = parameters(self.types.split(", ").count());
        let mut types: Vec<&str> = self.types.split(", ").collect();
        types.extend(self.is_shared.then_some("bigint"));
        types.push("text");
        let (company, lock_timeout) = (self.company(), format!("${}", types.len()));
        let ids = types.len() + 1;
        types.extend((!self.sequences.is_empty()).then_some("bigint[]"));
        let first_ids: String = (1..).zip(&self.sequences).fold(String::new(), |set, (index, sequence)| {
            format!("{set}, set_config('{NEXT}{sequence}', (${ids})[{index}]::text, true)")
        });
        let run = run_on_shards("return query execute", &self.name, self.types, &self.text, &company, &values);
        let parts = [
            ("name", &*self.name),
            ("types", &types.join(", ")),
            ("columns", &columns.join(", ")),
            ("variables", VARIABLES),
            ("company", &company),
            ("lock_timeout", &lock_timeout),
            ("first_ids", &first_ids),
            ("run", &run),
        ];
        Ok(fill(FUNCTION, &parts))
    }

    /// Returns the company parameter.
    fn company(&self) -> String {
        if self.is_shared { format!("${}", self.types.split(", ").count() + 1) } else { "$1".to_owned() }
    }
}

/// Returns the statement as a format string for shard IDs, and the numbered tables it inserts into.
///
/// `%1$s` is the shard of the first distributed table. A function's arguments become parameters. Returns `None` if the statement names
/// no distributed table.
fn on_shards(statement: &str, arguments: &[String], schema: &Schema) -> Option<(String, Vec<&'static str>)> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let (mut text, mut created, mut is_found) = (String::new(), Vec::new(), false);
    let (mut rest, mut previous) = (statement, "");
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|character| !is_part(character)).unwrap_or(rest.len()));
        let is_column = text.ends_with('.');
        match (1..).zip(arguments).find(|(_, argument)| *argument == word) {
            Some((number, _)) if !is_column => drop(write!(text, "${number}")),
            _ => text.push_str(if word == "nextval" { "next_id" } else { word }),
        }
        // A table name follows one of these words, or qualifies a column. A constraint's name begins with its table's name.
        let is_name = matches!(previous, "from" | "join" | "into" | "update") || after.starts_with('.');
        let is_table = |table: &str| {
            if previous == "constraint" { word.starts_with(table) } else { is_name && *word == *table }
        };
        if !is_column && let Some((number, table)) = (1..).zip(schema.distributed).find(|(_, table)| is_table(table)) {
            let _ = write!(text, "_%{number}$s");
            is_found = true;
            if previous == "into" && schema.numbered.contains(table) && !created.contains(table) {
                created.push(*table);
            }
        }
        if !word.is_empty() {
            previous = word;
        }
        let (other, after) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        text.push_str(&other.replace('%', "%%"));
        rest = after;
    }
    is_found.then_some((text, created))
}

/// Returns the name of the function or prepared statement that runs a statement.
fn name_of(kind: &str, statement: &str) -> String {
    let digest = Sha256::new_with_prefix([VERSION, FUNCTION, RUN].concat())
        .chain_update(HELPERS.concat())
        .chain_update(statement)
        .finalize();
    digest.iter().take(8).fold(format!("{kind}_"), |name, byte| format!("{name}{byte:02x}"))
}

/// Returns `$1, $2, …` for this number of parameters.
fn parameters(count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("${number}")).collect()
}

/// Returns the statements that run `text` on a company's shards; see `run.sql`.
fn run_on_shards(execute: &str, name: &str, types: &str, text: &str, company: &str, values: &[String]) -> String {
    let texts = vec!["%L"; values.len()].join(", ");
    let parts = [
        ("statement", text),
        ("name", name),
        ("types", types),
        ("company", company),
        ("execute", execute),
        ("texts", &texts),
        ("values", &values.join(", ")),
    ];
    fill(RUN, &parts)
}

/// Returns a schema function's body, with statements that name shards.
fn body_on_shards(body: &str, names: &[String], types: &str, schema: &Schema) -> String {
    let company = if names.len() > 1 { "company".to_owned() } else { format!("({}[1]).company_id", names.concat()) };
    let statement = |statement: &str| {
        let text = statement.trim_end_matches(';');
        on_shards(text, names, schema).map_or_else(
            || statement.to_owned(),
            |(on_shards, _)| {
                let name = name_of("statement", text);
                let (execute, on_shards) = match on_shards.trim_start().strip_prefix("return query ") {
                    Some(query) => ("return query execute", query),
                    None => ("execute", &*on_shards),
                };
                format!("\n    {}", run_on_shards(execute, &name, types, on_shards, &company, names))
            },
        )
    };
    let (declared, statements) = body.split_once("begin").unwrap_or(("", body));
    let declared = if declared.contains("declare") { declared.to_owned() } else { format!("{declared}declare ") };
    format!("{declared}{VARIABLES}\nbegin{}", statements.split_inclusive(';').map(statement).collect::<String>())
}

/// Creates the missing functions on all nodes.
pub(super) async fn create(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let missing = missing(&mut *connection, schema).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let name: String = sqlx::query_scalar("select quote_ident(current_schema())").fetch_one(&mut *connection).await?;
    let tables = format!("'{}'", schema.distributed.join("', '"));
    for helper in HELPERS {
        let definition = fill(helper, &[("schema", &name), ("tables", &tables), ("most", MAX_PREPARED)]);
        connection.execute(AssertSqlSafe(definition)).await?;
    }
    for table in schema.numbered {
        let is_set = "select pg_get_expr(adbin, adrelid) like 'next_id(%' from pg_attrdef
            where adrelid = $1::text::regclass and adnum = (
                select attnum from pg_attribute where attrelid = adrelid and attname = 'id')";
        if !sqlx::query_scalar(is_set).bind(table).fetch_one(&mut *connection).await? {
            let set = format!("alter table {table} alter column id set default next_id('{table}_id_seq')");
            connection.execute(AssertSqlSafe(set)).await?;
        }
    }
    let is_missing = |name: &str| missing.iter().any(|missing| missing == name);
    for name in schema.functions.iter().filter(|name| is_missing(name)) {
        let find = "select pg_get_functiondef(oid), prosrc, proargnames, oidvectortypes(proargtypes) from pg_proc
            where proname = $1 and pg_function_is_visible(oid)";
        let (definition, body, names, types): (String, String, Vec<String>, String) =
            sqlx::query_as(find).bind(name).fetch_one(&mut *connection).await?;
        let definition = definition.replace(&body, &body_on_shards(&body, &names, &types, schema));
        connection.execute(AssertSqlSafe(definition)).await?;
    }
    for function in functions(schema).filter(|function| is_missing(&function.name)) {
        let definition = function.definition(connection).await?;
        connection.execute(AssertSqlSafe(definition)).await?;
        let distribute = "select create_distributed_function(oid::regprocedure, $2, 'affiliates')
            from pg_proc where proname = $1 and pg_function_is_visible(oid)";
        sqlx::query(distribute).bind(&function.name).bind(function.company()).execute(&mut *connection).await?;
    }
    tracing::info!(functions = missing.len(), "created functions for company statements");
    Ok(())
}

/// Returns functions that are missing or do not name shards yet.
pub(in crate::database) async fn missing(
    executor: impl PgExecutor<'_>,
    schema: &Schema,
) -> Result<Vec<String>, sqlx::Error> {
    let question = "select name from unnest($1::text[]) name where not exists (
        select from pg_proc where proname = name and pg_function_is_visible(oid) and strpos(prosrc, 'company_shards') > 0)";
    let triggered = schema.functions.iter().map(|name| (*name).to_owned());
    let names: Vec<String> = functions(schema).map(|function| function.name).chain(triggered).collect();
    sqlx::query_scalar(question).bind(names).fetch_all(executor).await
}

#[cfg(test)]
mod tests {
    use sqlx::migrate::Migrator;

    use super::{VARIABLES, body_on_shards, on_shards};
    use crate::Schema;

    const SCHEMA: Schema = Schema {
        migrations: Migrator::DEFAULT,
        statements: Vec::new,
        distributed: &["affiliates", "changes", "urls", "incidents"],
        copied: &[],
        numbered: &["affiliates", "urls", "incidents"],
        objects: &[],
        functions: &[],
    };

    fn sharded(statement: &str) -> String {
        on_shards(statement, &[], &SCHEMA).unwrap().0
    }

    #[test]
    fn tables_and_constraints_map_to_shards() {
        assert_eq!(on_shards("select nextval('affiliates_id_seq')", &[], &SCHEMA), None);
        assert_eq!(
            sharded("select affiliates.id, i.infractions from affiliates join urls u on u.note like 'a%'"),
            "select affiliates_%1$s.id, i.infractions from affiliates_%1$s join urls_%3$s u on u.note like 'a%%'"
        );
        let (text, created) = on_shards(
            "insert into incidents as i (id) select nextval('incidents_id_seq') on conflict on constraint incidents_pkey do nothing",
            &[],
            &SCHEMA,
        )
        .unwrap();
        assert_eq!(
            text,
            "insert into incidents_%4$s as i (id) select next_id('incidents_id_seq') on conflict on constraint incidents_pkey_%4$s do nothing"
        );
        assert_eq!(created, ["incidents"]);
    }

    #[test]
    fn trigger_functions_name_their_shards() {
        let body = "\nbegin\n    perform f(changes);\n    delete from incidents where c.changes = any(changes);\nend\n";
        let sharded = body_on_shards(body, &["changes".to_owned()], "x[]", &SCHEMA);
        let (before, after) = sharded.split_once("statement := ").unwrap();
        assert_eq!(before, format!("\ndeclare {VARIABLES}\nbegin\n    perform f(changes);\n    "));
        assert!(
            after.starts_with("$text$\n    delete from incidents_%4$s where c.changes = any($1)$text$;"),
            "{after}"
        );
        assert!(after.contains("'x[]', statement, (changes[1]).company_id);"), "{after}");
        assert!(after.ends_with("using changes;\nend if;\n\nend\n"), "{after}");
    }
}

//! The functions that run statements on the node of a company's records.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, PgConnection, PgExecutor, SqlSafeStr as _, Statement as _,
    TypeInfo as _, postgres::PgTypeInfo,
};

use crate::Schema;

/// Of how functions run statements: functions of another one are others.
const VERSION: &str = "2";

/// Those of a session on plain PostgreSQL, for the plans of a call.
const SETTINGS: &str = ",
                    set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true),
                    set_config('max_parallel_workers_per_gather', '0', true)";

/// How many statements a session prepares: each takes memory for its plan, on each shard.
const MAX_PREPARED: u32 = 1000;

/// Where a function leaves the next ID of a sequence to [`next_id`](NEEDED).
const NEXT: &str = "compliance.next_";

/// A function that runs a statement.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) statement: &'static str,
    /// The types of the statement's parameters.
    types: &'static str,
    /// The statement on shards.
    text: String,
    name: String,
    /// The statement that calls it.
    pub(super) call: &'static str,
    /// Whether the statement has arrays of items, the first of which has the company of each. The function has one of the companies as
    /// another parameter.
    pub(super) is_shared: bool,
    /// Those of the records that the statement creates.
    pub(super) sequences: Vec<String>,
}

/// The functions for all statements of one company.
pub(super) fn functions(schema: &Schema) -> impl Iterator<Item = Function> {
    (schema.statements)().into_iter().filter_map(|(statement, types)| Function::new(statement, types, schema))
}

/// The statements of one company as they are run on the node of its records, where `%1$s` is the shard of the first table. For tests.
pub fn statements_on_shards(schema: &Schema) -> impl Iterator<Item = String> {
    functions(schema).map(|function| function.text)
}

impl Function {
    /// `None` for a statement that has no records, or returns nothing: such a one runs within a transaction.
    fn new(statement: &'static str, types: &'static str, schema: &Schema) -> Option<Self> {
        if statement.trim_start().starts_with("insert") {
            return None;
        }
        let (text, created) = on_shards(statement, &[], schema)?;
        let name = name_of("call", statement);
        let is_shared = types.starts_with("bigint[]");
        let sequences: Vec<String> = created.into_iter().map(|table| format!("{table}_id_seq")).collect();
        let count = types.split(", ").count() + usize::from(is_shared) + 1 + usize::from(!sequences.is_empty());
        let parameters: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
        let call = format!("select * from {name}({})", parameters.join(", ")).leak();
        Some(Self { statement, types, text, name, call, is_shared, sequences })
    }

    /// The statement that creates the function. Its last parameters are the company of a statement with several, how long it waits for
    /// a lock, and the first ID of each sequence.
    async fn definition(&self, connection: &mut PgConnection) -> Result<String, sqlx::Error> {
        let types: Vec<_> = self.types.split(", ").map(PgTypeInfo::with_name).collect();
        let prepared = connection.prepare_with(self.statement.into_sql_str(), &types).await?;
        let columns: Vec<String> = prepared
            .columns()
            .iter()
            .map(|column| format!("\"{}\" {}", column.name(), column.type_info().name()))
            .collect();
        let mut types: Vec<&str> = self.types.split(", ").collect();
        let given: Vec<String> = (1..=types.len()).map(|number| format!("${number}")).collect();
        types.extend(self.is_shared.then_some("bigint"));
        types.push("text");
        let (company, lock_timeout) = (self.company(), types.len());
        let ids = types.len() + 1;
        types.extend((!self.sequences.is_empty()).then_some("bigint[]"));
        let set: String = (1..).zip(&self.sequences).fold(String::new(), |set, (index, sequence)| {
            format!("{set}, set_config('{NEXT}{sequence}', (${ids})[{index}]::text, true)")
        });
        let run = |company: &str, arguments: &[String]| {
            run_on_shards("return query execute", &self.name, self.types, &self.text, company, arguments)
        };
        let run = if self.is_shared {
            let part = |(value, of): (&String, &str)| {
                if of.ends_with("[]") { format!("({value})[first:last]") } else { value.clone() }
            };
            let items: Vec<String> = given.iter().zip(self.types.split(", ")).map(part).collect();
            // Items of one shard follow each other.
            format!(
                "shards := locked_shards($1);
                while last < cardinality($1) loop
                    first := last + 1;
                    loop
                        last := last + 1;
                        exit when last = cardinality($1) or shards[last + 1] <> shards[first];
                    end loop;
                    {}
                end loop;",
                run("($1)[first]", &items)
            )
        } else {
            format!("perform locked_shards(array[{company}]); {}", run(&company, &given))
        };
        Ok(format!(
            "create or replace function {name}({types}) returns table ({columns}) language plpgsql as $call$
            declare
                shards bigint[]; first integer; last integer := 0; {VARIABLES}
            begin
                perform set_config('lock_timeout', ${lock_timeout}, true){SETTINGS}{set};
                {run}
            end $call$",
            name = self.name,
            types = types.join(", "),
            columns = columns.join(", "),
        ))
    }

    /// The parameter that has the company.
    fn company(&self) -> String {
        if self.is_shared { format!("${}", self.types.split(", ").count() + 1) } else { "$1".to_owned() }
    }
}

/// The statement as a format for the IDs of shards, in the order of the distributed tables, with the tables that it inserts records with numbers
/// into. Arguments of a function become parameters. `None` if it names no table.
fn on_shards(statement: &str, arguments: &[String], schema: &Schema) -> Option<(String, Vec<&'static str>)> {
    let (mut text, mut created, mut is_found) = (String::new(), Vec::new(), false);
    let (mut rest, mut before) = (statement, "");
    while !rest.is_empty() {
        let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let is_name = matches!(before, "from" | "join" | "into" | "update") || after.starts_with('.');
        let is_constraint = before == "constraint";
        let is_table = |table: &str| if is_constraint { word.starts_with(table) } else { is_name && *word == *table };
        match (1..).zip(arguments).find(|(_, argument)| *argument == word) {
            Some((number, _)) if !text.ends_with('.') => drop(write!(text, "${number}")),
            _ => text.push_str(if word == "nextval" { "next_id" } else { word }),
        }
        if !text.ends_with(&format!(".{word}"))
            && let Some((number, table)) = (1..).zip(schema.distributed).find(|(_, table)| is_table(table))
        {
            let _ = write!(text, "_%{number}$s");
            is_found = true;
            if before == "into" && schema.numbered.contains(table) && !created.contains(table) {
                created.push(*table);
            }
        }
        if !word.is_empty() {
            before = word;
        }
        let length = after.find(is_part).unwrap_or(after.len());
        let (other, after) = after.split_at(length);
        text.push_str(&other.replace('%', "%%"));
        rest = after;
    }
    is_found.then_some((text, created))
}

/// The name of what runs a statement.
fn name_of(kind: &str, statement: &str) -> String {
    let digest = Sha256::new_with_prefix(VERSION).chain_update(NEEDED.concat()).chain_update(statement).finalize();
    digest.iter().take(8).fold(format!("{kind}_"), |name, byte| format!("{name}{byte:02x}"))
}

/// What [`run_on_shards`] needs.
const VARIABLES: &str = "statement text; prepared text;";

/// Runs a statement on the shards of a company: as one that the session has prepared, which takes its values as text, or, if the
/// session has too many of those, planned anew.
fn run_on_shards(execute: &str, name: &str, types: &str, text: &str, company: &str, values: &[String]) -> String {
    let texts = vec!["%L"; values.len()].join(", ");
    let values = values.join(", ");
    format!(
        "statement := $text${text}$text$;
        prepared := prepared_statement('{name}', '{types}', statement, {company});
        if prepared is not null then
            {execute} format('execute %I({texts})', prepared, {values});
        else
            {execute} format(statement, variadic company_shards({company})) using {values};
        end if;"
    )
}

/// The body of a function whose arguments have these names and types, with statements that name the shards.
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

/// What the functions need. They are created on all nodes.
const NEEDED: [&str; 5] = [
    // The ID that the caller has drawn, or, where the sequences are, the next one.
    "create or replace function next_id(sequence text) returns bigint language plpgsql
    set search_path = {schema}, pg_temp as $$
    declare
        setting text := 'compliance.next_' || sequence;
        id bigint := nullif(current_setting(setting, true), '')::bigint;
    begin
        if id is null then
            -- Nodes have sequences of their own.
            if exists (select from pg_dist_local_group l where l.groupid <> 0) then
                raise 'no ID of % was drawn for this statement', sequence;
            end if;
            return nextval(sequence::regclass);
        end if;
        perform set_config(setting, (id + 1)::text, true);
        return id;
    end
    $$",
    // The first of so many IDs in a row, of each sequence.
    "create or replace function draw_ids(sequences text[], count bigint) returns bigint[] language plpgsql
    set search_path = {schema}, pg_temp as $$
    declare
        ids bigint[]; first bigint; last bigint; sequence text;
    begin
        foreach sequence in array sequences loop
            perform pg_advisory_xact_lock(hashtext('compliance draw_ids'), hashtext(sequence));
            loop
                select min(n.id), max(n.id) into first, last
                from (select nextval(sequence::regclass) as id from generate_series(1, count)) n;
                -- Those who copy records draw IDs without the lock.
                exit when last - first = count - 1;
            end loop;
            ids := ids || first;
        end loop;
        return ids;
    end
    $$",
    // The IDs of the shards of `affiliates` that have these companies, which must be on this node. They cannot move before the end of
    // the transaction.
    "create or replace function locked_shards(companies bigint[]) returns bigint[] language plpgsql security definer
    set search_path = {schema}, pg_temp as $$
    declare
        shards bigint[]; shard bigint; company bigint; previous bigint;
        node integer := (select l.groupid from pg_catalog.pg_dist_local_group l limit 1);
    begin
        foreach company in array companies loop
            if company is distinct from previous then
                shard := get_shard_id_for_distribution_column('affiliates', company);
                previous := company;
            end if;
            shards := shards || shard;
        end loop;
        perform lock_shard_metadata(5, array(select distinct s from unnest(shards) s));
        select s.company into company from unnest(companies, shards) s (company, shard)
        where not exists (select from pg_catalog.pg_dist_placement p where p.shardid = s.shard and p.groupid = node)
        limit 1;
        if not found then
            return shards;
        end if;
        -- Citus runs a function here if it cannot connect to the node where it should.
        if node = 0 then
            raise connection_failure using message = 'the node with the records of company ' || company || ' cannot be reached';
        end if;
        raise serialization_failure using message = 'the records of company ' || company || ' are on another node now';
    end
    $$",
    // The IDs of a company's shards.
    "create or replace function company_shards(company bigint) returns text[] language sql stable
    set search_path = {schema}, pg_temp as $$
        select array_agg(get_shard_id_for_distribution_column(t.name::regclass, company)::text order by t.position)
        from unnest(array['{tables}']) with ordinality as t (name, position)
    $$",
    // The name of the session's prepared statement for the shards of a company. Null if it has too many already, and for what runs as
    // the owner: the session may have prepared something else under that name.
    "create or replace function prepared_statement(name text, types text, statement text, company bigint) returns text
    language plpgsql set search_path = {schema}, pg_temp as $$
    declare
        prepared text := name || '_' || get_shard_id_for_distribution_column('affiliates', company);
        setting text := 'compliance.' || prepared;
        count integer;
    begin
        if current_user <> session_user then
            return null;
        end if;
        if current_setting(setting, true) = 'prepared' then
            return prepared;
        end if;
        count := coalesce(nullif(current_setting('compliance.prepared', true), ''), '0');
        if count >= {most} then
            return null;
        end if;
        begin
            execute format('prepare %I (%s) as ', prepared, types) || format(statement, variadic company_shards(company));
        exception when duplicate_prepared_statement then
            null; -- A transaction that was rolled back has prepared it.
        end;
        perform set_config('compliance.prepared', (count + 1)::text, false), set_config(setting, 'prepared', false);
        return prepared;
    end
    $$",
];

/// Creates the functions that are missing, on all nodes.
pub(super) async fn create(connection: &mut PgConnection, schema: &Schema) -> Result<(), sqlx::Error> {
    let missing = missing(&mut *connection, schema).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let name: String = sqlx::query_scalar("select quote_ident(current_schema())").fetch_one(&mut *connection).await?;
    for needed in NEEDED {
        let needed = needed
            .replace("{schema}", &name)
            .replace("{tables}", &schema.distributed.join("', '"))
            .replace("{most}", &MAX_PREPARED.to_string());
        connection.execute(AssertSqlSafe(needed)).await?;
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
    tracing::info!(functions = missing.len(), "functions for the statements of a company are created");
    Ok(())
}

/// The functions that do not exist, or do not name the shards yet.
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
        functions: &[],
    };

    fn sharded(statement: &str) -> String {
        on_shards(statement, &[], &SCHEMA).unwrap().0
    }

    #[test]
    fn tables_and_constraints_become_shards() {
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
    fn functions_of_triggers_name_their_shards() {
        let body = "\nbegin\n    perform f(changes);\n    delete from incidents where c.changes = any(changes);\nend\n";
        let sharded = body_on_shards(body, &["changes".to_owned()], "x[]", &SCHEMA);
        let (before, after) = sharded.split_once("statement := ").unwrap();
        assert_eq!(before, format!("\ndeclare {VARIABLES}\nbegin\n    perform f(changes);\n    "));
        assert!(
            after.starts_with("$text$\n    delete from incidents_%4$s where c.changes = any($1)$text$;"),
            "{after}"
        );
        assert!(after.contains("'x[]', statement, (changes[1]).company_id);"), "{after}");
        assert!(after.ends_with("using changes;\n        end if;\nend\n"), "{after}");
    }
}

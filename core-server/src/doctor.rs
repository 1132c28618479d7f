//! Checks and repairs data that constraints do not cover: counts, sequences, value ranges, and monthly partitions.

use sqlx::{Acquire as _, AssertSqlSafe, FromRow, PgConnection, PgPool};

use crate::{
    cases,
    lists::{Counts, Filter, List, Part},
    schema, urls,
};
use storage::{
    error::text,
    table::{Inputs, SchemaError},
    template::fill,
};

/// Number of counts repaired per transaction. The company's writers wait for the transaction.
const REPAIRED_COUNTS: i64 = 5000;

/// Errors from checking or repairing counts.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// Another process is checking the database.
    #[error("another process is checking this database: wait until it finishes")]
    Busy,
    /// A statement failed.
    #[error("cannot compare the lists' counts with their records: {}", text(.0))]
    Database(#[from] sqlx::Error),
}

/// Checks the tables and input types, as a core does at startup.
pub async fn check_schema(pool: &PgPool) -> Result<(), SchemaError> {
    Inputs::open(pool, schema::expected()).await.map(drop)
}

/// A company's counts that differ from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The company's ID.
    pub company_id: i64,
    /// The list: `compliance_urls` or `compliance_cases`.
    pub list: &'static str,
    /// The number of counts that differ.
    pub counts: i64,
}

/// Compares the counts of every list and company with the records. With `repair`, corrects the counts.
///
/// Returns each company and list whose counts differ. Writers can continue: they change records and counts together, so differences stay the
/// same.
pub async fn check_counts(connection: &mut PgConnection, repair: bool) -> Result<Vec<Difference>, DoctorError> {
    let free: bool = sqlx::query_scalar("select pg_try_advisory_lock(hashtext('compliance doctor'), 1)")
        .fetch_one(&mut *connection)
        .await?;
    if !free {
        return Err(DoctorError::Busy);
    }
    let mut differences = check_list(connection, &urls::LIST, repair).await?;
    differences.extend(check_list(connection, &cases::LIST, repair).await?);
    sqlx::query("select pg_advisory_unlock(hashtext('compliance doctor'), 1)").execute(&mut *connection).await?;
    Ok(differences)
}

async fn check_list<Q>(
    connection: &mut PgConnection,
    list: &List<Q>,
    repair: bool,
) -> Result<Vec<Difference>, sqlx::Error> {
    let Some(counts) = &list.counts else { return Ok(Vec::new()) };
    let (list, mut differences) = (CountedList { list, counts }, Vec::new());
    sqlx::raw_sql(list.statement(include_str!("doctor/create.sql"))).execute(&mut *connection).await?;
    let mut company_id = i64::MIN;
    while let Some(next) = list.company_after(connection, company_id).await? {
        company_id = next;
        let counts = list.find(connection, company_id).await?;
        if counts > 0 {
            differences.push(Difference { company_id, list: list.list.table, counts });
        }
        while repair && list.repair_some(connection, company_id).await? {}
        sqlx::raw_sql("truncate differences").execute(&mut *connection).await?;
    }
    sqlx::raw_sql("drop table differences").execute(&mut *connection).await?;
    Ok(differences)
}

struct CountedList<'l, Q: 'static> {
    list: &'l List<Q>,
    counts: &'l Counts,
}

impl<Q> CountedList<'_, Q> {
    /// Fills in a statement for the list.
    fn statement(&self, file: &str) -> AssertSqlSafe<String> {
        let Counts { table: counts, buckets, date, .. } = self.counts;
        let parts = [
            ("table", self.list.table),
            ("counts", counts),
            ("constraint", &format!("{counts}_pkey")),
            ("buckets", buckets),
            ("date", date),
            ("split_by", &self.split_by(|filter| filter.column.to_owned())),
            ("split_by_types", &self.split_by(|filter| format!("{} {}", filter.column, filter.value.sql_type().0))),
            ("numbers", &self.each(|name, _| name.to_owned())),
            ("number_types", &self.each(|name, _| format!("{name} bigint"))),
            ("expected", &self.each(|name, expression| format!("{expression} as {name}"))),
            ("stored", &self.each(|name, _| format!("-{name}"))),
            ("missing", &self.each(|name, _| format!("sum({name})"))),
            ("none", &self.each(|_, _| "0".to_owned())),
            ("add", &self.each(|name, _| format!("{name} = c.{name} + excluded.{name}"))),
        ];
        AssertSqlSafe(fill(file, &parts))
    }

    /// Builds an SQL list with an item for each number that a bucket stores.
    ///
    /// `make` receives the number's name and the SQL that computes the number from the bucket's records.
    fn each(&self, make: impl Fn(&str, &str) -> String) -> String {
        let mut numbers = vec![make("n", "count(*)")];
        for part in self.list.sorts.iter().flat_map(|sort| sort.parts) {
            if let Part::Nulls(column) = part {
                let nulls = format!("count(*) filter (where p.by_id and r.{column} is null)");
                numbers.push(make(&part.number(), &nulls));
            }
        }
        numbers.join(", ")
    }

    /// Builds an SQL list with an item for each column that records and counts share.
    fn split_by(&self, make: fn(&Filter<Q>) -> String) -> String {
        self.list.filters.iter().map(make).collect::<Vec<_>>().join(", ")
    }

    async fn company_after(&self, connection: &mut PgConnection, company_id: i64) -> Result<Option<i64>, sqlx::Error> {
        let statement = self.statement(include_str!("doctor/company_after.sql"));
        sqlx::query_scalar(statement).bind(company_id).fetch_one(connection).await
    }

    /// Stores a company's differences and returns their number.
    async fn find(&self, connection: &mut PgConnection, company_id: i64) -> Result<i64, sqlx::Error> {
        let statement = self.statement(include_str!("doctor/find.sql"));
        let found = sqlx::query(statement).bind(company_id).execute(connection).await?;
        Ok(found.rows_affected().cast_signed())
    }

    /// Repairs some differences. Returns `false` if there were none.
    async fn repair_some(&self, connection: &mut PgConnection, company_id: i64) -> Result<bool, sqlx::Error> {
        let mut transaction = connection.begin().await?;
        // Writers also take this lock, which prevents deadlocks.
        sqlx::query("select pg_advisory_xact_lock($1 << 2 | $2)")
            .bind(company_id)
            .bind(self.counts.lock)
            .execute(&mut *transaction)
            .await?;
        let statement = self.statement(include_str!("doctor/repair.sql"));
        let repaired = sqlx::query(statement).bind(company_id).bind(REPAIRED_COUNTS).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(repaired.rows_affected() > 0)
    }
}

/// A sequence that lags behind its table and would return existing IDs.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct BehindSequence {
    /// The sequence's name.
    pub sequence: String,
    /// The table's name.
    pub table: String,
    /// The last ID that the sequence returned.
    pub last_id: i64,
    /// The greatest ID in the table.
    pub greatest_id: i64,
}

/// A row that violates a constraint added later, or whose ID is near the end of its range.
///
/// Reads return null for a date that violates its constraint, until the next write stores a valid date. Sequences do not advance to an ID
/// near the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViolatingRow {
    /// The table's name.
    pub table: String,
    /// The constraint, or the ID range.
    pub constraint: String,
    /// The company's ID.
    pub company_id: i64,
    /// The record's ID, if the row contains one.
    pub id: Option<i64>,
}

const BEHIND: &str = "
    select s.id_sequence::text as sequence, s.of_table::text as table, r.last_id, r.greatest_id
    from id_sequences() s cross join lateral id_reached(s.id_sequence, s.of_table, s.of_column) r
    where r.last_id < r.greatest_id";

/// Returns the sequences that lag behind. With `repair`, advances each to the greatest ID.
///
/// # Errors
///
/// Returns an error if the database does not respond.
pub async fn check_sequences(connection: &mut PgConnection, repair: bool) -> Result<Vec<BehindSequence>, sqlx::Error> {
    let behind: Vec<BehindSequence> = sqlx::query_as(BEHIND).fetch_all(&mut *connection).await?;
    if repair {
        for BehindSequence { table, .. } in &behind {
            sqlx::query("select advance_ids($1)").bind(table).execute(&mut *connection).await?;
        }
    }
    Ok(behind)
}

const UNCERTAIN: &str = include_str!("doctor/uncertain.sql");

/// The ID columns, each with the last ID that its sequence advances to.
const LAST_IDS: &str = "
    select s.of_table::text, s.of_column::text, s.most - (s.most >> 11) from id_sequences() s order by 1";

/// Returns up to `most` violating rows per constraint and per ID range.
///
/// These rows violate a constraint, or have an ID near the end of its range.
///
/// # Errors
///
/// Returns an error if the database does not respond.
pub async fn check_values(connection: &mut PgConnection, most: i64) -> Result<Vec<ViolatingRow>, sqlx::Error> {
    let constraints: Vec<(String, String, String, bool)> =
        sqlx::query_as(UNCERTAIN).fetch_all(&mut *connection).await?;
    let mut violating = Vec::new();
    for (table, constraint, expression, has_id) in constraints {
        let id = if has_id { "id::bigint" } else { "null::bigint" };
        let rows = format!("select company_id, {id} from {table} where not ({expression}) limit $1");
        let rows: Vec<(i64, Option<i64>)> =
            sqlx::query_as(AssertSqlSafe(rows)).bind(most).fetch_all(&mut *connection).await?;
        violating.extend(rows.into_iter().map(|(company_id, id)| ViolatingRow {
            table: table.clone(),
            constraint: constraint.clone(),
            company_id,
            id,
        }));
    }
    let last_ids: Vec<(String, String, i64)> = sqlx::query_as(LAST_IDS).fetch_all(&mut *connection).await?;
    for (table, column, last) in last_ids {
        let rows =
            format!("select company_id, {column}::bigint from {table} where {column} > {last} order by 1, 2 limit $1");
        let rows: Vec<(i64, i64)> = sqlx::query_as(AssertSqlSafe(rows)).bind(most).fetch_all(&mut *connection).await?;
        violating.extend(rows.into_iter().map(|(company_id, id)| ViolatingRow {
            table: table.clone(),
            constraint: format!("the ID range, which ends at {last}"),
            company_id,
            id: Some(id),
        }));
    }
    Ok(violating)
}

/// The months of the record of changes that are missing or overdue.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Months {
    /// The change retention, in days.
    pub days: i32,
    /// The current and next months, if missing. A month whose changes are in the default partition does not count as missing.
    pub missing: Vec<String>,
    /// Months whose changes could have been dropped more than a day ago.
    pub overdue: Vec<String>,
}

/// Finds a change in the month of this partition.
const IN_MONTH: &str = r#"
    select 1 from changes
    where changed_at >= to_date(substr($1, 10), 'YYYY"m"MM')::timestamp at time zone 'UTC'
        and changed_at < (to_date(substr($1, 10), 'YYYY"m"MM') + interval '1 month') at time zone 'UTC'
    limit 1"#;

/// Returns the months that are missing or overdue.
///
/// # Errors
///
/// Returns an error if the database does not respond or contains no record of changes.
pub async fn months(connection: &mut PgConnection) -> Result<Months, sqlx::Error> {
    let mut months: Months = sqlx::query_as(include_str!("doctor/months.sql")).fetch_one(&mut *connection).await?;
    // A separate statement, because Citus does not support the correlated subquery.
    for month in std::mem::take(&mut months.missing) {
        if sqlx::query(IN_MONTH).bind(&month).fetch_optional(&mut *connection).await?.is_none() {
            months.missing.push(month);
        }
    }
    Ok(months)
}

//! Checks of the stored data that no constraint can make, and repairs.

mod stored;

pub use self::stored::{BehindSequence, Months, ViolatingRow, check_sequences, check_values, months};

use sqlx::{Acquire as _, AssertSqlSafe, PgConnection, PgPool};

use crate::{
    cases,
    lists::{Filter, List, Part},
    schema, urls,
};
use storage::{
    table::{Inputs, SchemaError},
    template::fill,
};

/// Counts that are repaired in one transaction. Writers of the company wait for it.
const REPAIRED_COUNTS: i64 = 5000;

/// Why the counts cannot be checked or repaired.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// Another process is repairing.
    #[error("another process is checking this database: wait until it has ended")]
    Busy,
    /// A statement failed.
    #[error("cannot check the counts: {0}")]
    Database(#[from] sqlx::Error),
}

/// Checks the tables and input types, like a starting core.
pub async fn check_schema(pool: &PgPool) -> Result<(), SchemaError> {
    Inputs::open(pool, schema::expected()).await.map(drop)
}

/// Counts of one company that differ from its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The company.
    pub company_id: i64,
    /// The list: `compliance_urls` or `compliance_cases`.
    pub list: &'static str,
    /// The counts that differ.
    pub counts: i64,
}

/// Compares the counts of every list and company with the records. With `repair`, corrects them.
///
/// Calls `report` for each list of a company whose counts differ, and returns the number of counts that differed. Writers may continue:
/// they change records and counts together, so a difference remains the same.
pub async fn check_counts(
    connection: &mut PgConnection,
    repair: bool,
    mut report: impl FnMut(Difference),
) -> Result<i64, DoctorError> {
    let free: bool = sqlx::query_scalar("select pg_try_advisory_lock(hashtext('compliance doctor'), 1)")
        .fetch_one(&mut *connection)
        .await?;
    if !free {
        return Err(DoctorError::Busy);
    }
    let total = check_list(connection, &urls::LIST, repair, &mut report).await?
        + check_list(connection, &cases::LIST, repair, &mut report).await?;
    sqlx::query("select pg_advisory_unlock(hashtext('compliance doctor'), 1)").execute(&mut *connection).await?;
    Ok(total)
}

async fn check_list<Q>(
    connection: &mut PgConnection,
    list: &List<Q>,
    repair: bool,
    report: &mut impl FnMut(Difference),
) -> Result<i64, sqlx::Error> {
    let mut total = 0;
    sqlx::raw_sql(list.statement(include_str!("doctor/create.sql"))).execute(&mut *connection).await?;
    let mut company_id = i64::MIN;
    while let Some(next) = list.company_after(connection, company_id).await? {
        company_id = next;
        let counts = list.find(connection, company_id).await?;
        if counts > 0 {
            report(Difference { company_id, list: list.table, counts });
            total += counts;
        }
        while repair && list.repair_some(connection, company_id).await? {}
        sqlx::raw_sql("truncate differences").execute(&mut *connection).await?;
    }
    sqlx::raw_sql("drop table differences").execute(&mut *connection).await?;
    Ok(total)
}

impl<Q> List<Q> {
    /// A statement of the list.
    fn statement(&self, file: &str) -> AssertSqlSafe<String> {
        let Self { table, counts, buckets, date, .. } = self;
        let parts = [
            ("table", *table),
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

    /// Returns a list with an item for each number that a bucket stores. `make` gets the name of the number, and the SQL that computes it
    /// from the bucket's records.
    fn each(&self, make: impl Fn(&str, &str) -> String) -> String {
        let mut numbers = vec![make("n", "count(*)")];
        for part in self.sorts.iter().flat_map(|sort| sort.parts) {
            if let Part::Nulls(column) = part {
                let nulls = format!("count(*) filter (where p.by_id and r.{column} is null)");
                numbers.push(make(&part.number(), &nulls));
            }
        }
        numbers.join(", ")
    }

    /// Makes a list with an item for each column that records and counts have in common.
    fn split_by(&self, make: fn(&Filter<Q>) -> String) -> String {
        self.filters.iter().map(make).collect::<Vec<_>>().join(", ")
    }

    async fn company_after(&self, connection: &mut PgConnection, company_id: i64) -> Result<Option<i64>, sqlx::Error> {
        let statement = self.statement(include_str!("doctor/company_after.sql"));
        sqlx::query_scalar(statement).bind(company_id).fetch_one(connection).await
    }

    /// Stores the differences of a company, and returns their number.
    async fn find(&self, connection: &mut PgConnection, company_id: i64) -> Result<i64, sqlx::Error> {
        let statement = self.statement(include_str!("doctor/find.sql"));
        let found = sqlx::query(statement).bind(company_id).execute(connection).await?;
        Ok(found.rows_affected().cast_signed())
    }

    /// Repairs some differences. Returns false if there were none.
    async fn repair_some(&self, connection: &mut PgConnection, company_id: i64) -> Result<bool, sqlx::Error> {
        let mut transaction = connection.begin().await?;
        // Writers also take this lock, so that they never deadlock.
        sqlx::query("select pg_advisory_xact_lock($1 << 2 | $2)")
            .bind(company_id)
            .bind(self.lock)
            .execute(&mut *transaction)
            .await?;
        let statement = self.statement(include_str!("doctor/repair.sql"));
        let repaired = sqlx::query(statement).bind(company_id).bind(REPAIRED_COUNTS).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(repaired.rows_affected() > 0)
    }
}

//! Checks of the stored data that no constraint can make, and repairs.

use sqlx::{Acquire as _, AssertSqlSafe, PgConnection};

use crate::{cases, lists::Counted, urls};

/// Counts that are repaired in one transaction. Writers of the company wait for it.
const CHUNK: i64 = 5000;

/// Why the counts cannot be checked or repaired.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// Another process is repairing.
    #[error("another process checks this database: wait until it has ended")]
    Busy,
    /// A statement failed.
    #[error("the counts cannot be checked: {0}")]
    Database(#[from] sqlx::Error),
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

/// Compares the counts of every list and company with the records, and repairs them if `repair`. Calls `report` for each list
/// of a company whose counts differ; returns how many counts differed.
///
/// Writers may go on. They change records and counts together, so what is missing from a count stays the same while they do,
/// and is added to whatever the count is by then. The differences are kept in a temporary table, not in memory.
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
    let mut total = 0;
    for list in &[urls::counted(), cases::counted()] {
        run(connection, &list.create()).await?;
        let mut company_id = i64::MIN;
        while let Some(next) = list.company_after(connection, company_id).await? {
            company_id = next;
            let counts = list.find(connection, company_id).await?;
            if counts > 0 {
                report(Difference { company_id, list: list.table, counts });
                total += counts;
            }
            while repair && list.repair_some(connection, company_id).await? {}
            run(connection, "truncate differences").await?;
        }
        run(connection, "drop table differences").await?;
    }
    sqlx::query("select pg_advisory_unlock(hashtext('compliance doctor'), 1)").execute(&mut *connection).await?;
    Ok(total)
}

async fn run(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(connection).await.map(drop)
}

impl Counted {
    /// Something for each of the numbers, as a list.
    fn each(&self, make: impl Fn(&str, &str) -> String) -> String {
        self.numbers.iter().map(|(name, expression)| make(name, expression)).collect::<Vec<_>>().join(", ")
    }

    fn create(&self) -> String {
        let types = &self.types;
        let missing = self.each(|name, _| format!("{name} bigint"));
        format!(
            "drop table if exists pg_temp.differences;
            create temporary table differences (dimension count_dimension, bucket bigint, {types}, {missing},
                first_day integer, last_day integer)"
        )
    }

    /// The next company that has records or counts.
    async fn company_after(&self, connection: &mut PgConnection, company_id: i64) -> Result<Option<i64>, sqlx::Error> {
        let Self { table, counts, .. } = self;
        let statement = format!(
            "select least(
                (select company_id from {table} where company_id > $1 order by company_id limit 1),
                (select company_id from {counts} where company_id > $1 order by company_id limit 1))"
        );
        sqlx::query_scalar(AssertSqlSafe(statement)).bind(company_id).fetch_one(connection).await
    }

    /// Stores the differences of a company; returns their number. Days may be too wide, never too narrow.
    async fn find(&self, connection: &mut PgConnection, company_id: i64) -> Result<i64, sqlx::Error> {
        let Self { table, counts, split_by, buckets, day, .. } = self;
        let expected = self.each(|name, expression| format!("{expression} as {name}"));
        let stored = self.each(|name, _| name.to_owned());
        let missing = self.each(|name, _| format!("coalesce(e.{name}, 0) - coalesce(s.{name}, 0)"));
        let none = self.each(|_, _| "0".to_owned());
        let statement = format!(
            "with expected as (
                select p.dimension, p.bucket, {split_by}, {expected},
                    min(utc_day({day})) as first_day, max(utc_day({day})) as last_day
                from {table} r cross join lateral {buckets} p
                where r.company_id = $1
                group by p.dimension, p.bucket, {split_by}
            ), stored as (
                select dimension, bucket, {split_by}, {stored}, first_day, last_day from {counts} where company_id = $1
            )
            insert into differences
            select dimension, bucket, {split_by}, {missing}, e.first_day, e.last_day
            from expected e full join stored s using (dimension, bucket, {split_by})
            where ({missing}) <> ({none}) or e.first_day < s.first_day or e.last_day > s.last_day"
        );
        let found = sqlx::query(AssertSqlSafe(statement)).bind(company_id).execute(connection).await?;
        Ok(found.rows_affected().cast_signed())
    }

    /// Repairs some of the differences. Returns whether there were any.
    async fn repair_some(&self, connection: &mut PgConnection, company_id: i64) -> Result<bool, sqlx::Error> {
        let Self { counts, split_by, lock, .. } = self;
        let numbers = self.each(|name, _| name.to_owned());
        let add = self.each(|name, _| format!("{name} = c.{name} + excluded.{name}"));
        let mut transaction = connection.begin().await?;
        // Writers take this lock, too: without it, two of them could wait for each other.
        sqlx::query("select pg_advisory_xact_lock($1 << 2 | $2)")
            .bind(company_id)
            .bind(lock)
            .execute(&mut *transaction)
            .await?;
        // A count that has no records any longer exists, so its days are not used.
        let statement = format!(
            "with chunk as (
                delete from differences where ctid = any(array(select ctid from differences limit $2)) returning *
            )
            insert into {counts} as c (company_id, dimension, bucket, {split_by}, {numbers}, first_day, last_day)
            select $1, dimension, bucket, {split_by}, {numbers},
                coalesce(first_day, 2147483647), coalesce(last_day, -2147483648)
            from chunk
            on conflict on constraint {counts}_pkey do update set
                {add},
                first_day = least(c.first_day, excluded.first_day),
                last_day = greatest(c.last_day, excluded.last_day)"
        );
        let repaired =
            sqlx::query(AssertSqlSafe(statement)).bind(company_id).bind(CHUNK).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(repaired.rows_affected() > 0)
    }
}

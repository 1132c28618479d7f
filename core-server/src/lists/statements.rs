//! The statements of one list, built once, and how they are run.

use admission::Reservation;
use compliance_api::{
    error::{Error, Reason},
    record::Record,
};
use sqlx::{
    Postgres, Row as _,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{
    description::{List, Value},
    page::Asked,
    statement::{Among, Shape, Statement, TYPES},
};
use crate::{
    database::{self, COPIES, Connections, End},
    error::from_database,
    table::{Read, Reader, read_all},
};

/// Records before a page that is near the beginning, at most: so many are read faster than their counts.
const NEAR: i64 = 500;

/// Every statement of a list.
pub(crate) struct Statements<Q: 'static> {
    list: &'static List<Q>,
    pages: Vec<(Shape, &'static str)>,
    /// Records by company and ID, for many reads at once.
    pub(crate) by_keys: &'static str,
    /// Records of one company by ID.
    by_ids: &'static str,
}

/// A page of records.
pub(crate) struct Page<T> {
    /// In the order asked for.
    pub(crate) records: Vec<T>,
    /// How many there are on all pages.
    pub(crate) total: i64,
    /// What the records take until they were sent.
    pub(crate) memory: Reservation,
}

/// Records that were read.
pub(crate) struct Records<T> {
    pub(crate) records: Vec<T>,
    /// What they take until they were sent.
    pub(crate) memory: Reservation,
}

/// What records are read from, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) pool: &'s Connections,
    pub(crate) company_id: i64,
    /// Of the company. What is read has a reservation of its own.
    pub(crate) memory: &'s Reservation,
}

/// Bytes of records that are read at once for a caller that takes them in parts.
pub(crate) const PART: usize = 4 << 20;

impl<Q> Statements<Q> {
    /// Builds the statements of a list.
    pub(crate) fn of(list: &'static List<Q>) -> Self {
        let mut pages = Vec::new();
        for sort in list.sorts {
            for (descending, ranged) in [(false, false), (false, true), (true, false), (true, true)] {
                for filtered in [false, true] {
                    for among in [Among::Affiliate, Among::Near, Among::Deep] {
                        let shape = Shape { key: sort.key, descending, ranged, filtered, among };
                        pages.push((shape, &*Statement { list, shape }.sql().leak()));
                    }
                }
            }
        }
        let by_keys = format!(
            "select p.company_id as key_company_id, p.id as key_id, r.*
            from unnest($1::bigint[], $2::bigint[]) as p (company_id, id)
            cross join lateral ({}) r",
            (list.record)("p.company_id")
        );
        let by_ids = format!(
            "select r.* from unnest($2::bigint[]) as p (id) cross join lateral ({}) r order by p.id",
            (list.record)("$1")
        );
        Self { list, pages, by_keys: by_keys.leak(), by_ids: by_ids.leak() }
    }

    /// Every statement that reads a page, each with its name and the types of its parameters.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (String, &'static str, String)> {
        let filters = self.list.filters.iter().flat_map(|filter| [", ", filter.value.sql_type()]);
        let types: String = std::iter::once(TYPES).chain(filters).collect();
        let table = self.list.table;
        self.pages.iter().map(move |(shape, sql)| (format!("{table} {}", shape.name()), *sql, types.clone()))
    }

    /// Every statement that reads records by ID, with the types of its parameters.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [(self.by_keys, "bigint[], bigint[]"), (self.by_ids, "bigint, bigint[]")].into_iter()
    }

    /// Reads one page of the company's records. `None` if they take more than `most` bytes.
    pub(crate) async fn page<T: Record>(
        &self,
        Source { pool, company_id, memory }: Source<'_>,
        request: &Q,
        asked: Asked,
        most: usize,
        read: Read<T>,
    ) -> Result<Option<Page<T>>, Error> {
        let statement = self.statement(request, asked)?;
        let query = || self.query(statement, company_id, request, asked);
        let fetched = database::read(|| pool.fetch_at_most(query(), most, memory)).await;
        let fetched = fetched.map_err(|error| from_database(&error))?;
        match fetched.end {
            End::Complete => {
                Page::read(fetched.rows, fetched.memory, read).map(Some).map_err(|error| from_database(&error))
            }
            End::TooLarge => Ok(None),
            End::Full(full) => Err(full.into()),
        }
    }

    /// The statement that reads a page.
    pub(super) fn statement(&self, request: &Q, asked: Asked) -> Result<&'static str, Error> {
        let sorts = self.list.sorts;
        let sort = sorts.iter().find(|sort| sort.number == asked.sort).or(sorts.first()).ok_or_else(Error::internal)?;
        let shape = Shape {
            key: sort.key,
            descending: asked.page.descending,
            ranged: asked.days.is_some(),
            filtered: self.list.filters.iter().any(|filter| filter.value.is_asked(request)),
            among: match asked.affiliate {
                Some(_) => Among::Affiliate,
                None if asked.page.offset() <= NEAR => Among::Near,
                None => Among::Deep,
            },
        };
        self.pages.iter().find(|(of, _)| *of == shape).map(|(_, statement)| *statement).ok_or_else(Error::internal)
    }

    /// The statement with its parameters.
    pub(super) fn query(
        &self,
        statement: &'static str,
        company_id: i64,
        request: &Q,
        asked: Asked,
    ) -> Query<'static, Postgres, PgArguments> {
        let (first, last) = asked.days.unzip();
        let fixed = sqlx::query(statement).bind(company_id).bind(asked.page.limit()).bind(asked.page.offset());
        let fixed = fixed.bind(first).bind(last).bind(asked.affiliate);
        self.list.filters.iter().fold(fixed, |bound, filter| match filter.value {
            Value::Integer(value) => bound.bind(value(request)),
            Value::Boolean(value) => bound.bind(value(request)),
        })
    }

    /// The records of the company among `ids`, by ID.
    pub(crate) async fn read_by_ids<T: Record>(
        &self,
        source: Source<'_>,
        ids: &[i64],
        most: usize,
        read: Read<T>,
    ) -> Result<Records<T>, Error> {
        read_by_ids(source, self.by_ids, ids, most, read).await
    }
}

/// The records that a statement returns for a company and IDs.
pub(crate) async fn read_by_ids<R: Record, T>(
    Source { pool, company_id, memory }: Source<'_>,
    statement: &'static str,
    ids: &[i64],
    most: usize,
    read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
) -> Result<Records<T>, Error> {
    let query = || sqlx::query(statement).bind(company_id).bind(ids);
    let fetched = database::read(|| pool.fetch_at_most(query(), most, memory)).await;
    let fetched = fetched.map_err(|error| from_database(&error))?;
    match fetched.end {
        End::Complete => Records::read(fetched.rows, fetched.memory, read).map_err(|error| from_database(&error)),
        End::TooLarge => Err(too_large(most)),
        End::Full(full) => Err(full.into()),
    }
}

impl<T> Records<T> {
    /// Decodes rows, which are then no longer held.
    fn read<R: Record>(
        rows: Vec<PgRow>,
        mut memory: Reservation,
        read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
    ) -> Result<Self, sqlx::Error> {
        let records = admission::compute(memory.bytes(), || read_all(&rows, read))?;
        drop(rows);
        memory.shrink_to(memory.bytes() / COPIES * (COPIES - 1));
        Ok(Self { records, memory })
    }
}

impl<T: Record> Page<T> {
    /// Reads the rows of a page's statement. A page without records is one row that has the total alone.
    fn read(mut rows: Vec<PgRow>, memory: Reservation, read: Read<T>) -> Result<Self, sqlx::Error> {
        let total = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
        rows.retain(|row| row.try_get::<Option<i64>, _>("found").is_ok_and(|id| id.is_some()));
        let Records { records, memory } = Records::read(rows, memory, read)?;
        Ok(Self { records, total, memory })
    }
}

/// The records do not fit into a message.
pub(crate) fn too_large(most: usize) -> Error {
    let message = format!("The records need more than {most} bytes. Please request fewer at once.");
    Error::new(Reason::BodyTooLarge, message)
}

#[cfg(test)]
mod tests {
    use admission::Memory;
    use compliance_api::v1::ComplianceUrl;

    use super::{Reader, Records};

    #[test]
    fn rows_that_were_decoded_are_held_no_longer() {
        let mut memory = Memory::new(300, 300).reservation(Some(1));
        memory.grow(300).unwrap();
        let records = Records::read(Vec::new(), memory, Reader::<ComplianceUrl>::read).unwrap();
        assert!(records.records.is_empty());
        // Two of three copies: the records, and what is sent.
        assert_eq!(records.memory.bytes(), 200);
    }
}

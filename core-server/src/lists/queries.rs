//! Builds a list's statements once and runs them.

use admission::Reservation;
use compliance_api::{
    error::{Error, Reason},
    record::Record,
    v1::PageMeta,
};
use sqlx::{
    Postgres, Row as _,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::{
    description::{Asked, List},
    page_sql::{PageStatement, Shape, types},
    scans::{Compared, PageOfRecords, compared, whole},
};
use crate::record_sql::{Place, RecordQuery};
use storage::{
    database::{self, Connections, End, Fetched},
    error::from_database,
    limits::COPIES,
    table::{Read, Reader, read_all},
    template::fill,
};

/// Maximum size of one read, in bytes, for callers that read records in parts.
pub const PART: usize = 4 << 20;

pub(crate) struct Statements<Q: 'static> {
    list: &'static List<Q>,
    pages: Vec<(Shape, &'static str)>,
    compared: Vec<Compared>,
    whole: Vec<(&'static str, &'static str)>,
    /// Reads a record by company and ID.
    pub(crate) by_key: &'static str,
    /// Reads records by company and ID, for many concurrent reads.
    pub(crate) by_keys: &'static str,
    /// Reads records of one company by ID.
    pub(crate) by_ids: &'static str,
}

pub(crate) struct Records<T> {
    pub(crate) records: Vec<T>,
    /// Memory reserved for the records until they are sent.
    pub(crate) memory: Reservation,
}

pub(crate) struct Source {
    pub(crate) pool: Connections,
    pub(crate) company_id: i64,
    /// The company's memory. Each read makes its own reservation.
    pub(crate) memory: Reservation,
    /// Maximum size of the records, in bytes.
    pub(crate) most: usize,
}

impl<Q> Statements<Q> {
    pub(crate) fn of(list: &'static List<Q>) -> Self {
        Self {
            list,
            pages: pages(list),
            compared: compared(list),
            whole: whole(list),
            by_key: by_key(list.record),
            by_keys: by_keys(list.record),
            by_ids: by_ids(list.record),
        }
    }

    /// Returns every statement that reads a page, with its name and parameter types.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (String, &'static str, String)> {
        let types = types(self.list.values(false));
        let table = self.list.table;
        self.pages.iter().map(move |(shape, sql)| (format!("{table} {shape:?}"), *sql, types.clone()))
    }

    /// Returns every statement that compares all records, with its parameter types.
    pub(crate) fn compared(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let types = &*types(self.list.values(true)).leak();
        self.compared.iter().map(move |(_, statement)| (*statement, types))
    }

    /// Returns every statement that reads records by ID or all records, with its parameter types.
    pub(crate) fn reads(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let by_id =
            [(self.by_key, "bigint, bigint"), (self.by_keys, "bigint[], bigint[]"), (self.by_ids, "bigint, bigint[]")];
        by_id.into_iter().chain(self.whole.iter().copied())
    }

    /// Reads one page of the company's records. Returns `None` if the records are too large.
    pub(crate) async fn page<T: Record>(
        &self,
        source: Source,
        request: &Q,
        read: Read<T>,
    ) -> Result<Option<(Records<T>, PageMeta)>, Error> {
        let statement = self.statement(request)?;
        let rows = source.fetch(|| self.query(statement, source.company_id, request)).await?;
        let Some((mut rows, memory)) = rows else { return Ok(None) };
        // An empty page is one row with the total.
        let total = rows.first().map_or(Ok(0), |row| row.try_get("total")).map_err(from_database)?;
        rows.retain(|row| row.try_get::<Option<i64>, _>("found").is_ok_and(|id| id.is_some()));
        Ok(Some((Records::read(rows, memory, read)?, self.meta(request, total))))
    }

    pub(crate) fn meta(&self, request: &Q, total: i64) -> PageMeta {
        (self.list.asked)(request).page.meta(total)
    }

    /// Returns the statement that reads the requested page.
    pub(crate) fn statement(&self, request: &Q) -> Result<&'static str, Error> {
        let asked = (self.list.asked)(request);
        if self.is_compared(request, asked) {
            let compared = self.compared.iter().find(|(order, _)| *order == (asked.sort, asked.page.descending));
            return compared.map(|(_, statement)| *statement).ok_or_else(Error::internal);
        }
        let sorts = self.list.sorts;
        let sort = sorts.iter().find(|sort| sort.number == asked.sort).or(sorts.first()).ok_or_else(Error::internal)?;
        let shape = Shape {
            parts: sort.parts,
            descending: asked.page.descending,
            ranged: asked.days.is_some(),
            filtered: self.list.filters.iter().any(|filter| filter.value.is_asked(request)),
            of_affiliate: asked.affiliate.is_some(),
        };
        self.pages.iter().find(|(of, _)| *of == shape).map(|(_, statement)| *statement).ok_or_else(Error::internal)
    }

    pub(crate) fn query(
        &self,
        statement: &'static str,
        company_id: i64,
        request: &Q,
    ) -> Query<'static, Postgres, PgArguments> {
        let asked = (self.list.asked)(request);
        let (first, last) = asked.days.unzip();
        let fixed = sqlx::query(statement).bind(company_id).bind(asked.page.per_page).bind(asked.page.offset());
        let fixed = fixed.bind(first).bind(last).bind(asked.affiliate);
        let values = self.list.values(self.is_compared(request, asked));
        values.fold(fixed, |query, value| value.bind(query, request))
    }

    /// Returns the statement for a page of the whole list.
    pub(crate) fn whole(&self, request: &Q, changed: bool) -> &'static str {
        let affiliate = (self.list.asked)(request).affiliate;
        self.whole[usize::from(affiliate.is_some()) + 2 * usize::from(changed)].0
    }

    /// Binds the parameters that follow the record count, for a page of the whole list.
    pub(crate) fn bind_whole(&self, page: PageOfRecords, request: &Q) -> PageOfRecords {
        let asked = (self.list.asked)(request);
        let (first, last) = asked.days.unzip();
        let page = page.bind(first).bind(last).bind(asked.affiliate);
        self.list.values(true).fold(page, |page, value| value.bind(page, request))
    }

    /// Returns whether a filter or the sort key requires a comparison of all records.
    fn is_compared(&self, request: &Q, asked: Asked) -> bool {
        self.list.comparison.as_ref().is_some_and(|comparison| comparison.is_needed(request, asked.sort))
    }
}

/// Returns the statements that find a page by counts, with their request shapes.
fn pages<Q>(list: &'static List<Q>) -> Vec<(Shape, &'static str)> {
    let Some(counts) = &list.counts else { return Vec::new() };
    let mut pages = Vec::new();
    for sort in list.sorts {
        for (descending, ranged) in [(false, false), (false, true), (true, false), (true, true)] {
            for filtered in [false, true] {
                for of_affiliate in [false, true] {
                    let shape = Shape { parts: sort.parts, descending, ranged, filtered, of_affiliate };
                    pages.push((shape, &*PageStatement { list, counts, shape }.sql().leak()));
                }
            }
        }
    }
    pages
}

impl Source {
    /// Returns a statement's rows with their memory, or `None` if the rows are too large.
    async fn fetch<'q>(
        &self,
        query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    ) -> Result<Option<(Vec<PgRow>, Reservation)>, Error> {
        let read = async |pool: Connections| pool.fetch_at_most(query(), self.most, &self.memory).await;
        let fetched = database::read(&self.pool, read).await;
        let Fetched { rows, end, memory } = fetched.map_err(from_database)?;
        match end {
            End::Complete => Ok(Some((rows, memory))),
            End::TooLarge => Ok(None),
            End::LimitReached(limit) => Err(limit.into()),
        }
    }
}

/// Returns a statement that reads a record by company and ID.
fn by_key(record: RecordQuery) -> &'static str {
    record(&Place::now("$1", "$2")).leak()
}

/// Returns a statement that reads records by company and ID.
fn by_keys(record: RecordQuery) -> &'static str {
    let record = record(&Place::now("p.company_id", "p.id"));
    fill(include_str!("sql/by_keys.sql"), &[("record", &record)]).leak()
}

/// Returns a statement that reads records of one company by ID.
fn by_ids(record: RecordQuery) -> &'static str {
    let record = record(&Place::now("$1", "p.id"));
    fill(include_str!("sql/by_ids.sql"), &[("record", &record)]).leak()
}

/// Runs a statement for a company's IDs and returns the records.
pub(crate) async fn read_by_ids<R: Record, T>(
    source: Source,
    statement: &'static str,
    ids: &[i64],
    read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
) -> Result<Records<T>, Error> {
    let company_id = source.company_id;
    read_records(source, || sqlx::query(statement).bind(company_id).bind(ids), read).await
}

/// Runs a query and returns its records.
pub(crate) async fn read_records<'q, R: Record, T>(
    source: Source,
    query: impl Fn() -> Query<'q, Postgres, PgArguments>,
    read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
) -> Result<Records<T>, Error> {
    let (rows, memory) = source.fetch(query).await?.ok_or_else(|| too_large(source.most))?;
    Records::read(rows, memory, read)
}

impl<T> Records<T> {
    /// Decodes rows and releases their memory.
    fn read<R: Record>(
        rows: Vec<PgRow>,
        mut memory: Reservation,
        read: impl Fn(&Reader<R>, &PgRow) -> Result<T, sqlx::Error>,
    ) -> Result<Self, Error> {
        let records = admission::compute(memory.bytes(), || read_all(&rows, read)).map_err(from_database)?;
        drop(rows);
        memory.shrink_to(memory.bytes() / COPIES * (COPIES - 1));
        Ok(Self { records, memory })
    }
}

/// Returns the error for records that do not fit in a message.
pub(crate) fn too_large(most: usize) -> Error {
    let message = format!("The records need more than {most} bytes. Please request fewer records.");
    Error::new(Reason::BodyTooLarge, message)
}

#[cfg(test)]
mod tests {
    use admission::Memory;
    use compliance_api::v1::ComplianceUrl;

    use super::{Reader, Records};

    #[test]
    fn decoded_rows_release_their_memory() {
        let mut memory = Memory::new(300, 300).reservation(Some(1));
        memory.grow(300).unwrap();
        let records = Records::read(Vec::new(), memory, Reader::<ComplianceUrl>::read).unwrap();
        assert!(records.records.is_empty());
        // Two of three copies remain: the records and the message.
        assert_eq!(records.memory.bytes(), 200);
    }
}

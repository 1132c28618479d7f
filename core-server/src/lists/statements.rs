//! The statements of one list, built once, and how they are run.

use compliance_api::{error::Error, record::Record};
use sqlx::{Row as _, postgres::PgRow};

use super::{
    description::{List, Value},
    page::Asked,
    statement::{Among, Shape, Statement, TYPES},
};
use crate::{
    database::{self, Connections},
    error::from_database,
    table::{Read, read_all},
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
}

impl<Q> Statements<Q> {
    /// Builds the statements of a list.
    pub(crate) fn of(list: &'static List<Q>) -> Self {
        let mut pages = Vec::new();
        for sort in list.sorts {
            for (descending, ranged) in [(false, false), (false, true), (true, false), (true, true)] {
                for filters in 0..1 << list.filters.len() {
                    for among in [Among::Affiliate, Among::Near, Among::Deep] {
                        let shape = Shape { key: sort.key, descending, ranged, filters, among };
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

    /// Every statement that reads a page, each with the types of its parameters.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (&'static str, String)> {
        let filters = self.list.filters.iter().flat_map(|filter| [", ", filter.value.sql_type()]);
        let types: String = std::iter::once(TYPES).chain(filters).collect();
        self.pages.iter().map(move |(_, sql)| (*sql, types.clone()))
    }

    /// Reads one page of the company's records.
    pub(crate) async fn page<T: Record>(
        &self,
        pool: &Connections,
        company_id: i64,
        request: &Q,
        asked: Asked,
        read: Read<T>,
    ) -> Result<Page<T>, Error> {
        let sorts = self.list.sorts;
        let sort = sorts.iter().find(|sort| sort.number == asked.sort).or(sorts.first()).ok_or_else(Error::internal)?;
        let filters = self.list.filters.iter().zip(0..).filter(|(filter, _)| filter.value.is_asked(request));
        let shape = Shape {
            key: sort.key,
            descending: asked.page.descending,
            ranged: asked.days.is_some(),
            filters: filters.map(|(_, bit)| 1 << bit).sum(),
            among: match asked.affiliate {
                Some(_) => Among::Affiliate,
                None if asked.page.offset() <= NEAR => Among::Near,
                None => Among::Deep,
            },
        };
        let (_, statement) = *self.pages.iter().find(|(of, _)| *of == shape).ok_or_else(Error::internal)?;
        let (first, last) = asked.days.unzip();
        let rows = database::read(|| {
            let fixed = sqlx::query(statement).bind(company_id).bind(asked.page.limit()).bind(asked.page.offset());
            let fixed = fixed.bind(first).bind(last).bind(asked.affiliate);
            let filtered = self.list.filters.iter().fold(fixed, |bound, filter| match filter.value {
                Value::Integer(value) => bound.bind(value(request)),
                Value::Boolean(value) => bound.bind(value(request)),
            });
            filtered.fetch_all(pool)
        });
        let page = rows.await.and_then(|rows| Page::read(&rows, read));
        page.map_err(|error| from_database(&error))
    }

    /// The records of the company among `ids`, by ID.
    pub(crate) async fn read_by_ids<T: Record>(
        &self,
        pool: &Connections,
        company_id: i64,
        ids: &[i64],
        read: Read<T>,
    ) -> Result<Vec<T>, Error> {
        let rows = database::read(|| sqlx::query(self.by_ids).bind(company_id).bind(ids).fetch_all(pool)).await;
        let records = rows.and_then(|rows| read_all(&rows, read));
        records.map_err(|error| from_database(&error))
    }
}

impl<T: Record> Page<T> {
    /// Reads the rows of a page's statement. A page without records is one row that has the total alone.
    fn read(rows: &[PgRow], read: Read<T>) -> Result<Self, sqlx::Error> {
        let total = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
        let records = rows.iter().filter(|row| row.try_get::<Option<i64>, _>("found").is_ok_and(|id| id.is_some()));
        Ok(Self { records: read_all(records, read)?, total })
    }
}

//! The statements of one list, built once, and how their rows are read.

use compliance_api::error::Error;
use sqlx::{Row as _, postgres::PgRow};

use crate::database::Connections;

use super::{Axis, List};
use crate::{database, error::from_database};

/// How a record is read from a row, from a column on.
pub(crate) type Read<T> = fn(&PgRow, usize) -> Result<T, sqlx::Error>;

/// Every statement of a list.
pub(crate) struct Statements {
    /// One for each shape: sort, direction, range or not, affiliate or not.
    shapes: Vec<&'static str>,
    /// Records by company and ID, for many reads at once.
    pub(crate) by_keys: &'static str,
    /// Records of one company by ID.
    by_ids: &'static str,
}

/// The shape of a list that is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Position among the list's sorts.
    pub(crate) sort: usize,
    pub(crate) descending: bool,
    /// Filtered by days.
    pub(crate) ranged: bool,
    /// Filtered by affiliate.
    pub(crate) of_affiliate: bool,
}

/// A page of records.
pub(crate) struct Page<T> {
    /// In the order asked for.
    pub(crate) records: Vec<T>,
    /// How many there are on all pages.
    pub(crate) total: i64,
}

impl Statements {
    /// Builds the statements of a list that can be sorted along each of `sorts`.
    pub(crate) fn of(list: &List, sorts: &[&[Axis]]) -> Self {
        let mut shapes = Vec::new();
        for axes in sorts {
            for descending in [false, true] {
                for ranged in [false, true] {
                    shapes.push(&*list.walk(axes, descending, ranged).leak());
                    shapes.push(&*list.of_affiliate(axes[0].key, descending, ranged).leak());
                }
            }
        }
        Self { shapes, by_keys: list.by_keys().leak(), by_ids: list.by_ids().leak() }
    }

    /// The statement of a shape.
    pub(crate) fn shape(&self, shape: Shape) -> &'static str {
        let Shape { sort, descending, ranged, of_affiliate } = shape;
        self.shapes[sort * 8 + usize::from(descending) * 4 + usize::from(ranged) * 2 + usize::from(of_affiliate)]
    }

    /// Every statement that reads a page.
    pub(crate) fn shapes(&self) -> &[&'static str] {
        &self.shapes
    }

    /// The records of the company among `ids`, by ID.
    pub(crate) async fn read_by_ids<T>(
        &self,
        pool: &Connections,
        company_id: i64,
        ids: &[i64],
        read: Read<T>,
    ) -> Result<Vec<T>, Error> {
        let rows = database::read(|| sqlx::query(self.by_ids).bind(company_id).bind(ids).fetch_all(pool)).await;
        let records = rows.and_then(|rows| rows.iter().map(|row| read(row, 2)).collect());
        records.map_err(|error| from_database(&error))
    }
}

impl<T> Page<T> {
    /// Reads the rows of a shape's statement. A page without records is one row that has the total alone.
    pub(crate) fn read(rows: &[PgRow], read: Read<T>) -> Result<Self, sqlx::Error> {
        let total = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        let records = rows.iter().filter(|row| row.try_get::<Option<i64>, _>(1).is_ok_and(|id| id.is_some()));
        Ok(Self { records: records.map(|row| read(row, 1)).collect::<Result<_, _>>()?, total })
    }
}

//! Compares items with the affiliates that have their identifiers.

use std::sync::LazyLock;

use compliance_api::{
    error::Error,
    record::{Record as _, RecordField},
    v1::AffiliateInput,
};
use storage::{
    database::{self, Connections},
    error::from_database,
    template::fill,
};

use crate::affiliates::{
    in_order::NAME,
    input::{INPUT, Input},
};

/// Affiliates with one identifier that a result names.
const MAX_CONFLICTS: i64 = 10;

pub(in crate::affiliates) static COMPARE: LazyLock<&'static str> = LazyLock::new(|| {
    let changed = AffiliateInput::FIELDS.iter().map(|field| {
        let (column, bit) = (field.column.name, field.bit());
        format!("case when i.mask & {bit} <> 0 and i.{column} is distinct from a.{column} then {bit} else 0 end")
    });
    let parts = [
        ("changed", &*changed.collect::<Vec<_>>().join(" | ")),
        ("name_bit", &AffiliateInput::field(NAME).map_or(0, RecordField::bit).to_string()),
        ("most", &MAX_CONFLICTS.to_string()),
    ];
    fill(include_str!("compare.sql"), &parts).leak()
});

/// What was found for an item.
#[derive(sqlx::FromRow)]
pub(super) struct Found {
    /// The affiliates with its identifier.
    pub(super) ids: Vec<i64>,
    /// The revision of the affiliate.
    pub(super) revision: i64,
    /// A bit for each field that differs; of a new affiliate, for each that it has.
    pub(super) changed: i64,
    /// The name of the affiliate, if that differs.
    pub(super) old_name: Option<String>,
    /// The affiliate that has the name that this one gets.
    pub(super) holder: Option<i64>,
}

/// What was found for each item, in their order.
pub(super) async fn compare(pool: &Connections, company_id: i64, inputs: &[&Input]) -> Result<Vec<Found>, Error> {
    let layouts = pool.layouts();
    let read = async |pool: Connections| {
        let query = sqlx::query_as(*COMPARE).bind(company_id).bind(INPUT.batch(&layouts, inputs));
        query.fetch_all(&pool).await
    };
    database::read(pool, read).await.map_err(from_database)
}

//! Updates single affiliates. Concurrent requests of all companies share one statement.

use std::sync::{Arc, LazyLock};

use super::{
    in_order::Applied,
    input::{INPUT, Input},
    update::{self, Outcome},
};
use storage::{database::Session, table::Layouts, writes::Write};

/// Updates affiliates. `$1` contains each item's company.
static UPDATE: LazyLock<&'static str> =
    LazyLock::new(|| update::statement_for("($1::bigint[])[i.ordinality]", "true", "false", "$3"));

pub(super) fn statement() -> (&'static str, &'static str) {
    (*UPDATE, "bigint[], affiliate_input[], text")
}

pub(super) struct UpdateOne;

impl Write for UpdateOne {
    type Item = Input;
    type Written = Applied;
    /// One statement can change an affiliate only once, because it finds the writer by the affiliate's ID. It can assign a name only once
    /// per company.
    type Key = (i64, Option<i64>, Option<String>);
    const NAME: &'static str = "writes of changed affiliates";

    fn company(item: &Input) -> i64 {
        item.company_id
    }

    fn keys(item: &Input) -> Vec<Self::Key> {
        let name = item.new_name().map(|name| (item.company_id, None, Some(name.to_owned())));
        [(0, Some(item.key), None)].into_iter().chain(name).collect()
    }

    async fn write(
        &self,
        session: Session<'_>,
        layouts: Arc<Layouts>,
        items: &[&Input],
        writers: Vec<String>,
    ) -> Result<Vec<Applied>, sqlx::Error> {
        let companies: Vec<i64> = items.iter().map(|item| item.company_id).collect();
        let writers = items.iter().zip(writers).map(|(item, writer)| format!("\"{}\":{writer}", item.key));
        let writers = format!("{{{}}}", writers.collect::<Vec<_>>().join(","));
        let query = sqlx::query(*UPDATE).bind(companies).bind(INPUT.batch(&layouts, items)).bind(writers);
        let outcomes: Vec<Outcome> = session.fetch_all(query).await?;
        Ok(items.iter().zip(outcomes).map(|(item, outcome)| outcome.applied(item)).collect())
    }
}

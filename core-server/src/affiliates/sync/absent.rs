//! The affiliates that a roster does not have.

use compliance_api::{
    error::Error,
    record::{FieldSet, Record as _},
    v1::{AbsentAffiliate, AffiliateInput},
};

use super::roster::Roster;
use crate::{
    affiliates::{in_order::Applied, input::Input, update::update_known},
    backend::Backend,
    database::{self, Connections},
    error::from_database,
    limits::ABSENT_PAGE,
};

/// Affiliates of the company $1 with IDs above $2, at most $3.
pub(in crate::affiliates) const PAGE: &str = "
    select a.id as affiliate_id, a.client_affiliate_id, a.status, a.revision from affiliates a
    where a.company_id = $1 and a.id > $2 order by a.id limit $3";

const STATUS: &str = "status";

#[derive(sqlx::FromRow)]
struct Row {
    affiliate_id: i64,
    client_affiliate_id: String,
    status: Option<String>,
    revision: i64,
}

/// The next affiliates after an ID that a roster does not have, and the ID after which others follow. They get the status that is asked
/// for. `None` if there are no others.
pub(super) async fn next(
    backend: &Backend,
    company_id: i64,
    roster: &Roster,
    mut after: i64,
) -> Result<Option<(Vec<AbsentAffiliate>, i64)>, Error> {
    loop {
        let read = async |pool: Connections| {
            sqlx::query_as(PAGE).bind(company_id).bind(after).bind(ABSENT_PAGE).fetch_all(&pool).await
        };
        let rows: Vec<Row> = database::read(&backend.pool, read).await.map_err(from_database)?;
        let Some(last) = rows.last() else { return Ok(None) };
        after = last.affiliate_id;
        let absent = rows.into_iter().filter(|row| !roster.has(&row.client_affiliate_id)).map(|row| {
            let Row { affiliate_id, client_affiliate_id, status, revision } = row;
            (AbsentAffiliate { affiliate_id, client_affiliate_id, status, changed: false }, revision)
        });
        let mut absent: Vec<(AbsentAffiliate, i64)> = absent.collect();
        if !absent.is_empty() {
            set_status(backend, company_id, roster, &mut absent).await?;
            return Ok(Some((absent.into_iter().map(|(affiliate, _)| affiliate).collect(), after)));
        }
    }
}

async fn set_status(
    backend: &Backend,
    company_id: i64,
    roster: &Roster,
    absent: &mut [(AbsentAffiliate, i64)],
) -> Result<(), Error> {
    let Some(status) = roster.absent_status() else { return Ok(()) };
    let mask: FieldSet<AffiliateInput> = AffiliateInput::field(STATUS).into_iter().collect();
    let mut others: Vec<&mut (AbsentAffiliate, i64)> =
        absent.iter_mut().filter(|(affiliate, _)| affiliate.status.as_deref() != Some(status)).collect();
    if roster.options.validate_only {
        for (affiliate, _) in others {
            affiliate.changed = true;
        }
        return Ok(());
    }
    let fields = AffiliateInput { status: Some(status.to_owned()), ..AffiliateInput::default() };
    // One that has changed meanwhile may have got an identifier of the roster.
    let change = |(affiliate, revision): &&mut (AbsentAffiliate, i64)| Input {
        revisions: Some(vec![*revision]),
        ..Input::new(company_id, affiliate.affiliate_id, fields.clone(), mask)
    };
    let changes: Vec<Input> = others.iter().map(change).collect();
    if changes.is_empty() {
        return Ok(());
    }
    let applied = update_known(backend, company_id, &changes).await?;
    for ((affiliate, _), applied) in others.iter_mut().zip(applied) {
        affiliate.changed = matches!(applied, Applied::Saved(_));
    }
    Ok(())
}

//! Creates and syncs affiliates from files.

use std::{borrow::Cow, mem::take};

use axum::response::Response;
use compliance_api::{
    error::ResultCode,
    v1::{
        AbsentAffiliate, AffiliateSync, AffiliateSyncResult, BatchCreateAffiliatesRequest, BatchSyncAffiliatesRequest,
        BatchSyncAffiliatesResponse, SyncOutcome,
    },
};
use serde::{Serialize, Serializer};
use spreadsheets::{AffiliateRow, Empty};

use super::batch::{count_refused, create_batch, outcome};
use crate::{
    caller::Caller,
    envelope::{Envelope, Rejection, respond},
    extract::{
        body::RequestBody,
        file::{ResultViolation, RowViolation, Rows},
    },
};

/// Creates an affiliate for every row, or none at all.
pub(super) async fn create(mut body: RequestBody) -> Result<Response, Rejection> {
    let (request, mut rows) = body.rows(AffiliateRow::REQUIRED, Empty::Absent, |row: AffiliateRow| row.input).await?;
    if let Some(refusal) = rows.refusal(&body.caller, "affiliates").await {
        return Ok(refusal);
    }
    let request = BatchCreateAffiliatesRequest { affiliates: take(&mut rows.records), ..request };
    let response = create_batch(&body, request, rows.of_file()).await?;
    Ok(body.respond(response))
}

/// Syncs all valid rows. Invalid rows with a readable ID only count as present.
pub(super) async fn sync(mut body: RequestBody) -> Result<Response, Rejection> {
    let item = |row: AffiliateRow| row.to_item();
    let (request, mut rows) = body.rows(&["client_affiliate_id"], Empty::Clears, item).await?;
    let mut request = BatchSyncAffiliatesRequest { affiliates: take(&mut rows.records), ..request };
    let wants_absent = request.report_absent || !request.absent_status().is_empty();
    let is_unsure = wants_absent && !are_known(&rows, &request.affiliates, &body.caller).await?;
    if is_unsure {
        // An invalid row without a known ID could contain an affiliate that seems absent.
        (request.report_absent, request.absent_status) = (false, None);
    }
    let absent_status = request.absent_status.clone().filter(|status| !status.is_empty());
    let is_dry = request.validate_only;
    let synced = if request.affiliates.is_empty() {
        body.caller.check_access().await?;
        BatchSyncAffiliatesResponse::default()
    } else {
        body.caller.call(request, |core, request| core.syncs.batch_sync_affiliates(request)).await?.message
    };
    let sent = rows.indexes().zip(&synced.results).filter(|(index, _)| !rows.is_refused(*index));
    let refused = rows.refused() + count_refused(sent.map(|(_, result)| result));
    let (status, code, mut msg) = outcome(&synced, refused, absent_status.as_deref(), is_dry);
    if is_unsure {
        msg.push_str(" The service did not check for absent affiliates, because a refused row may be one of them.");
    }
    let response = body.compute(|| {
        let BatchSyncAffiliatesResponse { results, absent, absent_total, absent_changed } = &synced;
        let (results, notes) = (RowResults { rows: &rows, results }, &*rows.notes);
        let data = SyncedFile { results, absent, absent_total: *absent_total, absent_changed: *absent_changed, notes };
        respond(status, &Envelope::written(code, &msg, &data))
    });
    Ok(body.respond(response))
}

/// Returns whether each invalid row contains the ID of a stored affiliate. The ID of a damaged row can be wrong.
async fn are_known(rows: &Rows<AffiliateSync>, items: &[AffiliateSync], caller: &Caller) -> Result<bool, Rejection> {
    let invalid = rows.indexes().zip(items).filter(|(index, _)| rows.is_refused(*index));
    let affiliates: Vec<_> = invalid.map(|(_, item)| item.clone()).collect();
    if affiliates.is_empty() || !rows.are_identified() {
        return Ok(rows.are_identified());
    }
    let request = BatchSyncAffiliatesRequest { affiliates, validate_only: true, ..Default::default() };
    let found = caller.call(request, |core, request| core.syncs.batch_sync_affiliates(request)).await?.message;
    Ok(found.results.iter().all(|result| result.outcome() == SyncOutcome::Unchanged))
}

/// A sync's result, with notes about skipped parts of the table.
#[derive(Serialize)]
struct SyncedFile<'a> {
    results: RowResults<'a>,
    absent: &'a [AbsentAffiliate],
    absent_total: i64,
    absent_changed: i64,
    notes: &'a [String],
}

/// The results of all rows, built one after another during serialization.
struct RowResults<'a> {
    rows: &'a Rows<AffiliateSync>,
    /// The results of the sent rows.
    results: &'a [AffiliateSyncResult],
}

/// The result of a row, with the fields of an [`AffiliateSyncResult`] in their order.
#[derive(Serialize)]
#[serde(untagged)]
enum RowResult<'a> {
    /// From the core.
    Sent {
        row: u64,
        #[serde(flatten)]
        result: Cow<'a, AffiliateSyncResult>,
    },
    /// Of an invalid row.
    Refused {
        row: u64,
        code: &'static str,
        outcome: &'static str,
        affiliate_id: Option<i64>,
        client_affiliate_id: Option<&'a str>,
        changed_fields: [&'static str; 0],
        conflicting_ids: [i64; 0],
        conflicting_positions: [i64; 0],
        violations: Vec<ResultViolation>,
        msg: String,
    },
}

impl Serialize for RowResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sent: Vec<usize> = self.rows.indexes().collect();
        let mut results = sent.iter().zip(self.results).peekable();
        serializer.collect_seq(self.rows.lines.iter().enumerate().filter_map(|(index, row)| {
            let result = results.next_if(|(sent, _)| **sent == index).map(|(_, result)| result);
            match self.rows.violations_of(index) {
                Some(violations) => Some(refused(*row, violations, result)),
                None => result.map(|result| RowResult::Sent { row: *row, result: self.of_core(result, &sent) }),
            }
        }))
    }
}

impl RowResults<'_> {
    /// Returns the core's result with rows instead of positions. `sent` contains the indexes of the sent rows.
    fn of_core<'r>(&self, result: &'r AffiliateSyncResult, sent: &[usize]) -> Cow<'r, AffiliateSyncResult> {
        let positions = result.conflicting_positions.iter().filter_map(|position| usize::try_from(*position).ok());
        let indexes: Vec<usize> = positions.filter_map(|position| sent.get(position).copied()).collect();
        if indexes.is_empty() {
            return Cow::Borrowed(result);
        }
        let rows: Vec<String> = indexes.iter().map(|index| self.rows.lines[*index].to_string()).collect();
        let has = if result.code == i32::from(ResultCode::Duplicate) { "affiliate name" } else { "identifier" };
        Cow::Owned(AffiliateSyncResult {
            msg: format!("Several rows have this {has}: {}.", rows.join(", ")),
            conflicting_positions: indexes.into_iter().map(|index| index as i64).collect(),
            ..result.clone()
        })
    }
}

/// Returns the result of an invalid row. `sent` is the core's result for its ID.
fn refused(row: u64, violations: Vec<RowViolation>, sent: Option<&AffiliateSyncResult>) -> RowResult<'_> {
    let msg = match &*violations {
        [] => String::new(),
        [one] => one.message.clone(),
        [first, _] => format!("{} (and 1 more error)", first.message),
        [first, more @ ..] => format!("{} (and {} more errors)", first.message, more.len()),
    };
    RowResult::Refused {
        row,
        code: "1021",
        outcome: "refused",
        affiliate_id: None,
        client_affiliate_id: sent.and_then(|result| result.client_affiliate_id.as_deref()),
        changed_fields: [],
        conflicting_ids: [],
        conflicting_positions: [],
        violations: violations.into_iter().map(RowViolation::of_result).collect(),
        msg,
    }
}

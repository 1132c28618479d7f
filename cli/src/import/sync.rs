//! Sends affiliates as a roster, which the service compares with what the company has.

use compliance_api::{
    error::Error,
    rules::Check as _,
    v1::{AffiliateInput, AffiliateSyncResult, ResultCode, SyncAffiliatesRequest, SyncAffiliatesResponse, SyncOutcome},
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use super::{
    affiliate::Affiliate,
    batches::Batches,
    recorder::Recorder,
    row::{Position, RowError},
};
use crate::service::{Service, refused};

pub(super) const IDENTIFIER: &str = "client_affiliate_id";
/// What reports absent affiliates without changing them.
const REPORT: &str = "report";

/// `report` or a status.
pub(super) fn absent(text: &str) -> Result<String, String> {
    let statuses = AffiliateInput::MESSAGE.field("status").map_or(&[][..], |field| field.one_of);
    if text == REPORT || statuses.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected {REPORT} or a status: {}", statuses.join(", ")))
}

/// Sends the rows. `absent` is `report`, or the status that absent affiliates get.
pub(super) async fn send(
    mut batches: Batches<Affiliate>,
    absent: Option<String>,
    dry_run: bool,
    service: &Service,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let (requests, received) = mpsc::channel(1);
    let results = service.rosters().sync_affiliates(ReceiverStream::new(received)).await;
    let mut results = results.map_err(|status| refused(&Error::from(&status)))?.into_inner();
    // The rows of the items, by their positions in the roster.
    let mut rows: Vec<u64> = Vec::new();
    while let Some(batch) = batches.next(recorder).await? {
        rows.extend(batch.iter().map(|(position, _)| position.row));
        let affiliates = batch.iter().map(|(_, affiliate)| affiliate.to_item()).collect();
        let request = SyncAffiliatesRequest { affiliates, validate_only: dry_run, ..SyncAffiliatesRequest::default() };
        // If this fails, the service has ended the stream: its next message says why.
        let _ = requests.send(request).await;
        record(next(&mut results).await?, batch, &rows, recorder);
    }
    // An affiliate of a row that was not sent is in the file.
    let are_all_sent = rows.len() as u64 == recorder.tally.rows;
    let is_absent_wanted = absent.is_some();
    let mut status = absent.filter(|absent| absent != REPORT);
    if status.is_some() && !are_all_sent {
        tracing::warn!("affiliates that the file does not have keep their status, since some rows are not valid");
        status = None;
    }
    if is_absent_wanted {
        recorder.tally.absent = Some(0);
        // Only now is the roster known to be whole.
        let request = SyncAffiliatesRequest {
            report_absent: true,
            absent_status: status.clone(),
            validate_only: dry_run,
            ..SyncAffiliatesRequest::default()
        };
        let _ = requests.send(request).await;
    }
    drop(requests);
    while let Some(message) = next(&mut results).await? {
        *recorder.tally.absent.get_or_insert(0) += message.absent.len() as u64;
        for affiliate in message.absent {
            let before = affiliate.status.as_deref().unwrap_or("none");
            let after = match &status {
                Some(status) if affiliate.changed => format!("{before} becomes {status}"),
                _ => format!("is {before}"),
            };
            let id = affiliate.affiliate_id;
            let reason = format!("The file does not have the affiliate {id}; its status {after}.");
            let error = RowError::new(IDENTIFIER, &affiliate.client_affiliate_id, reason);
            recorder.list(Position { row: 0, line: 0 }, vec![error]);
        }
        recorder.flush().await?;
    }
    Ok(())
}

/// The next response of the service.
async fn next(results: &mut Streaming<SyncAffiliatesResponse>) -> anyhow::Result<Option<SyncAffiliatesResponse>> {
    results.message().await.map_err(|status| refused(&Error::from(&status)))
}

/// Records the results of rows, which the response has.
fn record(
    response: Option<SyncAffiliatesResponse>,
    sent: Vec<(Position, Affiliate)>,
    rows: &[u64],
    recorder: &mut Recorder<'_>,
) {
    for ((position, affiliate), result) in sent.into_iter().zip(response.unwrap_or_default().results) {
        match result.outcome() {
            SyncOutcome::Created => recorder.tally.created += 1,
            SyncOutcome::Updated => recorder.tally.updated += 1,
            SyncOutcome::Unchanged => recorder.tally.skipped += 1,
            SyncOutcome::Refused | SyncOutcome::Unspecified => {
                recorder.reject(position, errors(&affiliate, &result, rows));
            }
        }
    }
}

/// Why a row was refused. Positions in the roster are those of rows here.
fn errors(affiliate: &Affiliate, result: &AffiliateSyncResult, rows: &[u64]) -> Vec<RowError> {
    if !result.violations.is_empty() {
        let violations = result.violations.iter();
        return violations.map(|each| affiliate.error(&each.field, &each.description)).collect();
    }
    // Names are reported as duplicates.
    let is_name = result.code() == ResultCode::Duplicate;
    let field = if is_name { "affiliate_name" } else { IDENTIFIER };
    let rows = result.conflicting_positions.iter().filter_map(|position| rows.get(usize::try_from(*position).ok()?));
    let rows = rows.map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reason = match rows.as_str() {
        "" => result.msg.clone(),
        rows => format!("The rows {rows} have the same {}.", field.replace('_', " ")),
    };
    vec![affiliate.error(field, &reason)]
}

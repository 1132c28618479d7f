//! Sends affiliates as a roster, which the service compares with what the company has.

use compliance_api::{
    error::Error,
    rules::Check as _,
    v1::{
        AffiliateInput, AffiliateSync, AffiliateSyncResult, ResultCode, SyncAffiliatesRequest, SyncAffiliatesResponse,
        SyncOutcome,
    },
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

const IDENTIFIER: &str = "client_affiliate_id";
/// What reports absent affiliates without changing them.
pub(super) const REPORT: &str = "report";

/// What is asked for with the roster.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// `report`, or the status that absent affiliates get.
    pub(super) absent: Option<String>,
    pub(super) dry_run: bool,
}

/// `report` or a status.
pub(super) fn absent(text: &str) -> Result<String, String> {
    let statuses = AffiliateInput::MESSAGE.field("status").map_or(&[][..], |field| field.one_of);
    if text == REPORT || statuses.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected {REPORT} or a status: {}", statuses.join(", ")))
}

/// Rows that were sent and have no result yet.
type Sent = Vec<(Position, Affiliate)>;

pub(super) async fn send(
    mut batches: Batches<Affiliate>,
    options: Options,
    service: &Service,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let (requests, received) = mpsc::channel(1);
    let mut results = service.rosters().sync_affiliates(ReceiverStream::new(received)).await;
    let results = results.as_mut().map_err(|status| refused(&Error::from(&*status)))?.get_mut();
    // The rows of the items, by their positions in the roster.
    let mut rows: Vec<u64> = Vec::new();
    let mut waiting: Option<Sent> = None;
    while let Some(batch) = batches.next(recorder).await? {
        rows.extend(batch.iter().map(|(position, _)| position.row));
        let request = SyncAffiliatesRequest {
            affiliates: batch.iter().map(|(_, affiliate)| item(affiliate)).collect(),
            validate_only: options.dry_run,
            ..SyncAffiliatesRequest::default()
        };
        // The service has ended the stream if this fails, and says why.
        let is_sent = requests.send(request).await.is_ok();
        let before = if is_sent { waiting.replace(batch) } else { waiting.take() };
        if let Some(before) = before {
            record(&mut *results, before, &rows, recorder).await?;
        }
    }
    // An affiliate of a row that was not sent is in the file.
    let are_all_sent = rows.len() as u64 == recorder.tally.rows;
    let status = options.absent.clone().filter(|absent| absent != REPORT && are_all_sent);
    if status.is_none() && options.absent.as_deref().is_some_and(|absent| absent != REPORT) {
        tracing::warn!("affiliates that the file does not have keep their status, since some rows are not valid");
    }
    if options.absent.is_some() {
        // Only now is the roster known to be whole.
        let last = SyncAffiliatesRequest {
            report_absent: true,
            absent_status: status.clone(),
            validate_only: options.dry_run,
            ..SyncAffiliatesRequest::default()
        };
        let _ = requests.send(last).await;
    }
    drop(requests);
    if let Some(last) = waiting {
        record(&mut *results, last, &rows, recorder).await?;
    }
    while let Some(message) = results.message().await.map_err(|status| refused(&Error::from(&status)))? {
        recorder.tally.absent.get_or_insert(0);
        for affiliate in message.absent {
            if let Some(absent) = &mut recorder.tally.absent {
                *absent += 1;
            }
            let before = affiliate.status.as_deref().unwrap_or("none");
            let reason = match &status {
                Some(status) if affiliate.changed => {
                    format!(
                        "The file does not have the affiliate {}; its status {before} becomes {status}.",
                        affiliate.affiliate_id
                    )
                }
                _ => {
                    format!("The file does not have the affiliate {}; its status is {before}.", affiliate.affiliate_id)
                }
            };
            let error = RowError::new(IDENTIFIER, &affiliate.client_affiliate_id, reason);
            recorder.list(Position { row: 0, line: 0 }, vec![error]);
        }
        recorder.flush().await?;
    }
    if options.absent.is_some() {
        recorder.tally.absent.get_or_insert(0);
    }
    Ok(())
}

fn item(affiliate: &Affiliate) -> AffiliateSync {
    AffiliateSync { affiliate: Some(affiliate.input.clone()), update_mask: Some(affiliate.given.to_mask()) }
}

/// Records the results of rows, which are the service's next response.
async fn record(
    results: &mut Streaming<SyncAffiliatesResponse>,
    sent: Sent,
    rows: &[u64],
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let message = results.message().await.map_err(|status| refused(&Error::from(&status)))?;
    for ((position, affiliate), result) in sent.into_iter().zip(message.unwrap_or_default().results) {
        match result.outcome() {
            SyncOutcome::Created => recorder.tally.created += 1,
            SyncOutcome::Updated => recorder.tally.updated += 1,
            SyncOutcome::Unchanged => recorder.tally.skipped += 1,
            SyncOutcome::Refused | SyncOutcome::Unspecified => {
                recorder.reject(position, errors(&affiliate, &result, rows));
            }
        }
    }
    Ok(())
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
    let rows: Vec<String> = result
        .conflicting_positions
        .iter()
        .filter_map(|position| rows.get(usize::try_from(*position).ok()?))
        .map(ToString::to_string)
        .collect();
    let label = field.replace('_', " ");
    let reason = if rows.is_empty() {
        result.msg.clone()
    } else {
        format!("The rows {} have the same {label}.", rows.join(", "))
    };
    vec![affiliate.error(field, &reason)]
}

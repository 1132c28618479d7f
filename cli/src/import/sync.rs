//! Sends affiliates as a roster, which the service compares with the company's affiliates.

use anyhow::bail;
use compliance_api::{
    error::{Error, Reason},
    record::FieldSet,
    rules::Check as _,
    v1::{
        AffiliateInput, AffiliateSync, AffiliateSyncResult, ResultCode, SyncAffiliatesRequest, SyncAffiliatesResponse,
        SyncOutcome,
    },
};
use spreadsheets::{AffiliateRow, RowError};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::{batches::Batches, recorder::Recorder, row::Position};
use crate::service::{Service, refused};

pub(super) const IDENTIFIER: &str = "client_affiliate_id";
/// Error for a roster without rows. Such a file was probably truncated, and would make all affiliates absent.
const NO_ROWS: &str = "the file contains no rows";
/// Value of --absent that reports absent affiliates without changing them.
const REPORT: &str = "report";

/// Parses `report` or a status.
pub(super) fn absent(text: &str) -> Result<String, String> {
    let statuses = AffiliateInput::MESSAGE.field("status").map_or(&[][..], |field| field.one_of);
    if text == REPORT || statuses.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("expected {REPORT} or a status: {}", statuses.join(", ")))
}

/// What to do with affiliates missing from the file.
pub(super) struct Absent {
    is_reported: bool,
    pub(super) status: Option<String>,
    max: Option<i64>,
}

impl Absent {
    /// Creates the settings from `report` or the status for absent affiliates.
    pub(super) fn new(absent: Option<&str>, max: Option<i64>) -> Self {
        let status = absent.filter(|absent| *absent != REPORT).map(str::to_owned);
        Self { is_reported: absent.is_some(), status, max }
    }

    /// Returns a roster's final request.
    fn request(&self, validate_only: bool) -> SyncAffiliatesRequest {
        let (absent_status, max_absent) = (self.status.clone(), self.max);
        SyncAffiliatesRequest { affiliates: Vec::new(), report_absent: true, absent_status, validate_only, max_absent }
    }
}

/// A stream of batches to the service, with its responses.
struct Stream {
    requests: mpsc::Sender<SyncAffiliatesRequest>,
    responses: Streaming<SyncAffiliatesResponse>,
}

impl Stream {
    async fn open(service: &Service) -> anyhow::Result<Self> {
        let (requests, received) = mpsc::channel(1);
        let responses = service.rosters().sync_affiliates(ReceiverStream::new(received)).await;
        Ok(Self { requests, responses: responses.map_err(|status| failed(&status))?.into_inner() })
    }

    /// Sends a batch and returns its results.
    async fn send(&mut self, request: SyncAffiliatesRequest) -> anyhow::Result<Option<SyncAffiliatesResponse>> {
        // This fails if the service has ended the stream. The next message contains the reason.
        let _ = self.requests.send(request).await;
        next(&mut self.responses).await
    }

    /// Sends the final request and returns its responses.
    async fn end(self, request: SyncAffiliatesRequest) -> Streaming<SyncAffiliatesResponse> {
        let _ = self.requests.send(request).await;
        self.responses
    }
}

/// Returns the service's next response.
async fn next(responses: &mut Streaming<SyncAffiliatesResponse>) -> anyhow::Result<Option<SyncAffiliatesResponse>> {
    responses.message().await.map_err(|status| failed(&status))
}

fn failed(status: &Status) -> anyhow::Error {
    let error = Error::from(status);
    match error.reason {
        Reason::FailedPrecondition => {
            refused(&error).context("too many affiliates are absent (raise --max-absent to allow more)")
        }
        _ => refused(&error),
    }
}

/// Returns a roster item with only the identifier, which changes nothing.
fn identified(row: &AffiliateRow) -> AffiliateSync {
    let client_affiliate_id = row.input.client_affiliate_id.clone();
    let affiliate = AffiliateInput { client_affiliate_id, ..AffiliateInput::default() };
    AffiliateSync { affiliate: Some(affiliate), update_mask: None }
}

/// Fails if too many affiliates would get the status. Reads all rows without writing anything.
pub(super) async fn check_absent(
    mut batches: Batches<AffiliateRow>,
    absent: &Absent,
    service: &Service,
) -> anyhow::Result<()> {
    let mut stream = Stream::open(service).await?;
    let (mut are_all_valid, mut rows) = (true, 0);
    while let Some(batch) = batches.next_unrecorded().await? {
        rows += batch.len();
        are_all_valid &= batch.iter().all(|row| row.record.is_ok());
        if are_all_valid {
            let affiliates = batch.iter().filter_map(|row| row.record.as_ref().ok()).map(identified).collect();
            let request = SyncAffiliatesRequest { affiliates, validate_only: true, ..SyncAffiliatesRequest::default() };
            stream.send(request).await?;
        }
    }
    if rows == 0 {
        bail!(NO_ROWS);
    }
    if are_all_valid {
        let mut responses = stream.end(absent.request(true)).await;
        while next(&mut responses).await?.is_some() {}
    }
    Ok(())
}

/// Returns whether each stored affiliate has exactly the values of its row. Writes nothing.
pub(super) async fn stored<'r>(
    service: &Service,
    rows: impl Iterator<Item = &'r AffiliateRow>,
) -> anyhow::Result<Vec<bool>> {
    let every_field = FieldSet::<AffiliateInput>::ALL.to_mask();
    let affiliates =
        rows.map(|row| AffiliateSync { affiliate: Some(row.input.clone()), update_mask: Some(every_field.clone()) });
    let affiliates = affiliates.collect();
    let request = SyncAffiliatesRequest { affiliates, validate_only: true, ..SyncAffiliatesRequest::default() };
    let results = Stream::open(service).await?.send(request).await?.unwrap_or_default().results;
    Ok(results.iter().map(|result| result.outcome() == SyncOutcome::Unchanged).collect())
}

/// Sends the rows, and then the request about absent affiliates.
pub(super) async fn send(
    mut batches: Batches<AffiliateRow>,
    mut absent: Absent,
    dry_run: bool,
    service: &Service,
    recorder: &mut Recorder<'_>,
) -> anyhow::Result<()> {
    let mut stream = Stream::open(service).await?;
    // Row numbers by roster position.
    let mut rows: Vec<u64> = Vec::new();
    while let Some(batch) = batches.next(recorder).await? {
        rows.extend(batch.iter().map(|(position, _)| position.row));
        let affiliates = batch.iter().map(|(_, affiliate)| affiliate.to_item()).collect();
        let request = SyncAffiliatesRequest { affiliates, validate_only: dry_run, ..SyncAffiliatesRequest::default() };
        record(stream.send(request).await?, batch, &rows, recorder);
    }
    if recorder.tally.rows == 0 {
        bail!(NO_ROWS);
    }
    if !absent.is_reported {
        return Ok(());
    }
    recorder.absent_status.clone_from(&absent.status);
    // A seemingly absent affiliate may be in an invalid row.
    if absent.status.is_some() && rows.len() as u64 != recorder.tally.rows {
        tracing::warn!("absent affiliates keep their status, because some rows of the file are invalid");
        absent.status = None;
    }
    // The roster is complete.
    let mut responses = stream.end(absent.request(dry_run)).await;
    while let Some(message) = next(&mut responses).await? {
        for affiliate in message.absent {
            recorder.count_absent(1, u64::from(affiliate.changed));
            let before = affiliate.status.as_deref().unwrap_or("none");
            let after = match &absent.status {
                Some(status) if affiliate.changed => format!("changes from {before} to {status}"),
                _ => format!("is {before}"),
            };
            let id = affiliate.affiliate_id;
            let reason = format!("The file does not contain affiliate {id}; its status {after}.");
            let error = RowError::new(IDENTIFIER, &affiliate.client_affiliate_id, reason);
            recorder.list(Position { row: 0, line: 0 }, vec![error]);
        }
        recorder.flush().await?;
    }
    // Show the count even if it is 0.
    recorder.count_absent(0, 0);
    Ok(())
}

/// Records the results of rows.
fn record(
    response: Option<SyncAffiliatesResponse>,
    sent: Vec<(Position, AffiliateRow)>,
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

/// Returns a row's errors. `rows` contains the row number for each roster position.
fn errors(affiliate: &AffiliateRow, result: &AffiliateSyncResult, rows: &[u64]) -> Vec<RowError> {
    if !result.violations.is_empty() {
        let violations = result.violations.iter();
        return violations.map(|each| affiliate.error(&each.field, &each.description)).collect();
    }
    // Only names can be duplicates.
    let is_name = result.code() == ResultCode::Duplicate;
    let field = if is_name { "affiliate_name" } else { IDENTIFIER };
    let rows = result.conflicting_positions.iter().filter_map(|position| rows.get(usize::try_from(*position).ok()?));
    let rows = rows.map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let reason = match rows.as_str() {
        "" => result.msg.clone(),
        rows => format!("Rows {rows} have the same {}.", field.replace('_', " ")),
    };
    vec![affiliate.error(field, &reason)]
}

//! Coalesces single reads from all callers into a few calls to the core. A lone read is an ordinary call.

use std::{error::Error as _, time::Duration};

use batcher::{BatchError, BatchLimits, Batcher, Pending, RunBatch};
use compliance_api::{
    batch_read::{ReadRecords, Reading, Readings},
    error::Error,
    v1::{
        BatchReadRequest, Read, batch_read_response::Result as Outcome, read::Operation,
        read_service_client::ReadServiceClient,
    },
};
use futures::StreamExt as _;
use http::{HeaderMap, header::AUTHORIZATION};
use indexmap::IndexSet;
use metrics::gauge;
use telemetry::metrics::on_render;
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status};

use super::channel::CoreChannel;
use crate::limits::{CORE_DEADLINE_SLACK, MAX_QUEUED_READS, READ_BATCHES_WHEN_SLOW, READ_SLOW_AFTER};

type ReadResult = Result<Response<Outcome>, Status>;

/// Sends concurrent reads from all callers in batches. Each read has its own token, request ID and result.
pub(super) struct CoalescedReads {
    batcher: Batcher<Batches>,
    readings: Readings,
}

impl CoalescedReads {
    /// Creates batched reads over a channel. `timeout` limits each batch.
    pub(super) fn new(channel: CoreChannel, max_message_size: usize, timeout: Duration) -> Self {
        let client = ReadServiceClient::new(channel).max_decoding_message_size(max_message_size);
        let limits = BatchLimits {
            slow_after: READ_SLOW_AFTER,
            ..BatchLimits::for_this_machine(READ_BATCHES_WHEN_SLOW, MAX_QUEUED_READS)
        };
        let reads = Batcher::new(Batches { client, timeout: timeout + CORE_DEADLINE_SLACK }, limits);
        let length = reads.queue_length();
        let queue = gauge!("compliance_gateway_queue_length", "queue" => "single reads");
        on_render(queue, move || Some(length()? as f64));
        Self { batcher: reads, readings: Readings::default() }
    }
}

#[tonic::async_trait]
impl ReadRecords for CoalescedReads {
    fn begin(&self) -> Reading {
        self.readings.begin()
    }

    async fn read(&self, request: Request<Operation>) -> ReadResult {
        self.batcher.call(request).await.unwrap_or_else(|error| {
            Err(match error {
                BatchError::QueueFull => Error::overloaded().into(),
                BatchError::Closed => Error::internal().into(),
            })
        })
    }
}

struct Batches {
    client: ReadServiceClient<CoreChannel>,
    timeout: Duration,
}

impl RunBatch for Batches {
    type Request = Request<Operation>;
    type Response = ReadResult;

    async fn run(&self, batch: Vec<Pending<Request<Operation>, ReadResult>>) {
        let deadline = Instant::now() + self.timeout;
        let mut batch = batch;
        for attempt in 1.. {
            let message = message(&batch);
            let mut waiting: Vec<_> = batch.into_iter().map(Some).collect();
            let ended = timeout_at(deadline, self.read_batch(message, &mut waiting)).await;
            batch = waiting.into_iter().flatten().collect();
            let status = match ended {
                // The connection broke between two results. Reads are safe to retry.
                Ok(Err(status)) if status.source().is_some() && attempt == 1 && !batch.is_empty() => continue,
                Ok(Err(status)) => status,
                // The core ended the stream before it responded to every read.
                Ok(Ok(())) => Error::internal().into(),
                Err(_) => Error::deadline_exceeded().into(),
            };
            for pending in batch {
                pending.respond(Err(status.clone()));
            }
            return;
        }
    }
}

impl Batches {
    /// Responds to each read when its result arrives, and removes the read from `waiting`.
    async fn read_batch(
        &self,
        message: BatchReadRequest,
        waiting: &mut [Option<Pending<Request<Operation>, ReadResult>>],
    ) -> Result<(), Status> {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        let responses = self.client.clone().batch_read(request).await?.into_inner();
        // Decode all available results before waking the first caller. Otherwise, the other processors would become idle between wakeups.
        let mut responses = responses.ready_chunks(waiting.len().max(1));
        while let Some(ready) = responses.next().await {
            for response in ready {
                let response = response?;
                if let Some(pending) = waiting.get_mut(response.read as usize).and_then(Option::take) {
                    pending.respond(response.into_result());
                }
            }
        }
        Ok(())
    }
}

/// Returns the message for a batch. It contains each token only once.
fn message(batch: &[Pending<Request<Operation>, ReadResult>]) -> BatchReadRequest {
    let mut tokens = IndexSet::new();
    let reads = batch.iter().map(|Pending { request, .. }| {
        let headers: &HeaderMap = request.metadata().as_ref();
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Read::new(tokens.insert_full(token).0 as u32, request)
    });
    let reads = reads.collect();
    BatchReadRequest { authorizations: tokens.into_iter().map(str::to_owned).collect(), reads }
}

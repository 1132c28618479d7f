//! Receives network requests and measures their messages before decoding.

use admission::{MEMORY_WAIT, Reservation, SMALL};
use bytes::{Bytes, BytesMut};
use compliance_api::{
    batch_read::MAX_READS,
    error::{Error, Reason},
    wire::{Measure, Operation, measure},
};
use futures::stream;
use http_body::{Body as HttpBody, Frame};
use http_body_util::{BodyExt as _, Full, StreamBody};
use prost::encoding::{WireType, decode_key, decode_varint};
use tonic::{Code, Status, body::Body};

use super::{
    pipeline::{MessageLimits, Pipeline},
    protocol::malformed,
};

/// Maximum sizes of a batch of reads.
const BATCH_READ: MessageLimits = MessageLimits { encoded: 4 << 20, decoded: 8 << 20 };

/// Size of a message header (flag and length), in bytes.
const HEADER: usize = 5;

/// Receives a request. Returns its body, its size, and the memory that it holds until the response is sent.
///
/// Reads a single message in full. Stream messages are measured one by one as the service reads them.
pub(super) async fn receive<B>(
    pipeline: &Pipeline,
    operation: &'static Operation,
    body: B,
    company: Option<i64>,
) -> Result<(Body, Measure, Reservation), Status>
where
    B: HttpBody<Data = Bytes, Error: Into<tonic::codegen::StdError>> + Send + Unpin + 'static,
{
    let is_batch_read = operation.path == Operation::BATCH_READ.path;
    let limits = if is_batch_read { BATCH_READ } else { pipeline.message_limits() };
    let memory = pipeline.quotas().memory.reservation(company);
    let (pipeline, buffer) = (pipeline.clone(), BytesMut::new());
    let mut messages = Messages { pipeline, operation, body, buffer, limits, memory };
    if operation.streams {
        let memory = messages.memory.empty();
        let messages = stream::try_unfold(messages, move |mut messages| async move {
            // The service reads the next message only after it has saved the previous one.
            messages.memory = messages.memory.empty();
            let next = messages.next().await?;
            if let (Some((_, measure)), Some(company)) = (&next, company) {
                messages.pipeline.quotas().usage.wrote(company, measure.items);
            }
            Ok::<_, Status>(next.map(|(message, _)| (Frame::data(message), messages)))
        });
        let body = StreamBody::new(Box::pin(messages));
        return Ok((Body::new(body), Measure::default(), memory));
    }
    let Some((message, measure)) = messages.next().await? else {
        return Err(malformed("The request has no message body.").into());
    };
    messages.end().await?;
    Ok((Body::new(Full::new(message)), measure, messages.memory))
}

struct Messages<B> {
    pipeline: Pipeline,
    operation: &'static Operation,
    body: B,
    buffer: BytesMut,
    limits: MessageLimits,
    memory: Reservation,
}

impl<B: HttpBody<Data = Bytes, Error: Into<tonic::codegen::StdError>> + Unpin> Messages<B> {
    /// Returns the next message, with its header.
    async fn next(&mut self) -> Result<Option<(Bytes, Measure)>, Status> {
        loop {
            if let Some(length) = self.length()?
                && self.buffer.len() >= length
            {
                let message = self.buffer.split_to(length).freeze();
                let measure = self.measure(&message).await?;
                return Ok(Some((message, measure)));
            }
            let Some(frame) = self.body.frame().await else { break };
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                // Small messages arrive whole and need no copy.
                if self.buffer.is_empty() {
                    self.buffer = data.into();
                } else {
                    self.buffer.extend_from_slice(&data);
                }
                if self.buffer.len() > SMALL {
                    let arrived = std::mem::take(&mut self.buffer);
                    let reserved = self.grow_to(arrived.len(), &arrived);
                    self.buffer = arrived;
                    reserved?;
                }
            }
        }
        if self.buffer.is_empty() { Ok(None) } else { Err(malformed("The request's message is incomplete.").into()) }
    }

    /// Rejects data after the message. Most requests end with their message and do not wait here.
    async fn end(&mut self) -> Result<(), Status> {
        loop {
            if !self.buffer.is_empty() {
                return Err(malformed("The request contains more than one message.").into());
            }
            if self.body.is_end_stream() {
                return Ok(());
            }
            let Some(frame) = self.body.frame().await else { return Ok(()) };
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                self.buffer = data.into();
            }
        }
    }

    /// Returns the length of the next message with its header, once the header has arrived.
    fn length(&mut self) -> Result<Option<usize>, Error> {
        let Some(&[flag, a, b, c, d]) = self.buffer.first_chunk::<HEADER>() else { return Ok(None) };
        if flag > 0 {
            return Err(malformed("The request's message must not be compressed."));
        }
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > self.limits.encoded {
            let message = format!("The request's message exceeds {} bytes.", self.limits.encoded);
            return Err(Error::new(Reason::BodyTooLarge, message));
        }
        Ok(Some(HEADER + length))
    }

    async fn measure(&mut self, message: &Bytes) -> Result<Measure, Error> {
        let scan = || measure(self.operation.request, &message[HEADER..], self.limits.decoded);
        let measure = admission::compute(message.len(), scan)?;
        // The transport holds a copy of the message while decoding it, and growing lists are copied.
        let bytes = message.len() * 2 + measure.bytes + measure.bytes / 2;
        if bytes > SMALL
            && let Err(error) = self.grow_to(bytes, message)
        {
            if error.reason == Reason::BodyTooLarge {
                return Err(error);
            }
            self.memory.wait_to_grow(bytes, MEMORY_WAIT).await?;
        }
        Ok(measure)
    }

    /// Reserves `bytes` in total for a message that has partly arrived.
    ///
    /// Anyone can exhaust the memory for requests without a company. A batch of reads then uses the memory of a company for which it
    /// contains a valid token.
    fn grow_to(&mut self, bytes: usize, arrived: &[u8]) -> Result<(), Error> {
        let Err(limit) = self.memory.grow_to(bytes) else { return Ok(()) };
        if self.operation.path != Operation::BATCH_READ.path && !self.memory.can_reach(bytes) {
            // Retrying cannot help.
            return Err(Error::body_too_large());
        }
        if self.operation.path == Operation::BATCH_READ.path {
            let reserved = || self.companies(arrived).find_map(|company| self.reserved_by(company, bytes));
            self.memory = admission::compute(arrived.len(), reserved).ok_or(limit)?;
            return Ok(());
        }
        Err(limit.into())
    }

    fn reserved_by(&self, company: i64, bytes: usize) -> Option<Reservation> {
        let mut memory = self.pipeline.quotas().memory.reservation(Some(company));
        memory.grow(bytes).is_ok().then_some(memory)
    }

    /// Returns the companies of a batch's valid tokens. Verifies at most one signature, as for any other call.
    fn companies(&self, arrived: &[u8]) -> impl Iterator<Item = i64> {
        let access = self.pipeline.access();
        let tokens = authorizations(arrived.get(HEADER..).unwrap_or_default()).take(MAX_READS).enumerate();
        let verified = move |(index, token): (usize, &str)| match index {
            0 => Some(access.verify(token)),
            _ => access.verify_cached(token),
        };
        tokens.filter_map(verified).filter_map(|token| Some(token.ok()?.company_id))
    }
}

/// Returns the `authorization` values at the start of an encoded batch of reads, as far as they have arrived.
fn authorizations(mut message: &[u8]) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (1, WireType::LengthDelimited) = decode_key(&mut message).ok()? else { return None };
        let length = decode_varint(&mut message).ok()?;
        let (value, rest) = message.split_at_checked(usize::try_from(length).ok()?)?;
        message = rest;
        std::str::from_utf8(value).ok()
    })
}

/// Returns the status for a request whose body did not arrive. A client that has cancelled its call does not read the status.
fn broken(error: impl Into<tonic::codegen::StdError>) -> Status {
    let status = Status::from_error(error.into());
    if status.code() == Code::Cancelled { status } else { malformed("The request's message is incomplete.").into() }
}

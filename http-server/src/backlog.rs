//! The end of a listener: no connection that a client believes to be open is lost.
//!
//! The system completes connections by itself and queues them, and it resets what is queued when the listener closes. Linux
//! can leave new ones to the next process instead; elsewhere, those that begin while the listener closes may be reset.

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "compiled for Linux alone")]
mod linux;

#[cfg(target_os = "linux")]
pub(crate) use linux::refuse_new_connections;

/// Would let no new connection begin; this system cannot.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_new_connections(_: &tokio::net::TcpListener) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

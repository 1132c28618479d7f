//! Records port metrics. Records nothing without a metrics recorder.

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use tls::Failure;

const INSECURE: &str = "compliance_tls_failures_total";

/// A port's metrics. Clones share them.
#[derive(Clone)]
pub(crate) struct Traffic {
    open: Gauge,
    pub(crate) received: Counter,
    pub(crate) sent: Counter,
    port: &'static str,
}

/// Counts a connection as open until it is dropped.
pub(crate) struct Open(Gauge);

impl Traffic {
    pub(crate) fn of(port: &'static str) -> Self {
        describe_gauge!("compliance_connections_open", "Open client connections, by port.");
        describe_counter!("compliance_received_bytes_total", "Bytes received from clients, by port.");
        describe_counter!("compliance_sent_bytes_total", "Bytes sent to clients, by port.");
        Self {
            open: gauge!("compliance_connections_open", "port" => port),
            received: counter!("compliance_received_bytes_total", "port" => port),
            sent: counter!("compliance_sent_bytes_total", "port" => port),
            port,
        }
    }

    /// Initializes this port's failure counters to 0.
    pub(crate) fn describe_insecure(&self, has_certificate: bool) {
        describe_counter!(INSECURE, "Failed TLS handshakes, by reason.");
        for failure in Failure::ALL.iter().filter(|failure| (**failure != Failure::PeerSpeaksTls) == has_certificate) {
            counter!(INSECURE, "port" => self.port, "reason" => failure.label()).increment(0);
        }
    }

    pub(crate) fn count_insecure(&self, failure: Failure) {
        counter!(INSECURE, "port" => self.port, "reason" => failure.label()).increment(1);
    }

    pub(crate) fn open(&self) -> Open {
        self.open.increment(1);
        Open(self.open.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

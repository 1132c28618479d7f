//! `grpc.health.v1`: serving means that the database answers.

use crate::database::{self, Connections};
use tonic_health::{ServingStatus, server::HealthReporter};

/// Keeps the health of the service as a whole (the empty name) up to date until the task is dropped.
pub(crate) async fn watch(connections: Connections, reporter: HealthReporter) {
    tokio::join!(database::probe(connections.clone()), report(connections, reporter));
}

async fn report(connections: Connections, reporter: HealthReporter) {
    let mut availability = connections.availability().subscribe();
    loop {
        let answers = *availability.borrow_and_update();
        let status = if answers { ServingStatus::Serving } else { ServingStatus::NotServing };
        reporter.set_service_status("", status).await;
        if availability.changed().await.is_err() {
            return;
        }
    }
}

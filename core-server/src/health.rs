//! `grpc.health.v1`: serving means that the database responds.

use std::{collections::BTreeSet, sync::Arc};
use storage::database::Connections;

use compliance_api::wire::Operation;
use telemetry::background::Task;
use tonic_health::{ServingStatus, server::HealthReporter};

/// Keeps the health of every service, and of all as a whole (the empty name), up to date until the task is dropped.
pub(crate) async fn watch(connections: Connections, reporter: HealthReporter, task: Arc<Task>) {
    let mut database = connections.responds();
    loop {
        let responds = *database.borrow_and_update();
        let status = if responds { ServingStatus::Serving } else { ServingStatus::NotServing };
        for service in services() {
            reporter.set_service_status(service, status).await;
        }
        task.succeeded();
        if database.changed().await.is_err() {
            return;
        }
    }
}

/// The names under which health is reported: all services depend on the same database.
pub(crate) fn services() -> BTreeSet<&'static str> {
    let name = |operation: &'static Operation| operation.path.trim_start_matches('/').split('/').next();
    Operation::ALL.iter().filter_map(name).chain([""]).collect()
}

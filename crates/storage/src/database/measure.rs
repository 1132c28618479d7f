//! Connection metrics, measured when metrics are rendered.

use std::sync::Arc;

use metrics::{describe_gauge, gauge};
use telemetry::metrics::on_render;

use super::{connections::Connections, pool::Pool};
use crate::metrics::describe_counts;

/// Measures a service's connections until they are dropped.
pub fn measure(connections: &Connections) {
    let measure = |measure: fn(&Pool) -> usize| {
        let pool = Arc::downgrade(&connections.pool);
        move || Some(measure(&*pool.upgrade()?) as f64)
    };
    describe_counts();
    describe_gauge!("compliance_database_connections", "Database connections, in use by a statement or idle.");
    describe_gauge!("compliance_core_queue_length", "Calls waiting for a statement, by queue.");
    let name = "compliance_database_connections_max";
    describe_gauge!(name, "Maximum number of connections to the database.");
    gauge!(name).set(f64::from(connections.most()));
    let name = "compliance_database_up";
    describe_gauge!(name, "Whether the database responds: 1 if it does.");
    on_render(gauge!(name), measure(|pool| usize::from(pool.responds())));
    let name = "compliance_database_connections";
    on_render(gauge!(name, "state" => "in_use"), measure(Pool::in_use));
    on_render(gauge!(name, "state" => "idle"), measure(Pool::idle_count));
}

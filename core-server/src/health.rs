//! `grpc.health.v1`: serving means that the database responds.

use std::time::Duration;

use crate::database::Connections;
use tonic_health::{ServingStatus, server::HealthReporter};

/// How often the database is checked.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long a check may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Keeps the health of the service as a whole (the empty name) up to date until the task is dropped.
pub(crate) async fn watch(pool: Connections, reporter: HealthReporter) {
    let mut serving = None;
    loop {
        let answer = tokio::time::timeout(TIMEOUT, sqlx::query("select 1").execute(&pool)).await;
        let answers = matches!(answer, Ok(Ok(_)));
        if serving != Some(answers) {
            if serving.is_some() && answers {
                tracing::info!("the database responds again");
            } else if !answers {
                tracing::warn!("the database does not respond");
            }
            let status = if answers { ServingStatus::Serving } else { ServingStatus::NotServing };
            reporter.set_service_status("", status).await;
            serving = Some(answers);
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

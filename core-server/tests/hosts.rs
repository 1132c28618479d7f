//! A database with several hosts.

use core_server::{Core, CoreSettings, database};
use embedded_postgres::SERVICE_ROLE;
use test_support::{Proxy, TestCore, fresh_database, verifier, wait_until};

/// If the process did not know the timeline, it could move back to a former primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_timeline_is_requested_until_it_is_known() {
    let created = fresh_database().await;
    let name = created.options.get_database().unwrap().to_owned();
    // Grants the role its rights.
    let _first = TestCore::over(created.options, 4).await;
    let proxy = Proxy::postgresql(created.socket);
    proxy.lose_answers_to("pg_control_system", 3);
    let folder = proxy.folder().to_str().unwrap().replace('/', "%2F");
    // Nothing listens on the other host.
    let url = format!("postgres://{SERVICE_ROLE}@{folder},127.0.0.1:1/{name}");
    let opened = database::open(database::target(&url).unwrap(), 4).await.unwrap();
    let _core = Core::new(&opened, verifier().await, &CoreSettings::default()).await.unwrap();
    tokio::task::spawn_blocking(move || {
        wait_until("the timeline is asked for again", || proxy.has_lost_answer());
    })
    .await
    .unwrap();
}

//! Checks that only the owner sets the change retention, and that no process drops changes that another process must keep.

use nix::sys::signal::Signal;

use crate::{
    common::{DataDir, Service, output, start},
    programs::Programs,
};
use embedded_postgres::{Cluster, OWNER_ROLE};
use sqlx::{Connection as _, PgConnection};

const DAYS: &str = "select days::bigint from change_retention";

#[test]
fn startup_rejects_retention_exceeding_database_setting() {
    let programs = Programs::new();
    assert_eq!(programs.number(DAYS), 90);
    for mut command in [programs.core(&["--change-retention", "3650"]), programs.serve(&["--change-retention", "91"])] {
        let (status, _, log) = output(&mut command);
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains("compliance migrate --change-retention"), "{log}");
    }
    let (status, _, log) = output(&mut programs.migrate(&["--change-retention", "3650"]));
    assert!(status.success(), "{log}");
    // Without the setting, the current value stays in effect.
    assert!(output(&mut programs.migrate(&[])).0.success());
    assert_eq!(programs.number(DAYS), 3650);
    let longest = Service::start_as(&mut programs.core(&["--change-retention", "3650"]));
    let shorter = Service::start_as(&mut programs.core(&["--change-retention", "30"]));
    assert_eq!(programs.number(DAYS), 3650);
    for (core, is_shorter) in [(longest, false), (shorter, true)] {
        core.signal(Signal::SIGTERM);
        let (status, log) = core.end_with_log();
        assert_eq!(status.code(), Some(0));
        assert_eq!(log.contains("the database keeps changes for longer than --change-retention"), is_shorter, "{log}");
    }
}

#[test]
fn only_serve_sets_private_database_retention() {
    let data = DataDir::new();
    let days = || {
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let endpoint = Cluster::connect_running(data.path()).await.unwrap().unwrap();
            let mut connection = PgConnection::connect(&endpoint.url(OWNER_ROLE, "compliance")).await.unwrap();
            sqlx::query_scalar::<_, i64>(DAYS).fetch_one(&mut connection).await.unwrap()
        })
    };
    for (arguments, expected) in [(&["serve", "--change-retention", "365"][..], 365), (&["serve"], 365)] {
        let service = start(&data, arguments);
        assert_eq!(days(), expected);
        let export = output(crate::common::compliance(&data).args(["export", "affiliates", "--company", "7"]));
        assert!(export.0.success(), "{}", export.2);
        assert_eq!(days(), expected);
        service.signal(Signal::SIGTERM);
        assert_eq!(service.end().code(), Some(0));
    }
}

//! Tests commands on a database outside the data folder: `migrate`, `serve --database-url` and `doctor`.

use crate::common::{DataDir, Service, compliance, output, token};
use embedded_postgres::{ADMIN_ROLE, ClusterOptions, OWNER_ROLE, SERVICE_ROLE};
use nix::sys::signal::Signal;
use sqlx::Connection as _;
use test_support::TestCluster;

#[tokio::test(flavor = "multi_thread")]
async fn external_database_is_migrated_and_served() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("given").await.unwrap();
    let url = cluster.endpoint.url(OWNER_ROLE, "given");
    let data = DataDir::new();
    tokio::task::spawn_blocking(move || {
        for _ in 0..2 {
            let (status, stdout, log) = output(compliance(&data).args(["migrate", "--database-url", &url]));
            assert!(status.success() && stdout.is_empty(), "{log}");
        }
        let service = Service::start_as(compliance(&data).arg("serve").env("DATABASE_URL", &url));
        let token = token(&data, 7);
        let body = r#"{"urls": [{"url": "https://example.org/"}]}"#;
        assert_eq!(service.request("POST", "/api/urls", &token, body).0, 201);
        service.signal(Signal::SIGTERM);
        assert_eq!(service.end().code(), Some(0));
        // The data folder contains only the secret.
        assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 1);
    })
    .await
    .unwrap();
    cluster.stop().await;
}

/// The owner migrates, and another role serves requests. The owner's `doctor` repairs manual damage.
#[tokio::test(flavor = "multi_thread")]
async fn service_role_serves_and_owner_repairs() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("given").await.unwrap();
    let url = cluster.endpoint.url(OWNER_ROLE, "given");
    let service_url = url.replacen("//compliance@", &format!("//{SERVICE_ROLE}@"), 1);
    let data = DataDir::new();
    let (data, owner) = tokio::task::spawn_blocking(move || {
        let migrate =
            |role: &str| output(compliance(&data).args(["migrate", "--database-url", &url, "--service-role", role]));
        for (role, text) in [("nobody-has-this-name", "create role"), (OWNER_ROLE, "needs no grant")] {
            let (status, _, log) = migrate(role);
            assert!(status.code() == Some(2) && log.contains(text), "{log}");
        }
        let mut core = compliance(&data);
        core.arg("core").env("DATABASE_URL", &url).env("COMPLIANCE_JWT_SECRET", "0123456789abcdef0123456789abcdef");
        let (_, _, log) = output(&mut core);
        assert!(log.contains("steps are missing") && log.contains("--service-role ROLE"), "{log}");
        // The wrong role has created nothing.
        let counts: Vec<_> = log.split_once("not up to date (").unwrap().1.split(' ').collect();
        assert_eq!(counts[0], counts[2], "{log}");
        let (status, _, log) = migrate(SERVICE_ROLE);
        assert!(status.success(), "{log}");
        let administrator = url.replacen("//compliance@", &format!("//{ADMIN_ROLE}@"), 1);
        let migrate = ["migrate", "--database-url", &administrator, "--service-role", SERVICE_ROLE];
        let (status, _, log) = output(compliance(&data).args(migrate));
        assert!(status.code() == Some(2) && log.contains("a superuser, but compliance owns"), "{log}");
        let service = Service::start_as(compliance(&data).arg("serve").env("DATABASE_URL", &service_url));
        let token = token(&data, 7);
        let body = r#"{"urls": [{"url": "https://example.org/"}]}"#;
        assert_eq!(service.request("POST", "/api/urls", &token, body).0, 201);
        service.signal(Signal::SIGTERM);
        assert_eq!(service.end().code(), Some(0));
        // The service role cannot erase the record of changes, so the command erases nothing.
        let erase = ["erase", "--company", "7", "--yes", "--database-url", &service_url];
        let (status, _, log) = output(compliance(&data).args(erase));
        assert!(status.code() == Some(1) && log.contains("only the owner of the tables can erase a company"), "{log}");
        (data, url)
    })
    .await
    .unwrap();
    let mut connection = sqlx::PgConnection::connect(&owner).await.unwrap();
    sqlx::query("truncate compliance_url_counts").execute(&mut connection).await.unwrap();
    tokio::task::spawn_blocking(move || {
        let doctor = |flags: &[&str]| {
            let (status, printed, log) =
                output(compliance(&data).args(["doctor", "--database-url", &owner]).args(flags));
            (status.code(), printed, log)
        };
        let (status, printed, log) = doctor(&["--counts"]);
        assert!(status == Some(3) && printed.contains("company 7: 6 counts of compliance_urls"), "{printed}{log}");
        assert_eq!(doctor(&["--counts", "--repair"]).0, Some(0));
        let (status, printed, log) = doctor(&["--counts"]);
        assert!(status == Some(0) && printed == "no problems found\n", "{printed}{log}");
        assert_eq!(doctor(&["--repair"]).0, Some(2), "--repair needs --counts");
    })
    .await
    .unwrap();
    cluster.stop().await;
}

/// Checks that each command that uses the schema rejects this database, with these texts.
async fn assert_rejected(url: &str, texts: [String; 2]) {
    let url = url.to_owned();
    let check = move || {
        let data = DataDir::new();
        for command in [&["migrate"][..], &["serve"], &["core", "--migrate"], &["core"]] {
            let mut program = compliance(&data);
            program.args(command).args(["--database-url", &url]);
            let (status, _, log) = output(program.env("COMPLIANCE_JWT_SECRET", "0123456789abcdef0123456789abcdef"));
            assert_eq!(status.code(), Some(2), "{command:?}: {log}");
            for text in &texts {
                assert!(log.contains(text), "{command:?}: {log}");
            }
        }
    };
    tokio::task::spawn_blocking(check).await.unwrap();
}

/// The service creates nothing in another program's database, or after a failed restore.
#[tokio::test(flavor = "multi_thread")]
async fn other_programs_databases_are_rejected() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("shop").await.unwrap();
    let url = cluster.endpoint.url(OWNER_ROLE, "shop");
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    let history = "create table _sqlx_migrations (version bigint, checksum bytea, success boolean);
        insert into _sqlx_migrations values (1, '', true)";
    for (others, table) in [("create table orders (id integer)", "orders"), (history, "_sqlx_migrations")] {
        sqlx::raw_sql(others).execute(&mut connection).await.unwrap();
        let expected = format!("the database shop already contains the table {table}");
        assert_rejected(&url, [expected, "a database of its own".to_owned()]).await;
        let tables = "select array_agg(relname::text order by relname) from pg_class
            where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_one(&mut connection).await.unwrap();
        assert_eq!(tables.first().unwrap(), table);
        assert_eq!(tables.last().unwrap(), "orders");
        assert!(tables.len() <= 2, "{tables:?}");
    }
    connection.close().await.unwrap();
    cluster.stop().await;
}

/// Every command that detects migrations edited after they ran suggests a solution.
#[tokio::test(flavor = "multi_thread")]
async fn modified_migrations_are_rejected_with_advice() {
    let cluster = TestCluster::start(ClusterOptions::temporary()).await;
    cluster.endpoint.create_database("given").await.unwrap();
    let url = cluster.endpoint.url(OWNER_ROLE, "given");
    let modify = "update _sqlx_migrations set checksum = '\\x00' where version = 20261126000001";
    let forget = "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)";
    let url = tokio::task::spawn_blocking(move || {
        let (status, _, log) = output(compliance(&DataDir::new()).args(["migrate", "--database-url", &url]));
        assert!(status.success(), "{log}");
        url
    })
    .await
    .unwrap();
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    // The second statement also removes a migration.
    for statement in [modify, forget] {
        sqlx::query(statement).execute(&mut connection).await.unwrap();
        assert_rejected(&url, ["20261126000001 (changes)", "`compliance export`"].map(str::to_owned)).await;
        let url = url.clone();
        tokio::task::spawn_blocking(move || {
            let data = DataDir::new();
            let (status, printed, _) = output(compliance(&data).args(["doctor", "--database-url", &url]));
            let schema =
                printed.lines().skip_while(|line| !line.contains("schema")).take(2).collect::<Vec<_>>().join("\n");
            assert!(status.code() == Some(3) && schema.contains("20261126000001"), "{printed}");
            assert!(schema.contains("`compliance export`") && !schema.contains("compliance migrate"), "{printed}");
        })
        .await
        .unwrap();
    }
    connection.close().await.unwrap();
    cluster.stop().await;
}

//! Loads and stores the dumps in `released/`, and their versions' responses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use embedded_postgres::{Installation, OWNER_ROLE};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use test_support::{TestDatabase, fresh_database, output};

use super::answers::Answers;

/// Maximum file size, in bytes.
const SIZE: u64 = 400_000;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/upgrade/released");

fn file(version: &str, kind: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{version}.{kind}"))
}

/// Returns the versions that have dumps.
pub(super) fn versions() -> Vec<String> {
    let names = fs::read_dir(FOLDER).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut versions: Vec<String> = names.filter_map(|name| Some(name.strip_suffix(".sql")?.to_owned())).collect();
    versions.sort();
    versions
}

/// Returns a version's stored responses.
pub(super) fn answers(version: &str) -> Answers {
    Answers(serde_json::from_slice(&fs::read(file(version, "json")).unwrap()).unwrap())
}

/// Loads a dump into a new database. The service does not notice a restore.
pub(super) async fn load(version: &str) -> TestDatabase {
    let database = fresh_database().await;
    let dump = fs::read_to_string(file(version, "sql")).unwrap();
    // Lines that begin with a backslash are for `psql`, not for the server.
    let statements: Vec<&str> = dump.lines().filter(|line| !line.starts_with('\\')).collect();
    // Without this statement, the service would notice a restore.
    let same = "do $$ begin
        if to_regclass('public.database_identity') is not null then
            update public.database_identity set identity = public.current_identity();
        end if;
    end $$";
    for statements in ["drop schema public cascade; create schema public", &statements.join("\n"), same] {
        // Each part uses its own connection, because a dump changes its connection's settings.
        let mut owner = database.options.clone().connect().await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut owner).await.unwrap();
        owner.close().await.unwrap();
    }
    database
}

/// Stores a version's dump and responses.
pub(super) async fn write(version: &str, database: &TestDatabase, answers: &Answers) {
    let programs = Installation::find(None).await.unwrap();
    let mut dump = Command::new(programs.program("pg_dump"));
    dump.arg("-h").arg(database.socket.parent().unwrap()).args(["-U", OWNER_ROLE, "-d"]);
    dump.arg(database.options.get_database().unwrap());
    dump.args(["--no-owner", "--rows-per-insert=100"]).env_clear();
    let (status, sql, log) = tokio::task::spawn_blocking(move || output(&mut dump)).await.unwrap();
    assert!(status.success(), "{log}");
    fs::write(file(version, "sql"), sql).unwrap();
    fs::write(file(version, "json"), serde_json::to_vec(&answers.0).unwrap()).unwrap();
    for kind in ["sql", "json"] {
        let file = file(version, kind);
        assert!(fs::metadata(&file).unwrap().len() < SIZE, "{} exceeds {SIZE} bytes", file.display());
    }
}

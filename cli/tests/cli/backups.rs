//! Runs the backup page's commands as written.

use std::{
    fs,
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Command, ExitStatus},
};

use embedded_postgres::Installation;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::common::{DataDir, Service, output, program, start, token, wait_until};

const PAGE: &str = include_str!("../../../docs/operations/backup-and-restore.md");
/// Data folder named on the page.
const FOLDER: &str = "/var/lib/compliance";

/// The page's command that removes an unfinished restore.
const DROP: &str = "dropdb -h /var/lib/compliance/postgres -U postgres compliance_restoring";

/// The commands' working folder and data folder.
struct Shell {
    data: DataDir,
    folder: DataDir,
    path: String,
}

impl Shell {
    fn new() -> Self {
        let (data, folder) = (DataDir::new(), DataDir::new());
        fs::create_dir_all(folder.path()).unwrap();
        symlink(program(), folder.path().join("compliance")).unwrap();
        let programs: PathBuf = Runtime::new().unwrap().block_on(Installation::find(None)).unwrap().bin_dir;
        let path = format!("{}:{}:/usr/bin:/bin", folder.path().display(), programs.display());
        Self { data, folder, path }
    }

    /// Runs a block from the page, or a command in its text. Like an interactive shell, continues after a failed command.
    fn run(&self, name: &str) -> (ExitStatus, String, String) {
        let begin = format!("```sh {name}\n");
        let block = PAGE.split_once(&begin).map(|(_, block)| block.split("```").next().unwrap());
        let block = block.or_else(|| PAGE.contains(&format!("`{name}`")).then_some(name));
        let block = block.unwrap_or_else(|| panic!("the page does not contain {name}"));
        let block = block.replace(FOLDER, self.data.path().to_str().unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-uo", "pipefail", "-c", &block]).current_dir(self.folder.path()).env_clear();
        shell.env("PATH", &self.path).env("COMPLIANCE_DATA_DIR", self.data.path());
        output(&mut shell)
    }

    /// Runs a block from the page, and returns its output.
    fn paste(&self, name: &str) -> String {
        let (status, printed, log) = self.run(name);
        assert!(status.success(), "{name}: {printed} {log}");
        printed
    }

    /// Runs a block from the page that must fail, and returns its log.
    fn refused(&self, name: &str) -> String {
        let (status, printed, log) = self.run(name);
        assert!(!status.success(), "{name}: {printed} {log}");
        log
    }
}

fn create(service: &Service, token: &str, name: &str) -> u16 {
    let body = format!(r#"{{"client_affiliate_id":"c","affiliate_name":"{name}"}}"#);
    service.request("POST", "/api/affiliates", token, &body).0
}

fn names(service: &Service, token: &str) -> Vec<String> {
    let affiliates = service.get("/api/affiliates", token);
    let names = affiliates["data"].as_array().unwrap().iter();
    names.map(|affiliate| affiliate["distributor_name"].as_str().unwrap().to_owned()).collect()
}

fn changes(service: &Service, token: &str, after: i64) -> (u16, Value) {
    service.request("GET", &format!("/api/changes?after={after}&limit=1000"), token, "")
}

/// Waits until a write to the restored database succeeds.
fn wait_for(service: &Service, token: &str, name: &str) {
    service.wait_for_log("positions and IDs have jumped ahead");
    wait_until("a write succeeds", || match create(service, token, name) {
        201 => true,
        503 => false,
        status => panic!("{status}"),
    });
}

#[test]
fn documented_commands_restore_live_database() {
    let shell = Shell::new();
    let service = start(&shell.data, &["serve", "--rate-limit", "off"]);
    let token = token(&shell.data, 7);
    for number in 1..=5 {
        assert_eq!(create(&service, &token, &format!("kept {number}")), 201);
    }
    shell.paste("backup");
    for number in 1..=5 {
        assert_eq!(create(&service, &token, &format!("lost {number}")), 201);
    }
    assert_eq!(changes(&service, &token, 10).0, 200);

    // A damaged dump changes nothing, even if the swap is pasted after it.
    let dump = shell.folder.path().join("compliance.dump");
    let intact = fs::read(&dump).unwrap();
    for length in [intact.len() / 10, intact.len() - 1000] {
        fs::write(&dump, &intact[..length]).unwrap();
        shell.refused("restore");
        assert!(shell.refused("swap").contains("\"compliance_restored\" does not exist"));
        assert_eq!(names(&service, &token).len(), 10);
        shell.paste(DROP);
    }
    fs::write(&dump, intact).unwrap();

    shell.paste("restore");
    assert!(shell.paste("swap").trim_end().ends_with("no problems found"));
    wait_for(&service, &token, "new 1");
    let (status, lost) = changes(&service, &token, 10);
    let at = lost["detail"]["restored_position"].as_i64().unwrap_or_default();
    assert!(status == 410 && at > 1 << 40, "{status} {lost}");
    for number in 2..=8 {
        assert_eq!(create(&service, &token, &format!("new {number}")), 201);
    }
    // After new writes, old positions still return 410, even for a reader that saw no earlier error.
    assert_eq!(changes(&service, &token, 10).0, 410);
    let (status, kept) = changes(&service, &token, 5);
    let positions: Vec<_> =
        kept["data"]["changes"].as_array().unwrap().iter().map(|it| it["position"].as_i64().unwrap()).collect();
    assert_eq!((status, positions), (200, (at..=at + 8).collect()));
    let expected: Vec<_> = (1..=5).map(|n| format!("kept {n}")).chain((1..=8).map(|n| format!("new {n}"))).collect();
    assert_eq!(names(&service, &token), expected);

    // Restore only the records, into this version's schema, while the previous database still exists. Until the restored database exists, the
    // swap commands change nothing.
    assert!(shell.refused("swap").contains("compliance_restored"));
    assert_eq!(create(&service, &token, "new 9"), 201);
    shell.paste("data-only");
    let mut service = service;
    let _ = service.take_log();
    shell.paste("swap");
    wait_until("a write succeeds", || create(&service, &token, "after the records alone") == 201);
    assert_eq!(names(&service, &token).len(), 6);
    // Both restores use the same backup. IDs and positions issued between them are never reissued.
    let (status, lost) = changes(&service, &token, at + 8);
    let again = lost["detail"]["restored_position"].as_i64().unwrap_or_default();
    assert!(status == 410 && again > at + 8, "{status} {lost}");

    // Report a restore that the service cannot detect.
    let printed = shell.paste("restored");
    assert!(printed.contains("company 7: positions ") && printed.contains("positions of 1 company and"), "{printed}");
    let (_, page) = service.request("GET", "/api/changes", &token, "");
    let end = page["data"]["last_position"].as_i64().unwrap();
    assert!(end > again && end < 1 << 53, "{end}");
    let (status, printed, log) = output(crate::common::compliance(&shell.data).args(["audit", "verify"]));
    assert!(status.success() && printed.contains("a restore lost positions"), "{printed} {log}");
}

//! Checks that imports and exports destroy neither the imported file nor any other file, even through links.

use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    io::Read as _,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crate::common::{DataDir, compliance, output, start};
use compliance_api::{record::Record as _, v1::AffiliateInput};
use nix::{
    fcntl::{AT_FDCWD, AtFlags},
    sys::{signal::Signal, stat::Mode},
    unistd::{User, fchownat, geteuid, mkfifo},
};
use serde_json::{Map, Value, json};
use test_support::{Proxy, values};

const ROWS: &str = "client_affiliate_id,affiliate_name\n1,A\n";

/// A folder with a file to import.
pub(crate) struct Folder {
    pub(crate) data: DataDir,
    pub(crate) file: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let data = DataDir::new();
        fs::create_dir_all(data.path()).unwrap();
        let file = data.path().join("rows.csv");
        fs::write(&file, ROWS).unwrap();
        Self { data, file }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// Returns a dry-run import command in the folder.
    pub(crate) fn import(&self, arguments: &[&str]) -> Command {
        let mut command = compliance(&self.data);
        command
            .current_dir(self.data.path())
            .args(["import", "affiliates", "--company", "7", "--dry-run"])
            .args(arguments);
        command
    }
}

#[test]
fn report_never_overwrites_imported_file() {
    let folder = Folder::new();
    symlink("rows.csv", folder.path("link.csv")).unwrap();
    symlink("link.csv", folder.path("link to link")).unwrap();
    fs::hard_link(&folder.file, folder.path("hard.csv")).unwrap();
    fs::create_dir(folder.path("inner")).unwrap();
    // The report's default path.
    fs::hard_link(&folder.file, folder.path("other.csv.report.ndjson")).unwrap();
    fs::hard_link(&folder.file, folder.path("other.csv")).unwrap();
    let absolute = folder.file.to_str().unwrap();
    let mut refused = vec![vec!["other.csv"]];
    for report in
        ["rows.csv", "./rows.csv", "inner/../rows.csv", absolute, "link.csv", "link to link", "hard.csv", "/dev/stdin"]
    {
        refused.push(vec!["rows.csv", "--report", report]);
        refused.push(vec!["link.csv", "--report", report]);
    }
    refused.push(vec!["rows.csv", "--report", "/dev/fd/0"]);
    refused.push(vec!["rows.csv", "--report", "/proc/self/fd/0"]);
    refused.push(vec!["/dev/fd/0", "--report", "rows.csv"]);
    refused.push(vec!["/proc/self/fd/0", "--report", "/dev/fd/0"]);
    for arguments in refused {
        let mut command = folder.import(&arguments);
        command.stdin(Stdio::from(File::open(&folder.file).unwrap()));
        let (status, _, errors) = output(&mut command);
        assert_eq!(status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("is the file to import") && errors.contains("--report"), "{arguments:?}: {errors}");
        assert_eq!(fs::read_to_string(&folder.file).unwrap(), ROWS, "{arguments:?}");
    }
    // The command started no database.
    assert!(!folder.path("postgres").exists());
}

#[test]
fn report_overwrites_only_earlier_reports() {
    let folder = Folder::new();
    let names = || {
        let names = fs::read_dir(folder.data.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<BTreeSet<String>>()
    };
    let invalid = "client_affiliate_id,affiliate_name,email_one\n1,A,=1+1\n";
    fs::write(folder.path("precious"), "precious").unwrap();
    fs::write(folder.path("empty.ndjson"), "").unwrap();
    fs::set_permissions(folder.path("empty.ndjson"), Permissions::from_mode(0o600)).unwrap();
    symlink("precious", folder.path("link")).unwrap();
    symlink("nothing", folder.path("dangling")).unwrap();
    fs::create_dir(folder.path("folder")).unwrap();
    // The command rejects an existing file before it reads anything, whether or not rows are invalid.
    for rows in [ROWS, invalid] {
        fs::write(&folder.file, rows).unwrap();
        let before = names();
        let refused = |arguments: &[&str], reason: &str| {
            let (status, _, errors) = output(&mut folder.import(arguments));
            assert_eq!(status.code(), Some(1), "{arguments:?}: {errors}");
            assert!(errors.contains(reason) && errors.contains("--report"), "{arguments:?}: {errors}");
        };
        refused(&["rows.csv", "--report", "precious"], "is not a report");
        refused(&["rows.csv", "--report", "link"], "is a link");
        refused(&["rows.csv", "--report", "dangling"], "is a link");
        refused(&["rows.csv", "--report", "folder"], "is not a regular file");
        // The report's default path, without `--report`.
        let default = folder.path("rows.csv.report.ndjson");
        symlink("precious", &default).unwrap();
        refused(&["rows.csv"], "is a link");
        assert!(default.is_symlink());
        fs::remove_file(&default).unwrap();
        mkfifo(&default, Mode::S_IRWXU).unwrap();
        refused(&["rows.csv"], "is not a regular file");
        fs::remove_file(&default).unwrap();
        assert_eq!((names(), fs::read_to_string(folder.path("precious")).unwrap()), (before, "precious".to_owned()));
    }
    // The report keeps the mode of the file that it replaces.
    assert_eq!(output(&mut folder.import(&["rows.csv", "--report", "empty.ndjson"])).0.code(), Some(3));
    let report = || fs::read_to_string(folder.path("empty.ndjson")).unwrap();
    assert!(report().starts_with("{\"row\":1,"), "{}", report());
    assert_eq!(fs::metadata(folder.path("empty.ndjson")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(output(&mut folder.import(&["rows.csv", "--report", "empty.ndjson"])).0.code(), Some(3));
    assert_eq!(report().lines().count(), 1);
    // A CSV report escapes formulas.
    for _ in 0..2 {
        assert_eq!(output(&mut folder.import(&["rows.csv", "--report", "report.csv"])).0.code(), Some(3));
        let report = fs::read_to_string(folder.path("report.csv")).unwrap();
        let report = report.strip_prefix('\u{feff}').unwrap();
        assert!(report.contains(",email_one,'=1+1,"), "{report}");
    }
    // Without invalid rows, all files stay unchanged.
    fs::write(&folder.file, ROWS).unwrap();
    let (before, earlier) = (names(), report());
    for report in ["empty.ndjson", "/dev/null"] {
        assert!(output(&mut folder.import(&["rows.csv", "--report", report])).0.success());
    }
    assert!(output(&mut folder.import(&["rows.csv"])).0.success());
    assert_eq!((names(), report()), (before, earlier));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn export_replaces_only_regular_files() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let command = |name: &str| {
        let mut command = compliance(&folder.data);
        command.current_dir(folder.data.path()).args(["export", "affiliates", "--company", "7", "--format", "csv"]);
        command.args(["--core-url", &core, "--output", name]);
        command
    };
    let export = |name: &str| -> Output { command(name).output().unwrap() };
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    let is_export = |name: &str| read(name).starts_with("\u{feff}client_affiliate_id,");
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let unfinished = || {
        let names = fs::read_dir(folder.data.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".unfinished")).count()
    };
    for _ in 0..2 {
        assert!(export("out.csv").status.success());
        assert!(is_export("out.csv") && unfinished() == 0);
    }
    // The new file keeps the mode of the old file.
    fs::set_permissions(folder.path("out.csv"), Permissions::from_mode(0o600)).unwrap();
    assert!(export("out.csv").status.success());
    assert_eq!(fs::metadata(folder.path("out.csv")).unwrap().permissions().mode() & 0o777, 0o600);
    // The export replaces the target of a link and keeps the link.
    symlink("out.csv", folder.path("link.csv")).unwrap();
    fs::write(folder.path("out.csv"), "old").unwrap();
    assert!(export("link.csv").status.success());
    assert!(folder.path("link.csv").is_symlink() && is_export("out.csv"));
    // The export writes to devices instead of replacing them.
    assert!(export("/dev/null").status.success());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let mut child = command("/dev/stdout").stdout(Stdio::piped()).spawn().unwrap();
    let mut piped = String::new();
    child.stdout.take().unwrap().read_to_string(&mut piped).unwrap();
    assert!(child.wait().unwrap().success() && piped.starts_with("\u{feff}client_affiliate_id,"), "{piped}");
    // A failed export leaves no file behind.
    fs::create_dir(folder.path("d.csv")).unwrap();
    let refused = export("d.csv");
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("d.csv: it is a folder"), "{}", errors(&refused));
    let mut without_service = compliance(&folder.data);
    without_service.current_dir(folder.data.path()).args(["export", "affiliates", "--company", "7"]);
    let (status, ..) = output(without_service.args(["--core-url", "http://127.0.0.1:1", "--output", "e.csv"]));
    assert_eq!(status.code(), Some(1));
    assert!(!folder.path("e.csv").exists() && unfinished() == 0);
    // Another user's link could point anywhere.
    if geteuid().is_root() {
        symlink("out.csv", folder.path("other.csv")).unwrap();
        let owner = User::from_name("nobody").unwrap().unwrap().uid;
        fchownat(AT_FDCWD, &folder.path("other.csv"), Some(owner), None, AtFlags::AT_SYMLINK_NOFOLLOW).unwrap();
        assert!(errors(&export("other.csv")).contains("the link belongs to another user"));
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// Each field of a record has a CSV column, and its cell contains the field's value.
#[test]
fn csv_export_contains_every_field() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let affiliates: Vec<Value> = ["A", "B"]
        .iter()
        .map(|name| {
            let value = |field: &&str| match *field {
                "client_affiliate_id" | "affiliate_name" => (*name).to_owned(),
                "country" => "US".to_owned(),
                "status" => "probation".to_owned(),
                "start_date" => "2024-01-31".to_owned(),
                "replicated_website" => "https://example.org/".to_owned(),
                field if field.contains("email") => format!("{field}@example.org"),
                field => field.chars().rev().take(16).collect(),
            };
            AffiliateInput::names().iter().map(|field| ((*field).to_owned(), Value::from(value(field)))).collect()
        })
        .collect();
    let mut url = values::of_observation();
    url.insert("url".to_owned(), "https://example.org/".into());
    let case = json!({"request_id": "r", "case": values::of_case(), "dates_as_given": true,
        "incidents": [{"incident_type": "form", "reference": "a form"}]});
    let run = |arguments: &[&str]| {
        let (status, stdout, errors) = output(compliance(&folder.data).args(arguments));
        assert!(status.success(), "{errors}");
        stdout
    };
    for (what, records) in [("affiliates", affiliates), ("urls", vec![Value::Object(url)]), ("cases", vec![case])] {
        let path = folder.path(&format!("{what}.ndjson"));
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        run(&["import", what, path.to_str().unwrap(), "--company", "7"]);
        let exported = run(&["export", what, "--company", "7"]);
        let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(exported, records, "{what}");
        let csv = run(&["export", what, "--company", "7", "--format", "csv"]);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        for (row, mut record) in reader.records().zip(records) {
            // CSV puts case fields next to the request ID.
            if let Some(Value::Object(case)) = record.as_object_mut().unwrap().remove("case") {
                record.as_object_mut().unwrap().extend(case);
            }
            let row = row.unwrap();
            let cells: Map<String, Value> = (header.iter().zip(&row))
                .filter(|(_, cell)| !cell.is_empty())
                .map(|(name, cell)| {
                    let is_text = record.get(name).is_none_or(Value::is_string);
                    let text = cell.strip_prefix('\'').unwrap_or(cell);
                    (name.clone(), if is_text { text.into() } else { serde_json::from_str(cell).unwrap() })
                })
                .collect();
            assert_eq!(Value::Object(cells), record, "{what}");
        }
    }
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// The connection breaks during an export. The export resumes after the last received record, and contains each record once.
#[test]
fn export_resumes_after_lost_connection() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let path = folder.path("urls.ndjson");
    let record = |number: usize| {
        json!({"url": format!("https://example.org/{number}"), "transcription_text": "x".repeat(4000)}).to_string()
    };
    let lines: Vec<String> = (0..4000).map(record).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    let (status, _, errors) =
        output(compliance(&folder.data).args(["import", "urls", path.to_str().unwrap(), "--company", "7"]));
    assert!(status.success(), "{errors}");
    let threads = tokio::runtime::Runtime::new().unwrap();
    let proxy = threads.block_on(Proxy::tcp(service.grpc));
    let core = format!("http://{}", proxy.address());
    let mut command = compliance(&folder.data);
    command.args(["export", "urls", "--company", "7", "--core-url", &core]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut exported = child.stdout.take().unwrap();
    // The command stops reading while nobody reads its output, so most records have not arrived yet.
    let mut text = vec![0; 64 << 10];
    exported.read_exact(&mut text).unwrap();
    proxy.cut();
    exported.read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(proxy.connections() >= 2, "the export's connection was not cut");
    let exported: Vec<Value> =
        String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let urls: BTreeSet<&str> = exported.iter().map(|record| record["url"].as_str().unwrap()).collect();
    assert_eq!((exported.len(), urls.len()), (4000, 4000));
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

//! Imports and exports destroy no file: not the imported one, and no other that a name happens to lead to.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Read as _,
    os::unix::fs::{FileTypeExt as _, symlink},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crate::common::{DataDir, compliance, output, start};
use compliance_api::{record::Record as _, v1::AffiliateInput};
use nix::sys::signal::Signal;
use serde_json::{Map, Value, json};
use test_support::{Proxy, values};

const ROWS: &str = "client_affiliate_id,affiliate_name\n1,A\n";

/// A folder with a file to import.
struct Folder {
    data: DataDir,
    file: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let data = DataDir::new();
        fs::create_dir_all(data.path()).unwrap();
        let file = data.path().join("rows.csv");
        fs::write(&file, ROWS).unwrap();
        Self { data, file }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// A dry run of an import, in the folder.
    fn import(&self, arguments: &[&str]) -> Command {
        let mut command = compliance(&self.data);
        command
            .current_dir(self.data.path())
            .args(["import", "affiliates", "--company", "7", "--dry-run"])
            .args(arguments);
        command
    }
}

#[test]
fn a_report_is_not_written_over_the_imported_file() {
    let folder = Folder::new();
    symlink("rows.csv", folder.path("link.csv")).unwrap();
    symlink("link.csv", folder.path("link to link")).unwrap();
    fs::hard_link(&folder.file, folder.path("hard.csv")).unwrap();
    fs::create_dir(folder.path("inner")).unwrap();
    // The report that an import has without the flag.
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
    // Nothing was left, and no database was started.
    assert!(!folder.path("postgres").exists());
}

#[test]
fn a_report_removes_nothing_but_itself() {
    let folder = Folder::new();
    // An earlier report is replaced, and goes when there is nothing to report.
    fs::write(folder.path("report.ndjson"), "old").unwrap();
    assert!(output(&mut folder.import(&["rows.csv", "--report", "report.ndjson"])).0.success());
    assert!(!folder.path("report.ndjson").exists());
    // A link stays, and so does a device.
    symlink("report.ndjson", folder.path("link")).unwrap();
    assert!(output(&mut folder.import(&["rows.csv", "--report", "link"])).0.success());
    assert!(folder.path("link").is_symlink());
    assert!(output(&mut folder.import(&["rows.csv", "--report", "/dev/null"])).0.success());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    // A report in a spreadsheet computes nothing.
    fs::write(&folder.file, "client_affiliate_id,affiliate_name,email_one\n1,A,=1+1\n").unwrap();
    assert_eq!(output(&mut folder.import(&["rows.csv", "--report", "report.csv"])).0.code(), Some(2));
    let report = fs::read_to_string(folder.path("report.csv")).unwrap();
    assert!(report.contains(",email_one,'=1+1,"), "{report}");
}

#[test]
fn an_export_replaces_a_file_when_it_is_complete_and_nothing_else() {
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
    let is_export = |name: &str| read(name).starts_with("client_affiliate_id,");
    let errors = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();

    for _ in 0..2 {
        assert!(export("out.csv").status.success());
        assert!(is_export("out.csv") && !folder.path("out.csv.unfinished").exists());
    }
    // What an interrupted export left is taken over.
    fs::write(folder.path("out.csv.unfinished"), "left ".repeat(10_000)).unwrap();
    assert!(export("out.csv").status.success());
    assert!(is_export("out.csv") && !read("out.csv").contains("left"));
    // Behind a link, the file is replaced and the link stays.
    symlink("out.csv", folder.path("link.csv")).unwrap();
    fs::write(folder.path("out.csv"), "old").unwrap();
    assert!(export("link.csv").status.success());
    assert!(folder.path("link.csv").is_symlink() && is_export("out.csv"));
    // Devices are written to and stay what they are.
    assert!(export("/dev/null").status.success());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let mut child = command("/dev/stdout").stdout(Stdio::piped()).spawn().unwrap();
    let mut piped = String::new();
    child.stdout.take().unwrap().read_to_string(&mut piped).unwrap();
    assert!(child.wait().unwrap().success() && piped.starts_with("client_affiliate_id,"), "{piped}");
    // Under the name of the unfinished file is something else: it stays as it is.
    fs::write(folder.path("precious"), "precious").unwrap();
    symlink("precious", folder.path("a.csv.unfinished")).unwrap();
    fs::hard_link(folder.path("precious"), folder.path("b.csv.unfinished")).unwrap();
    fs::create_dir(folder.path("c.csv.unfinished")).unwrap();
    fs::create_dir(folder.path("d.csv")).unwrap();
    for name in ["a.csv", "b.csv", "c.csv", "d.csv"] {
        let refused = export(name);
        assert_eq!(refused.status.code(), Some(1), "{name}");
        assert!(errors(&refused).contains("cannot write"), "{}", errors(&refused));
    }
    assert_eq!(read("precious"), "precious");
    // Two exports do not write one file.
    let other = File::create(folder.path("e.csv.unfinished")).unwrap();
    other.lock().unwrap();
    assert!(errors(&export("e.csv")).contains("another export is writing it"));
    drop(other);
    assert!(export("e.csv").status.success());
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// Texts that a spreadsheet computes, in every text that an export of affiliates has, and their cells.
#[test]
fn formulas_are_exported_as_texts_and_imported_as_they_were() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let token = crate::common::token(&folder.data, 7);
    let texts = [
        "=HYPERLINK(\"http://x\")",
        "+49 30 1",
        "-5",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "'=1",
        "''+1",
        "'t Hooft",
        "'",
        " =1",
    ];
    let affiliates: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            json!({"client_affiliate_id": format!("{text}{number}"), "affiliate_name": format!("{text} {number}"),
                "notes": text, "city": text, "phone_one": text, "sponsor": text})
        })
        .collect();
    let (status, body) =
        service.request("POST", "/api/affiliates", &token, &json!({ "affiliates": affiliates }).to_string());
    assert_eq!(status, 201, "{body}");
    let path = folder.path("affiliates.csv");
    let path = path.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let (status, stdout, errors) = output(compliance(&folder.data).args(arguments));
        assert!(status.success(), "{errors}");
        stdout
    };
    run(&["export", "affiliates", "--company", "7", "--output", path]);
    let mut cells = 0;
    for record in csv::Reader::from_path(path).unwrap().records() {
        for cell in &record.unwrap() {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']), "{cell:?}");
            cells += usize::from(cell.starts_with('\''));
        }
    }
    // Six fields of each of the texts that begin with an apostrophe, or with what gets one.
    assert_eq!(cells, 6 * (texts.len() - 1));
    run(&["import", "affiliates", path, "--company", "8"]);
    let exported = |company: &str| run(&["export", "affiliates", "--company", company]);
    let original = exported("7");
    assert_eq!(original.lines().count(), texts.len());
    assert_eq!(exported("8"), original);
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// Each field that a record has is a column of CSV, and its cell is the value of the field.
#[test]
fn every_field_is_a_column_of_an_export() {
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
            // The fields of a case stand beside its request ID.
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

/// A connection is cut in the middle of an export: what follows begins after the last record that arrived, so that each
/// record is exported once.
#[test]
fn an_export_goes_on_where_its_connection_was_cut() {
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
    // A command that nobody reads from stops to read: most records are still to come.
    let mut text = vec![0; 64 << 10];
    exported.read_exact(&mut text).unwrap();
    proxy.cut();
    exported.read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(proxy.connections() >= 2, "the export was not cut");
    let exported: Vec<Value> =
        String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let urls: BTreeSet<&str> = exported.iter().map(|record| record["url"].as_str().unwrap()).collect();
    assert_eq!((exported.len(), urls.len()), (4000, 4000));
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

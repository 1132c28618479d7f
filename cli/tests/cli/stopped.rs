//! Checks that signals stop imports and exports, no matter what they wait for.

use std::{
    fmt::Write as _,
    fs::{self, File},
    process::{Child, Stdio},
};

use nix::{
    sys::{signal::Signal, stat::Mode},
    unistd::mkfifo,
};
use serde_json::{Value, json};
use test_support::{Proxy, kill_process};

use crate::{
    common::{compliance, output, start, wait_until},
    files::Folder,
};

/// Waits until one of a process's threads blocks in a kernel function, such as `pipe_write`.
fn wait_until_blocked(child: &Child, function: &str) {
    let tasks = format!("/proc/{}/task", child.id());
    wait_until("the program waits for the pipe", || {
        let mut tasks = fs::read_dir(&tasks).unwrap().flatten();
        tasks.any(|task| fs::read_to_string(task.path().join("wchan")).is_ok_and(|name| name.contains(function)))
    });
}

/// Stops a blocked command with a signal, and checks its exit status. Returns its output.
fn stop(mut child: Child, signal: Signal) -> String {
    kill_process(child.id().cast_signed(), signal);
    let mut status = None;
    wait_until("the program has ended", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(status.unwrap().code(), Some(1), "{errors}");
    assert!(errors.contains(&format!("stopped by {signal}")), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn signals_stop_imports_blocked_on_pipe() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    // The command reads files twice, so it rejects a pipe instead of waiting for a writer.
    let (status, _, errors) = output(&mut folder.import(&["pipe"]));
    assert!(status.code() == Some(2) && errors.contains("pipe is not a regular file"), "{errors}");

    // The report of these rows exceeds a pipe's buffer.
    let rows = "1,A,no address\n".repeat(10_000);
    fs::write(&folder.file, format!("client_affiliate_id,affiliate_name,email_one\n{rows}")).unwrap();
    let import = || {
        let mut command = folder.import(&["rows.csv", "--report", "pipe"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let nobody_reads = import();
        wait_until_blocked(&nobody_reads, "wait_for_partner");
        stop(nobody_reads, signal);

        let child = import();
        let reader = File::open(&pipe).unwrap();
        wait_until_blocked(&child, "pipe_write");
        let summary = stop(child, signal);
        assert!(summary.contains(" rows checked, nothing written: 0 valid"), "{summary}");
        drop(reader);
    }
}

#[test]
fn signals_stop_exports_blocked_on_pipe() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let urls = folder.path("urls.ndjson");
    let record = |number| json!({"url": format!("https://example.org/{number}"), "note": "x".repeat(500)}).to_string();
    fs::write(&urls, (0..2000).map(record).collect::<Vec<_>>().join("\n")).unwrap();
    let import = ["import", "urls", urls.to_str().unwrap(), "--company", "7", "--core-url", &core];
    let (status, _, errors) = output(compliance(&folder.data).args(import));
    assert!(status.success(), "{errors}");
    let pipe = folder.path("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let export = |output: &[&str]| {
        let mut command = compliance(&folder.data);
        command.args(["export", "urls", "--company", "7", "--core-url", &core]).args(output);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let to_pipe = ["--output", pipe.to_str().unwrap()];
    let nobody_reads = export(&to_pipe);
    wait_until_blocked(&nobody_reads, "wait_for_partner");
    stop(nobody_reads, Signal::SIGINT);
    let child = export(&to_pipe);
    let reader = File::open(&pipe).unwrap();
    wait_until_blocked(&child, "pipe_write");
    stop(child, Signal::SIGTERM);
    drop(reader);
    let to_standard_output = export(&[]);
    wait_until_blocked(&to_standard_output, "pipe_write");
    stop(to_standard_output, Signal::SIGINT);
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

/// A stopped import reports the rows acknowledged so far, and the invalid rows so far.
#[test]
fn interrupted_import_reports_acknowledged_rows() {
    let folder = Folder::new();
    let service = start(&folder.data, &["serve"]);
    let core = format!("http://{}", service.grpc);
    let threads = tokio::runtime::Runtime::new().unwrap();
    let proxy = threads.block_on(Proxy::tcp(service.grpc));
    let mut rows = String::from("client_affiliate_id,affiliate_name,email_one\n0,N,no address\n");
    (1..30_000).for_each(|number| writeln!(rows, "{number},N{number},").unwrap());
    fs::write(&folder.file, rows).unwrap();
    let mut command = compliance(&folder.data);
    let address = format!("http://{}", proxy.address());
    command.args(["import", "affiliates", folder.file.to_str().unwrap(), "--company", "7", "--core-url", &address]);
    let child = command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let token = crate::common::token(&folder.data, 7);
    // IDs follow the file order, and the second batch follows the response to the first.
    wait_until("the second batch is written", || service.request("GET", "/api/affiliates/1500", &token, "").0 == 200);
    let _held = threads.block_on(proxy.hold());
    let summary: Value = serde_json::from_str(&stop(child, Signal::SIGINT)).unwrap();
    let created = summary["created"].as_u64().unwrap() as usize;
    assert!((999..29_999).contains(&created), "{summary}");
    assert_eq!(summary["bad"], 1);
    let report = fs::read_to_string(folder.path("rows.csv.report.ndjson")).unwrap();
    assert!(report.starts_with("{\"row\":1,") && report.lines().count() == 1, "{report}");
    // All reported rows exist.
    let (status, exported, errors) =
        output(compliance(&folder.data).args(["export", "affiliates", "--company", "7", "--core-url", &core]));
    assert!(status.success() && exported.lines().count() >= created, "{errors}");
    service.signal(Signal::SIGTERM);
    assert!(service.end().success());
}

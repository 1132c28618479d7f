//! Runs and watches processes for synchronous tests.

use std::{
    collections::BTreeSet,
    fmt, fs,
    io::{BufRead as _, BufReader, Read},
    process::{Command, ExitStatus, Output},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};

/// Maximum wait on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// Waits until `done` returns true, and panics after three minutes. `what` completes the sentence "timed out waiting until".
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "timed out waiting until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a command, and returns its status, standard output and standard error.
pub fn output(command: &mut Command) -> (ExitStatus, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status, String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Returns whether a process is running. Zombies do not count.
pub fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Returns a process's command line, with spaces between the arguments, or an empty string.
pub fn command_line(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// Sends a signal to a process, if it is still running.
pub fn kill_process(pid: i32, signal: Signal) {
    assert!(pid > 1, "{pid} is not the process ID of a test process");
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Returns a duplicate key of a JSON object, or `None` for other text.
pub(crate) fn doubled_key(line: &str) -> Option<String> {
    struct Keys;
    impl<'de> Visitor<'de> for Keys {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let (mut seen, mut doubled) = (BTreeSet::new(), None);
            while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                if !seen.insert(key.clone()) {
                    doubled = Some(key);
                }
            }
            Ok(doubled)
        }
    }
    serde_json::Deserializer::from_str(line).deserialize_map(Keys).ok().flatten()
}

/// Returns the lines of a stream as they arrive.
///
/// Reads the stream to its end even if the receiver is dropped, so that the writing process never blocks.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    lines_with(stream, |_| {})
}

/// Like [`lines`], but calls `look_at` with each line first.
pub(crate) fn lines_with(
    stream: impl Read + Send + 'static,
    look_at: impl Fn(&str) + Send + 'static,
) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            look_at(&line);
            let _ = sender.send(line);
        }
    });
    receiver
}

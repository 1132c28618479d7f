//! Progress of a long command on standard error: a bar on a terminal, a line now and then elsewhere.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// Interval of the lines without a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The progress of one command, which has one phase at a time. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    terminal: bool,
    phase: Arc<Mutex<Phase>>,
}

#[derive(Debug)]
struct Phase {
    bar: ProgressBar,
    name: &'static str,
    records: u64,
    started: Instant,
    printed: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let phase = Phase { bar: ProgressBar::hidden(), name: "", records: 0, started: now, printed: now };
        Self { terminal: stderr().is_terminal(), phase: Arc::new(Mutex::new(phase)) }
    }

    /// Begins a phase that reads a file of `total` bytes.
    pub(crate) fn start_bytes(&self, name: &'static str, total: u64) {
        self.begin(name, total, "{msg:>22} {wide_bar} {bytes} of {total_bytes}, {prefix} rows, {eta} left");
    }

    /// Begins a phase of unknown length.
    pub(crate) fn start_open(&self, name: &'static str) {
        self.begin(name, 0, "{msg:>22} {spinner} {human_pos}, {per_sec}");
    }

    fn begin(&self, name: &'static str, total: u64, template: &str) {
        self.end();
        let bar = if self.terminal { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_length(total);
        // The templates are constants.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(name);
        bar.enable_steady_tick(Duration::from_millis(200));
        let now = Instant::now();
        *self.phase() = Phase { bar, name, records: 0, started: now, printed: now };
    }

    /// Adds processed records.
    pub(crate) fn add(&self, records: u64) {
        let mut phase = self.phase();
        phase.bar.inc(records);
        phase.records += records;
        self.print_now_and_then(&mut phase);
    }

    /// Sets how many bytes of the file and how many records are processed.
    pub(crate) fn reach(&self, bytes: u64, records: u64) {
        let mut phase = self.phase();
        phase.bar.set_position(bytes);
        phase.bar.set_prefix(records.to_string());
        phase.records = records;
        self.print_now_and_then(&mut phase);
    }

    fn print_now_and_then(&self, phase: &mut Phase) {
        if !self.terminal && phase.printed.elapsed() >= BETWEEN_LINES {
            phase.printed = Instant::now();
            phase.print();
        }
    }

    /// Ends the last phase.
    pub(crate) fn end(&self) {
        let phase = self.phase();
        if phase.name.is_empty() || phase.bar.is_finished() {
            return;
        }
        if self.terminal {
            phase.bar.finish();
        } else {
            phase.print();
            phase.bar.finish();
        }
    }

    /// Locks the phase. A panic elsewhere does not matter, since the phase is only displayed.
    fn phase(&self) -> std::sync::MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fixtures::Progress for Progress {
    fn start(&self, phase: &'static str, total: u64) {
        self.begin(phase, total, "{msg:>22} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left");
    }

    fn add(&self, records: u64) {
        self.add(records);
    }
}

impl Phase {
    fn print(&self) {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let share = (done * 100).checked_div(total).map(|share| format!(" ({share} %)")).unwrap_or_default();
        let seconds = self.started.elapsed().as_secs_f64();
        // Standard error may be closed.
        let _ = writeln!(stderr(), "{}: {}{share} after {seconds:.1} s", self.name, self.records);
    }
}

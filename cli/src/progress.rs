//! How far a long command is: a bar on a terminal, a line now and then elsewhere. Both on standard error.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is written where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// The progress of one command, phase after phase. Clones are the same.
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
    since: Instant,
    told: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let phase = Phase { bar: ProgressBar::hidden(), name: "", records: 0, since: now, told: now };
        Self { terminal: stderr().is_terminal(), phase: Arc::new(Mutex::new(phase)) }
    }

    /// Begins a phase of `total` records; the one before it is over.
    pub(crate) fn start(&self, name: &'static str, total: u64) {
        self.begin(name, total, "{msg:>22} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left");
    }

    /// Begins a phase that reads a file of `total` bytes.
    pub(crate) fn start_bytes(&self, name: &'static str, total: u64) {
        self.begin(name, total, "{msg:>22} {wide_bar} {bytes} of {total_bytes}, {prefix} rows, {eta} left");
    }

    /// Begins a phase of which nobody knows how long it will be.
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
        *self.phase() = Phase { bar, name, records: 0, since: now, told: now };
    }

    /// Some more steps are done.
    pub(crate) fn add(&self, steps: u64) {
        let mut phase = self.phase();
        phase.bar.inc(steps);
        phase.records += steps;
        self.tell_now_and_then(&mut phase);
    }

    /// So many bytes of a file have been read, and so many records are done.
    pub(crate) fn reach(&self, bytes: u64, records: u64) {
        let mut phase = self.phase();
        phase.bar.set_position(bytes);
        phase.bar.set_prefix(records.to_string());
        phase.records = records;
        self.tell_now_and_then(&mut phase);
    }

    fn tell_now_and_then(&self, phase: &mut Phase) {
        if !self.terminal && phase.told.elapsed() >= BETWEEN_LINES {
            phase.told = Instant::now();
            phase.tell();
        }
    }

    /// The phase is over, and the last one.
    pub(crate) fn end(&self) {
        let phase = self.phase();
        if phase.name.is_empty() || phase.bar.is_finished() {
            return;
        }
        if self.terminal {
            phase.bar.finish();
        } else {
            phase.tell();
            phase.bar.finish();
        }
    }

    /// The phase, also after a panic elsewhere: it is for show only.
    fn phase(&self) -> std::sync::MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    fn tell(&self) {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let share = (done * 100).checked_div(total).map(|share| format!(" ({share} %)")).unwrap_or_default();
        let seconds = self.since.elapsed().as_secs_f64();
        // Nobody may be left to read it.
        let _ = writeln!(stderr(), "{}: {}{share} after {seconds:.1} s", self.name, self.records);
    }
}

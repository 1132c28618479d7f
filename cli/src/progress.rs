//! Shows the progress of a long command on standard error: a bar on a terminal, otherwise a line every few seconds.

use std::{
    io::{Write as _, stderr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// Interval between progress lines outside a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Progress of a command, one phase at a time. Clones share the progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Mutex<Option<Phase>>>);

#[derive(Debug)]
struct Phase {
    /// Progress bar, hidden outside a terminal.
    bar: ProgressBar,
    records: u64,
    printed: Instant,
}

impl Progress {
    /// Starts the progress display for a file of `bytes` bytes. With `None`, counts records with an unknown total.
    pub(crate) fn start(name: &'static str, bytes: Option<u64>) -> Self {
        let progress = Self::default();
        let template = match bytes {
            Some(_) => "{msg:>22} {wide_bar} {bytes} of {total_bytes}, {prefix} rows, {eta} left",
            None => "{msg:>22} {spinner} {human_pos}, {per_sec}",
        };
        progress.begin(name, bytes.unwrap_or(0), template);
        progress
    }

    fn begin(&self, name: &'static str, total: u64, template: &str) {
        self.end();
        let bar = ProgressBar::new(total).with_message(name);
        // The templates are constants, so parsing them does not fail.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        *self.phase() = Some(Phase { bar, records: 0, printed: Instant::now() });
    }

    pub(crate) fn add(&self, records: u64) {
        self.update(|phase| {
            phase.bar.inc(records);
            phase.records += records;
        });
    }

    /// Sets the number of processed bytes and records.
    pub(crate) fn reach(&self, bytes: u64, records: u64) {
        self.update(|phase| {
            phase.bar.set_position(bytes);
            phase.bar.set_prefix(records.to_string());
            phase.records = records;
        });
    }

    fn update(&self, change: impl FnOnce(&mut Phase)) {
        if let Some(phase) = &mut *self.phase() {
            change(phase);
            if phase.printed.elapsed() >= BETWEEN_LINES {
                phase.printed = Instant::now();
                phase.print();
            }
        }
    }

    pub(crate) fn end(&self) {
        if let Some(phase) = self.phase().take() {
            phase.bar.finish();
            phase.print();
        }
    }

    // A poisoned lock is harmless, because the phase is only for display.
    fn phase(&self) -> MutexGuard<'_, Option<Phase>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        if !self.bar.is_hidden() {
            return;
        }
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let percent = (done * 100).checked_div(total).map(|percent| format!(" ({percent} %)")).unwrap_or_default();
        let (name, seconds) = (self.bar.message(), self.bar.elapsed().as_secs_f64());
        // Ignore a closed standard error.
        let _ = writeln!(stderr(), "{name}: {}{percent} after {seconds:.1} s", self.records);
    }
}

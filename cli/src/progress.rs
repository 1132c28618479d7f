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
    since: Instant,
    told: Instant,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        let phase = Phase { bar: ProgressBar::hidden(), name: "", since: now, told: now };
        Self { terminal: stderr().is_terminal(), phase: Arc::new(Mutex::new(phase)) }
    }

    /// Begins a phase of `total` steps; the one before it is over. Of 0 steps nobody knows how many there will be.
    pub(crate) fn start(&self, name: &'static str, total: u64) {
        self.end();
        let bar = if self.terminal { ProgressBar::new(total) } else { ProgressBar::hidden() };
        bar.set_length(total);
        let style = if total == 0 {
            ProgressStyle::with_template("{msg:>22} {spinner} {human_pos}, {per_sec}")
        } else {
            ProgressStyle::with_template("{msg:>22} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left")
        };
        // The templates are constants.
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.set_message(name);
        bar.enable_steady_tick(Duration::from_millis(200));
        let now = Instant::now();
        *self.phase() = Phase { bar, name, since: now, told: now };
    }

    /// Some more steps are done.
    pub(crate) fn add(&self, steps: u64) {
        let mut phase = self.phase();
        phase.bar.inc(steps);
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
        let (done, total, seconds) = (self.bar.position(), self.bar.length(), self.since.elapsed().as_secs_f64());
        let of = total.filter(|total| *total > 0).map(|total| format!(" of {total}")).unwrap_or_default();
        // Nobody may be left to read it.
        let _ = writeln!(stderr(), "{}: {done}{of} after {seconds:.1} s", self.name);
    }
}

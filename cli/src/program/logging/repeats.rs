//! Warnings and errors that repeat: one line of a kind in a second, with the number of lines that were left out.
//!
//! If the database is unavailable, every request fails and logs a line: without a limit, 30,000 lines a second.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tracing::{
    Event, Level, Subscriber,
    callsite::Identifier,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

/// How long further lines of a kind are left out.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of kinds from one place in the code. All further kinds count as one, so memory and lines are bounded.
const MAX_KINDS: usize = 8;
/// Fields that differ between requests that fail for the same reason.
const REQUEST_FIELDS: [&str; 12] = [
    "operation",
    "duration_ms",
    "connection_wait_ms",
    "attempts",
    "company",
    "subject",
    "peer",
    "request_id",
    "request_ids",
    "requests",
    "trace_id",
    "times",
];

/// Formats events, and leaves out repeats.
pub(super) struct WithoutRepeats<F> {
    pub(super) format: F,
    /// The end of a line. The count is inserted before it.
    pub(super) end: &'static str,
    pub(super) repeats: Repeats,
}

/// The kinds of events: a place in the code, with the text of its fields.
type Kinds = HashMap<(Identifier, String), Kind>;

/// The lines of the last second. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<Kinds>>);

struct Kind {
    since: Instant,
    left_out: u64,
    level: Level,
    message: String,
}

impl Repeats {
    /// Starts a thread that reports lines left out after a burst.
    pub(super) fn report(&self) -> std::io::Result<()> {
        let repeats = self.clone();
        let report = move || {
            loop {
                thread::sleep(INTERVAL);
                for Kind { left_out, level, message, .. } in repeats.take_ended(Instant::now()) {
                    if level == Level::ERROR {
                        tracing::error!(left_out, "{message} (repeated)");
                    } else {
                        tracing::warn!(left_out, "{message} (repeated)");
                    }
                }
            }
        };
        thread::Builder::new().name("log".to_owned()).spawn(report).map(drop)
    }

    /// Returns how many lines of its kind were left out before an event; `None` if the event itself is left out.
    fn pass(&self, event: &Event<'_>, now: Instant) -> Option<u64> {
        let metadata = event.metadata();
        if *metadata.level() > Level::WARN {
            return Some(0);
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if fields.is_report {
            return Some(0);
        }
        let place = metadata.callsite();
        let mut kinds = self.kinds();
        let mut key = (place.clone(), fields.text);
        if !kinds.contains_key(&key) && kinds.keys().filter(|(other, _)| *other == place).count() >= MAX_KINDS {
            key.1.clear();
        }
        match kinds.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Kind { since: now, left_out: 0, level: *metadata.level(), message: fields.message });
                Some(0)
            }
            Entry::Occupied(mut entry) if now.duration_since(entry.get().since) < INTERVAL => {
                entry.get_mut().left_out += 1;
                None
            }
            Entry::Occupied(mut entry) => {
                entry.get_mut().since = now;
                Some(std::mem::take(&mut entry.get_mut().left_out))
            }
        }
    }

    /// Removes kinds that stopped occurring. Returns the kinds whose last lines were left out.
    fn take_ended(&self, now: Instant) -> Vec<Kind> {
        let mut kinds = self.kinds();
        let ended = kinds.extract_if(|_, kind| now.duration_since(kind.since) >= 2 * INTERVAL);
        ended.map(|(_, kind)| kind).filter(|kind| kind.left_out > 0).collect()
    }

    fn kinds(&self) -> MutexGuard<'_, Kinds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fields of an event that determine its kind.
#[derive(Default)]
struct Fields {
    text: String,
    message: String,
    /// Whether the event reports lines that were left out.
    is_report: bool,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let name = field.name();
        self.is_report |= name == "left_out";
        if name == "message" {
            self.message = format!("{value:?}");
        }
        if !REQUEST_FIELDS.contains(&name) {
            // Writing to a text does not fail.
            let _ = write!(self.text, "{name}={value:?};");
        }
    }
}

impl<S, N, F> FormatEvent<S, N> for WithoutRepeats<F>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        match self.repeats.pass(event, Instant::now()) {
            None => Ok(()),
            Some(0) => self.format.format_event(context, writer, event),
            Some(left_out) => {
                let mut line = String::new();
                self.format.format_event(context, Writer::new(&mut line), event)?;
                let line = line.trim_end();
                let line = line.strip_suffix(self.end).unwrap_or(line);
                match self.end {
                    "" => writeln!(writer, "{line} left_out={left_out}"),
                    end => writeln!(writer, "{line},\"left_out\":{left_out}{end}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
        time::{Duration, Instant},
    };

    use tracing_subscriber::{fmt, layer::SubscriberExt as _};

    use super::{Repeats, WithoutRepeats};

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines of a log, and the counts of ended kinds. `events` writes the log and moves its clock on.
    fn log(events: impl Fn(&dyn Fn(Duration))) -> (Vec<String>, Vec<u64>) {
        let (written, repeats) = (Written::default(), Repeats::default());
        let to = written.clone();
        let format = fmt::format().json().flatten_event(true).without_time();
        let format = WithoutRepeats { format, end: "}", repeats: repeats.clone() };
        let layer = fmt::layer().json().event_format(format).with_writer(move || to.clone());
        let age = |by: Duration| {
            for kind in repeats.kinds().values_mut() {
                kind.since = kind.since.checked_sub(by).unwrap();
            }
        };
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || events(&age));
        let ended = repeats.take_ended(Instant::now() + Duration::from_secs(2));
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        (text.lines().map(str::to_owned).collect(), ended.into_iter().map(|kind| kind.left_out).collect())
    }

    fn failed(status: u16, request_id: u64) {
        tracing::warn!(target: "access", status, request_id, "request failed");
    }

    #[test]
    fn a_kind_has_one_line_a_second_and_a_count() {
        let (lines, ended) = log(|age| {
            for second in 0..3 {
                for request in 0..1000 {
                    failed(503, second * 1000 + request);
                    failed(504, request);
                }
                age(Duration::from_secs(1));
            }
        });
        assert_eq!(lines.len(), 6, "{lines:#?}");
        assert!(!lines[0].contains("left_out") && lines[2].ends_with(",\"left_out\":999}"), "{lines:#?}");
        assert_eq!(ended, [999, 999], "the last second's");
    }

    #[test]
    fn kinds_are_bounded_and_others_are_not_limited() {
        let (lines, ended) = log(|_| {
            for number in 0..100 {
                tracing::error!(number, "text {number}");
                tracing::info!("a request");
            }
        });
        assert_eq!(lines.len(), 100 + super::MAX_KINDS + 1);
        assert_eq!(ended, [100 - super::MAX_KINDS as u64 - 1]);
    }
}

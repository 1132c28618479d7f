//! What the processes of a measurement take, as the system counts it.

use std::{fs, io::Write as _, time::Instant};

/// Ticks of processor time in a second.
const TICKS: f64 = 100.0;

/// The processes of the service.
pub(crate) struct Processes {
    pub(crate) service: i32,
    /// The database server, whose children serve the connections.
    pub(crate) database: i32,
}

/// Processor time so far.
pub(crate) struct Used {
    at: Instant,
    service: f64,
    database: f64,
    generator: f64,
}

/// Processors in use on average, and memory.
#[derive(Default)]
pub(crate) struct Usage {
    pub(crate) service: f64,
    pub(crate) database: f64,
    pub(crate) generator: f64,
    /// The most memory of the service since [`Processes::reset_peak`].
    pub(crate) peak_mib: u64,
}

impl Processes {
    /// What they have used so far.
    pub(crate) fn usage(&self) -> Used {
        Used {
            at: Instant::now(),
            service: seconds(self.service, false),
            database: seconds(self.database, true) + children(self.database).map(|pid| seconds(pid, true)).sum::<f64>(),
            generator: seconds(std::process::id().cast_signed(), false),
        }
    }

    /// What they have used since then.
    pub(crate) fn since(&self, before: &Used) -> Usage {
        let now = self.usage();
        let time = (now.at - before.at).as_secs_f64().max(0.001);
        Usage {
            service: (now.service - before.service) / time,
            database: (now.database - before.database).max(0.0) / time,
            generator: (now.generator - before.generator) / time,
            peak_mib: self.memory("VmHWM:") >> 10,
        }
    }

    /// Makes the memory of the service that is resident now its peak.
    pub(crate) fn reset_peak(&self) {
        let file = fs::OpenOptions::new().write(true).open(format!("/proc/{}/clear_refs", self.service));
        // The peak is then that since the start.
        let _ = file.and_then(|mut file| file.write_all(b"5"));
    }

    /// How many files and sockets the service has open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.service)).map_or(0, Iterator::count)
    }

    /// A figure of the service's memory, in KiB.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.service)).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
    }
}

/// The processor time of a process; `with_ended`: with that of its children that have ended.
fn seconds(pid: i32, with_ended: bool) -> f64 {
    let fields = stat(pid);
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    let ended = if with_ended { ticks(13) + ticks(14) } else { 0.0 };
    (ticks(11) + ticks(12) + ended) / TICKS
}

/// The fields of `/proc/PID/stat` that follow the name.
fn stat(pid: i32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

fn children(pid: i32) -> impl Iterator<Item = i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children: Vec<i32> = text.split_whitespace().filter_map(|child| child.parse().ok()).collect();
    children.into_iter()
}

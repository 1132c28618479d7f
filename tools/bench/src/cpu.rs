//! Reads CPU time of processes from the kernel.

use procfs::process::{Stat, all_processes};

/// Returns the CPU seconds of processes and their current and former descendants.
///
/// `PostgreSQL`'s backends are descendants of its server.
pub(crate) fn cpu_seconds(roots: &[i32]) -> f64 {
    let all: Vec<Stat> =
        all_processes().into_iter().flatten().filter_map(|process| process.ok()?.stat().ok()).collect();
    let (mut ticks, mut left) = (0, roots.to_vec());
    while let Some(pid) = left.pop() {
        left.extend(all.iter().filter(|stat| stat.ppid == pid).map(|stat| stat.pid));
        let own = all.iter().filter(|stat| stat.pid == pid);
        ticks += own.map(|stat| (stat.utime + stat.stime) as i64 + stat.cutime + stat.cstime).sum::<i64>();
    }
    ticks as f64 / procfs::ticks_per_second() as f64
}

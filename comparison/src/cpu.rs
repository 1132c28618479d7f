//! CPU time and memory of processes, from the kernel.

use std::collections::HashMap;

use anyhow::Context as _;

/// The kernel counts in hundredths of a second (`USER_HZ`), whatever its own clock.
const TICKS_A_SECOND: f64 = 100.0;

/// CPU seconds of some processes and their descendants so far, including children that have ended and were waited for.
/// The backends of `PostgreSQL` are descendants of its server.
pub(crate) fn cpu_seconds(roots: &[i32]) -> f64 {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    let mut ticks: HashMap<i32, u64> = HashMap::new();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let Some((parent, spent)) =
            std::fs::read_to_string(format!("/proc/{pid}/stat")).ok().as_deref().and_then(parse)
        else {
            continue;
        };
        children.entry(parent).or_default().push(pid);
        ticks.insert(pid, spent);
    }
    let (mut sum, mut left) = (0, roots.to_vec());
    while let Some(pid) = left.pop() {
        sum += ticks.get(&pid).copied().unwrap_or_default();
        left.extend(children.remove(&pid).unwrap_or_default());
    }
    sum as f64 / TICKS_A_SECOND
}

/// The parent and the ticks in a line of `/proc/…/stat`: user and system time, own and of children waited for.
fn parse(line: &str) -> Option<(i32, u64)> {
    // The program's name, in parentheses, may hold anything.
    let mut fields = line.rsplit_once(')')?.1.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let spent = fields.skip(9).take(4).map(|ticks| ticks.parse::<u64>().unwrap_or_default()).sum();
    Some((parent, spent))
}

/// The most memory that a process has ever had resident, in bytes.
pub(crate) fn peak_memory(pid: i32) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("a measured process is gone")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the kernel reports no peak")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().context("the peak is no number")?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_found_after_any_name() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194560 900 0 0 0 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(super::parse(line), Some((3, 127)));
    }

    #[test]
    fn this_process_has_spent_something() {
        let own = std::process::id() as i32;
        let start = super::cpu_seconds(&[own]);
        let mut sum = 0_u64;
        while super::cpu_seconds(&[own]) < start + 0.02 {
            sum = std::hint::black_box((0..100_000).fold(sum, u64::wrapping_add));
        }
        assert!(super::peak_memory(own).unwrap() > 1 << 20);
    }
}

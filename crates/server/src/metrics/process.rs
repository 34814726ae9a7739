//! Metrics of the process, read from `/proc` for each page; `None` on systems without it.

use partita_wire::admin::ProcessStats;

/// Ticks per second in `/proc/self/stat`: 100 in Linux's interface to programs, independent of the kernel's own rate.
const TICKS_PER_SECOND: f64 = 100.0;

/// Memory, processor time and open files of the process.
pub(crate) fn process_stats() -> Option<ProcessStats> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    Some(ProcessStats {
        resident_bytes: resident_bytes(&status)?,
        cpu_seconds: cpu_seconds(&stat)?,
        open_files: std::fs::read_dir("/proc/self/fd").ok()?.count() as u64,
    })
}

fn resident_bytes(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    // The program's name is in parentheses and may contain any character, so count from the last parenthesis: user and
    // system time are fields 14 and 15 (proc(5)), the 12th and 13th after it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_parsed() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(
            resident_bytes("Name:\tx\nVmRSS:\t   2048 kB\n"),
            Some(2 << 20)
        );
        assert_eq!((cpu_seconds("7 (x"), resident_bytes("")), (None, None));
        let process = process_stats().unwrap();
        assert!(
            process.resident_bytes > 1 << 18 && process.open_files >= 3,
            "{process:?}"
        );
    }
}

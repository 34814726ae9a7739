//! The memory that this process may use.

use std::path::Path;

use crate::world;

/// The memory, in bytes, that is assumed if the machine's memory is unknown, and in simulated worlds, whose runs must
/// not depend on the machine.
const USUAL_BYTES: u64 = 4 << 30;

/// The bytes that this process may use: the machine's memory, or less if a cgroup or half the limit of the address
/// space (`ulimit -v`) is lower. Reads files of the system, so call it once, at start: the limits of a running process
/// seldom change.
#[must_use]
pub fn available() -> u64 {
    if world::is_simulated() {
        return USUAL_BYTES;
    }
    let machine = read("/proc/meminfo").and_then(|text| total_memory(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = cgroup_limits(Path::new("/sys/fs/cgroup"), &groups);
    let lowest = limits.into_iter().chain(address_space_limit()).min();
    machine
        .unwrap_or(USUAL_BYTES)
        .min(lowest.unwrap_or(u64::MAX))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `MemTotal` of `/proc/meminfo`.
fn total_memory(meminfo: &str) -> Option<u64> {
    let mut lines = meminfo.lines();
    let total = lines.find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The limits of the process's cgroups and of all groups above them: version 2 (`0::/PATH`, `memory.max`) and version 1
/// (`N:memory:/PATH`, `memory.limit_in_bytes`). In a container the path may be the host's, which does not exist in the
/// container: in that case the limits of the root group apply.
fn cgroup_limits(root: &Path, groups: &str) -> Vec<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (top, file) = if controllers.is_empty() {
            (root.to_owned(), "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            (root.join("memory"), "memory.limit_in_bytes")
        } else {
            continue;
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            // The parsing fails for a group without a limit, whose file contains "max".
            let limit = read(top.join(group).join(file));
            limits.extend(limit.and_then(|text| text.trim().parse::<u64>().ok()));
        }
    }
    limits
}

/// Half the limit of the address space: the other half is for the program, stacks of threads, and what allocators reserve.
#[cfg(unix)]
fn address_space_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::As).current.map(|limit| limit / 2)
}

#[cfg(not(unix))]
fn address_space_limit() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn the_machines_memory_is_parsed() {
        let text = "MemFree:  1 kB\nMemTotal:       16303428 kB\n";
        assert_eq!(total_memory(text), Some(16_303_428 * 1024));
        assert_eq!(total_memory("MemTotal: kB"), None);
    }

    #[test]
    fn limits_of_all_parent_cgroups_apply() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a/memory.max", "900\n");
        write(root.path(), "a/b/memory.max", "max\n");
        write(root.path(), "memory/x/memory.limit_in_bytes", "700\n");
        write(root.path(), "cpu/x/memory.limit_in_bytes", "1\n");
        let limits = |groups: &str| cgroup_limits(root.path(), groups);
        assert_eq!(limits("0::/a/b\n"), [900]);
        assert_eq!(limits("4:cpu:/x\n3:memory,hugetlb:/x/y\n"), [700]);
        assert!(limits("0::/elsewhere\n1:name=systemd:/\nbroken").is_empty());
        write(root.path(), "memory.max", "600\n");
        assert_eq!(limits("0::/elsewhere\n"), [600]);
    }

    #[test]
    fn a_simulated_world_has_always_the_same_memory() {
        assert!(available() > 1 << 20);
        let _world = world::simulate();
        assert_eq!(available(), USUAL_BYTES);
    }
}

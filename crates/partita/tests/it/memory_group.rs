//! A memory cgroup for a server under test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the system shows the cgroups of version 1 that limit memory.
const ROOT: &str = "/sys/fs/cgroup/memory";

/// A memory cgroup, below the cgroup of this process. Dropping it removes it; its processes must have ended.
pub(crate) struct MemoryGroup {
    directory: PathBuf,
}

impl MemoryGroup {
    /// A cgroup with a limit in bytes.
    ///
    /// # Errors
    /// Why none can be created: without permission, or with version 2, where a group with processes cannot have groups with
    /// limits below it.
    pub(crate) fn create(bytes: u64) -> Result<Self, String> {
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("partita-test-{}-{number}", std::process::id());
        let group = Self {
            directory: own_group()?.join(name),
        };
        let created = std::fs::create_dir(&group.directory)
            .and_then(|()| std::fs::write(group.limit_file(), bytes.to_string()));
        match created {
            Ok(()) => Ok(group),
            Err(error) => Err(format!(
                "cannot create the cgroup {}: {error}",
                group.directory.display()
            )),
        }
    }

    fn limit_file(&self) -> PathBuf {
        self.directory.join("memory.limit_in_bytes")
    }

    /// The limit in bytes, which the system has rounded to its pages.
    pub(crate) fn limit(&self) -> u64 {
        let text = std::fs::read_to_string(self.limit_file()).unwrap();
        text.trim().parse().unwrap()
    }

    /// The file that moves a process into the group.
    pub(crate) fn processes_file(&self) -> PathBuf {
        self.directory.join("cgroup.procs")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group that stays is empty and does no harm.
        let _ = std::fs::remove_dir(&self.directory);
    }
}

/// The directory of this process's memory cgroup of version 1.
fn own_group() -> Result<PathBuf, String> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups.lines().find_map(|line| {
        let (_, line) = line.split_once(':')?;
        let (controllers, path) = line.split_once(':')?;
        let is_memory = controllers.split(',').any(|name| name == "memory");
        is_memory.then_some(path)
    });
    let path = path.ok_or("this process has no memory cgroup of version 1")?;
    let directory = Path::new(ROOT).join(path.trim_start_matches('/'));
    // In a container the path may be the host's, which does not exist in the container.
    Ok(if directory.is_dir() {
        directory
    } else {
        PathBuf::from(ROOT)
    })
}

//! A small file system in memory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// A mounted tmpfs; unmounted when dropped.
#[derive(Debug)]
pub(super) struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system of that size on a fresh folder below `parent`.
    pub(super) fn mount(parent: &Path, mib: u64) -> anyhow::Result<Self> {
        let path = parent.join(format!("disk-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
            .arg(&path)
            .output()
            .context("starting mount")?;
        let message = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", message.trim());
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Unmounts lazily, because the server may still be stopping. After a failure the file system stays in memory
        // until a reboot.
        let mut command = Command::new("umount");
        let _ = command.arg("--lazy").arg(&self.path).status();
        let _ = std::fs::remove_dir(&self.path);
    }
}

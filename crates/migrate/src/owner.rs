//! [`Owner`]: the process that holds a lease, so that another process of the same machine can see that it has ended.
//!
//! A process counts as ended only if that is certain:
//! - the machine, the boot and the namespace of process numbers are those of this process. Containers have namespaces
//!   of their own, in which the number is another process;
//! - there is no process of this number, or it started at another time, because the number was given away again.
//!
//! Only Linux shows all of this. Elsewhere a lease has no owner, and lasts until it expires.

use partita_client::{Entity, Value};

/// A process, by its machine, number and start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// The boot of the machine and the namespace of process numbers.
    machine: String,
    process: i32,
    /// The start of the process, in the kernel's units since the boot.
    started: i64,
}

impl Owner {
    /// The owner that the row of a lease names.
    pub(super) fn of(row: &Entity) -> Option<Self> {
        match (row.get("Machine"), row.get("Process"), row.get("Started")) {
            (
                Some(Value::String(machine)),
                Some(Value::Int32(process)),
                Some(Value::Int64(started)),
            ) => Some(Self {
                machine: machine.clone(),
                process: *process,
                started: *started,
            }),
            _ => None,
        }
    }

    /// Adds the owner to the row of a lease.
    pub(super) fn add_to(&self, row: &mut Entity) {
        row.insert("Machine", self.machine.as_str())
            .insert("Process", self.process)
            .insert("Started", self.started);
    }

    /// This process.
    #[cfg(target_os = "linux")]
    pub(super) fn this() -> Option<Self> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
        let process = i32::try_from(std::process::id()).ok()?;
        Some(Self {
            machine: format!("{} {}", boot.trim(), namespace.display()),
            process,
            started: Stat::of(process)?.started,
        })
    }

    /// This process.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn this() -> Option<Self> {
        None
    }

    /// Whether the process was on this machine and has certainly ended.
    #[cfg(target_os = "linux")]
    pub(super) fn has_ended(&self) -> bool {
        use rustix::io::Errno;
        use rustix::process::{Pid, test_kill_process};
        if Self::this().is_none_or(|this| this.machine != self.machine) {
            return false;
        }
        let Some(process) = Pid::from_raw(self.process) else {
            return false;
        };
        // `/proc` may hide the processes of other users, but this call does not.
        match test_kill_process(process) {
            Err(Errno::SRCH) => true,
            _ => Stat::of(self.process)
                .is_some_and(|stat| stat.started != self.started || stat.is_zombie),
        }
    }

    /// Whether the process was on this machine and has certainly ended.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn has_ended(&self) -> bool {
        false
    }
}

/// What the kernel says of a process.
#[cfg(target_os = "linux")]
struct Stat {
    started: i64,
    /// Whether it has ended, and its parent has not yet read its exit code.
    is_zombie: bool,
}

#[cfg(target_os = "linux")]
impl Stat {
    fn of(process: i32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// Reads `proc_pid_stat(5)`: the third field is the state, the 22nd the start. The second is the name in
    /// parentheses, which may contain anything.
    fn read(text: &str) -> Option<Self> {
        let (_, after_name) = text.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        let state = fields.next()?;
        Some(Self {
            started: fields.nth(18)?.parse().ok()?,
            is_zombie: matches!(state, "Z" | "X"),
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_not_ended_and_others_may_have() {
        let this = Owner::this().unwrap();
        assert!(!this.has_ended());
        let of_another = |change: fn(&mut Owner)| {
            let mut owner = this.clone();
            change(&mut owner);
            owner.has_ended()
        };
        // The number was given to another process.
        assert!(of_another(|owner| owner.started -= 1));
        // Numbers of processes are below 2^22.
        assert!(of_another(|owner| owner.process = i32::MAX));
        assert!(!of_another(|owner| owner.process = 0));
        // The processes of another machine, boot or container cannot be seen from here.
        assert!(!of_another(|owner| {
            owner.process = i32::MAX;
            owner.machine.push('0');
        }));
        let mut row = Entity::new("lease", "lease");
        assert_eq!(Owner::of(&row), None);
        this.add_to(&mut row);
        assert_eq!(Owner::of(&row), Some(this));
    }

    #[test]
    fn a_zombie_has_ended() {
        let text = |state: &str| {
            format!(
                "7 (a) R b) {state} 1 7 7 0 -1 4194304 96 0 0 0 0 0 0 0 20 0 1 0 3871947 3133440"
            )
        };
        let stat = Stat::read(&text("S")).unwrap();
        assert_eq!((stat.started, stat.is_zombie), (3_871_947, false));
        assert!(Stat::read(&text("Z")).unwrap().is_zombie);
    }
}

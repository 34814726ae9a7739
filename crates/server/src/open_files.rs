//! The limit of open files, divided between connections and the store.
//!
//! Every connection is an open file. If clients used all of them, the store could not open its own files and writes
//! would fail. So connections get the limit less a reserve for the store, and less the data files that the store keeps
//! open for reads.

/// The share of the other open files that the data files of the store may take: one in so many.
const DATA_FILES_SHARE: u64 = 8;

/// The number of data files that stay open, however low the limit is.
const DATA_FILES_MIN: u64 = 32;

/// The number of data files that stay open, however high the limit is: a quarter of a terabyte in files of 64 MiB.
const DATA_FILES_MAX: u64 = 4_096;

/// The number of files reserved for the store, its WAL, the admin port, connections that are being closed and the
/// runtime.
const FILES_RESERVED: u64 = 384;

/// The number of connections that are allowed even if the limit of open files is lower than the reserve.
const CONNECTIONS_MIN: usize = 16;

/// Raises the limit of open files as far as the system allows, and returns how many of the wanted connections fit. Logs
/// a warning if that is fewer.
pub(crate) fn room_for(connections_wanted: usize) -> usize {
    let limit = raise();
    let room = connections(limit, connections_wanted);
    if room < connections_wanted {
        tracing::warn!(
            connections_wanted,
            connections_max = room,
            open_files_max = limit,
            "fewer connections than --connections-max: the limit of open files is too low; raise it (ulimit -n)"
        );
    }
    room
}

fn connections(files_max: Option<u64>, wanted: usize) -> usize {
    let Some(files_max) = files_max else {
        return wanted;
    };
    let room = files_max.saturating_sub(FILES_RESERVED + data_files(Some(files_max)));
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    wanted.min(room.max(CONNECTIONS_MIN))
}

/// The number of data files that the store may keep open.
pub(crate) fn data_files_max() -> usize {
    usize::try_from(data_files(limit())).unwrap_or(usize::MAX)
}

fn data_files(files_max: Option<u64>) -> u64 {
    let Some(files_max) = files_max else {
        return DATA_FILES_MAX;
    };
    let others = files_max.saturating_sub(FILES_RESERVED);
    (others / DATA_FILES_SHARE).clamp(DATA_FILES_MIN, DATA_FILES_MAX)
}

/// The limit of open files; `None` for unlimited.
#[cfg(unix)]
fn limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current
}

/// On other systems sockets do not count as open files.
#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}

/// Raises the soft limit to the hard limit. Returns the limit afterwards, `None` for unlimited.
#[cfg(unix)]
fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    // Some systems do not grant their own hard limit; then the old limit stays.
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    }
}

/// Windows, where sockets do not count as open files, has no such limit.
#[cfg(not(unix))]
fn raise() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_reserved_for_the_store() {
        assert_eq!(connections(None, 5000), 5000);
        assert_eq!(connections(Some(1024), 5000), 560);
        assert_eq!(connections(Some(1024), 100), 100);
        assert_eq!(connections(Some(64), 100), CONNECTIONS_MIN);
        assert_eq!(connections(Some(64), 4), 4);
    }

    #[test]
    fn data_files_get_a_share_of_the_limit() {
        assert_eq!(data_files(None), DATA_FILES_MAX);
        assert_eq!(data_files(Some(64)), DATA_FILES_MIN);
        assert_eq!(data_files(Some(1024)), 80);
        assert_eq!(data_files(Some(20_384)), 2_500);
        assert_eq!(data_files(Some(1 << 20)), DATA_FILES_MAX);
    }

    #[cfg(unix)]
    #[test]
    fn the_limit_is_raised_to_the_hard_limit() {
        use rustix::process::{Resource, getrlimit};
        let limit = raise();
        assert_eq!(limit, getrlimit(Resource::Nofile).current);
    }
}

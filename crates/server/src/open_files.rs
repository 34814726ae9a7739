//! Room for connections among the files that the system lets a process open.
//!
//! Every connection is an open file. A crowd of clients that used up the last one would keep the store from opening its
//! own files, and so stop writes: connections get what the store surely does not need.

/// Files kept for the store, its log, the admin port, and the runtime.
const FILES_KEPT: u64 = 256;

/// Connections that are allowed however small the system's limit is.
const CONNECTIONS_MIN: usize = 16;

/// Asks the system for as many open files as it gives without being told by its administrator, and returns how many
/// connections of those wanted there is room for. Tells the operator when it is fewer.
pub(crate) fn room_for(connections_wanted: usize) -> usize {
    let limit = raise();
    let room = connections(limit, connections_wanted);
    if room < connections_wanted {
        tracing::warn!(
            connections_wanted,
            connections_max = room,
            open_files_max = limit,
            "the system's limit of open files leaves room for fewer connections than set"
        );
    }
    room
}

fn connections(files_max: Option<u64>, wanted: usize) -> usize {
    let Some(files_max) = files_max else {
        return wanted;
    };
    let room = usize::try_from(files_max.saturating_sub(FILES_KEPT)).unwrap_or(usize::MAX);
    wanted.min(room.max(CONNECTIONS_MIN))
}

/// Raises the soft limit to the hard one. Returns what holds afterwards, None for no limit.
#[cfg(unix)]
fn raise() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        maximum: before.maximum,
    };
    // Some systems have a hard limit that they do not grant; then the old one holds.
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => before.maximum,
        Err(_) => before.current,
    }
}

/// Elsewhere sockets are not files.
#[cfg(not(unix))]
fn raise() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_keeps_its_files() {
        assert_eq!(connections(None, 5000), 5000);
        assert_eq!(connections(Some(1024), 5000), 768);
        assert_eq!(connections(Some(1024), 100), 100);
        assert_eq!(connections(Some(64), 100), CONNECTIONS_MIN);
        assert_eq!(connections(Some(64), 4), 4);
    }

    #[cfg(unix)]
    #[test]
    fn the_limit_is_raised_as_far_as_it_goes() {
        use rustix::process::{Resource, getrlimit};
        let limit = raise();
        assert_eq!(limit, getrlimit(Resource::Nofile).current);
    }
}

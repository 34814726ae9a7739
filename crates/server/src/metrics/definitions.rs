//! Every metric of the page: name with unit, type and help.
//!
//! Names are added, never changed: dashboards rely on them.

/// A metric type of Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// One metric family: samples with one name, distinguished by labels.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
}

macro_rules! definitions {
    ($($constant:ident = $kind:ident $name:literal $help:literal;)+) => {
        $(pub(crate) const $constant: Definition =
            Definition { name: $name, kind: Kind::$kind, help: $help };)+

        /// Every definition, for the tests of names and of the document.
        #[cfg(test)]
        pub(crate) const ALL: &[Definition] = &[$($constant,)+];
    };
}

definitions! {
    BUILD_INFO = Gauge "partita_build_info" "Always 1; the version is a label.";
    UPTIME = Gauge "partita_uptime_seconds" "Time since the process started.";
    READY = Gauge "partita_ready" "1 in the states ready and degraded, else 0.";
    WALL_CLOCK_LAG = Gauge "partita_wall_clock_lag_seconds" "How far the wall clock is behind the newest stored row.";

    REQUESTS = Counter "partita_requests_total" "Requests answered, by operation and class of status.";
    ERRORS = Counter "partita_errors_total" "Requests answered with an error, by operation, storage error code and status.";
    BUSY = Counter "partita_busy_total" "Requests answered with 503 ServerBusy because they were not executed, by reason.";
    DURATION = Histogram "partita_request_duration_seconds" "From the end of a request's headers until its answer is ready to be sent, by operation.";
    BYTES_IN = Counter "partita_request_bytes_total" "Bytes of request bodies, by operation.";
    BYTES_OUT = Counter "partita_response_bytes_total" "Bytes of answer bodies, by operation.";
    ENTITIES_OUT = Counter "partita_entities_returned_total" "Entities and messages in answers, by operation.";
    IN_FLIGHT = Gauge "partita_requests_in_flight" "Requests under way.";

    FORWARDED = Counter "partita_forwarded_total" "Requests held or forwarded to another server of the cluster, by outcome.";
    HELD = Gauge "partita_held_requests" "Requests that wait until a server serves their range.";
    LEASE_LEFT = Gauge "partita_lease_seconds_left" "How long the lease of this server of a cluster is valid if it is not renewed.";
    UNOWNED = Gauge "partita_unowned_ranges" "Ranges that no living server of the cluster serves, as this server sees it.";
    TAKE_OVER = Histogram "partita_takeover_seconds" "Time of each step of take-overs of ranges: sealing and reading the log, opening and flushing (open), and the record of the new owner (activate).";
    TARGET_SHARE = Gauge "partita_target_share" "Part of the target of a table or an account that this server of a cluster may use, from 0 to 1. Those with refused requests in the last minute.";
    FOR_PEERS = Gauge "partita_peer_requests_in_flight" "Requests of other servers of the cluster under way here.";

    CONNECTIONS = Gauge "partita_connections" "Open client connections.";
    CONNECTIONS_OPENED = Counter "partita_connections_opened_total" "Client connections accepted.";
    CONNECTIONS_FAILED = Counter "partita_connections_failed_total" "Client connections ended by a fault or a limit, by reason.";

    MEMORY_IN_FLIGHT = Gauge "partita_memory_in_flight_bytes" "Memory reserved for request bodies and answers.";
    MEMORY_IN_FLIGHT_MAX = Gauge "partita_memory_in_flight_max_bytes" "Limit of the memory for request bodies and answers.";

    COMMIT_BATCHES = Counter "partita_commit_batches_total" "Engine batches that became durable.";
    COMMIT_ROWS = Counter "partita_commit_rows_total" "Rows in engine batches that became durable.";
    COMMIT_BYTES = Counter "partita_commit_bytes_total" "Bytes in engine batches that became durable, with 64 bytes of overhead for each row.";
    COMMIT_ROW_BYTES = Counter "partita_commit_row_bytes_total" "Bytes of keys and values of rows in engine batches that became durable.";
    COMMIT_REFUSED = Counter "partita_commit_refused_total" "Engine batches that were refused and did not happen.";
    COMMIT_UNKNOWN = Counter "partita_commit_unknown_total" "Engine batches whose outcome is unknown.";
    GROUP_BATCHES = Histogram "partita_commit_group_batches" "Engine batches that shared one commit.";
    GROUP_BYTES = Histogram "partita_commit_group_bytes" "Bytes of one commit.";
    SYNC_DURATION = Histogram "partita_log_sync_duration_seconds" "Time of one write and sync of the WAL.";
    LOG_BYTES = Gauge "partita_log_bytes" "Bytes of the WAL that a restart would read.";
    WRITTEN_BYTES = Counter "partita_storage_written_bytes_total" "Bytes written to the WAL (log), by flushes (flush) and by compactions (compaction).";
    STORED_BYTES = Gauge "partita_storage_bytes" "Bytes of the data files that ranges read (live), of all other data files (replaced), and of the WAL (log).";

    BLOCK_CACHE_HITS = Counter "partita_block_cache_hits_total" "Blocks and metadata of the store found in memory.";
    BLOCK_CACHE_MISSES = Counter "partita_block_cache_misses_total" "Blocks and metadata of the store read from disk.";
    BLOCK_CACHE_BYTES = Gauge "partita_block_cache_bytes" "Memory held by blocks of the store.";
    DISK_CACHE_HITS = Counter "partita_disk_cache_hits_total" "Parts of files of the object store found on the disk of this machine.";
    DISK_CACHE_MISSES = Counter "partita_disk_cache_misses_total" "Parts of files of the object store fetched for the disk of this machine.";
    DISK_CACHE_BYTES = Gauge "partita_disk_cache_bytes" "Bytes on the disk of this machine held by parts of files of the object store.";
    DAMAGED_FILES = Gauge "partita_damaged_files" "Files of the store that cannot be read.";
    SCRUB_BYTES = Counter "partita_scrub_bytes_total" "Bytes of the store that were read to find damaged files.";
    SCRUB_PASSES = Counter "partita_scrub_passes_total" "Complete reads of the store to find damaged files.";
    SCRUB_DAMAGED = Gauge "partita_scrub_damaged_files" "Damaged files that the last complete read of the store found.";
    SCRUB_LAST = Gauge "partita_scrub_last_pass_timestamp_seconds" "Unix time of the last complete read of the store; 0 before the first.";
    QUEUE_MESSAGES = Gauge "partita_queue_messages" "Messages of a queue, also hidden ones, and expired ones that are not removed yet. The 100 fullest queues.";
    QUEUE_NEXT_AGE = Gauge "partita_queue_next_message_age_seconds" "Time since the put of the message of a queue that is next; 0 for an empty queue. The 100 fullest queues.";

    ENTITY_CACHE_HITS = Counter "partita_entity_cache_hits_total" "Entities found in memory.";
    ENTITY_CACHE_MISSES = Counter "partita_entity_cache_misses_total" "Entities looked up in the store.";
    ENTITY_CACHE_BYTES = Gauge "partita_entity_cache_bytes" "Memory held by single entities.";

    RESIDENT_BYTES = Gauge "process_resident_memory_bytes" "Memory of the process.";
    CPU = Counter "process_cpu_seconds_total" "Processor time of the process.";
    OPEN_FILES = Gauge "process_open_fds" "Open files and sockets of the process.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_prometheus() {
        let mut names = std::collections::BTreeSet::new();
        for Definition { name, kind, help } in ALL {
            assert!(names.insert(name), "{name} is defined twice");
            assert!(
                name.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{name}"
            );
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert!(help.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn the_document_lists_every_metric() {
        let document = include_str!("../../../../docs/admin-api.md");
        for Definition { name, .. } in ALL {
            assert!(
                document.contains(&format!("`{name}`")),
                "docs/admin-api.md lacks {name}"
            );
        }
    }
}

//! The catalog: every setting, described once. The command line, the settings file, the environment variables, `partita
//! config show` and the table in `docs/settings.md` are made from it or compared with it.
//!
//! Invariants, checked by tests: keys, flags, aliases and one-letter flags are unique; every default is a valid value.

use super::setting::Takes::{Many, One, Switch};
use super::setting::{Setting, Takes};

/// Declares the settings of each help heading, and the list of all. A setting is `NAME = key, flag, what it takes,
/// default, help`, then other fields of [`Setting`] that differ from [`Setting::NONE`].
macro_rules! settings {
    ($($group:literal {
        $($name:ident = $key:literal, $flag:literal, $takes:expr, $default:literal, $help:literal
            $(, $field:ident: $value:expr)*;)+
    })+) => {
        $($(pub(crate) static $name: Setting = Setting {
            key: $key,
            flag: $flag,
            takes: $takes,
            default: $default,
            group: $group,
            help: $help,
            $($field: $value,)*
            ..Setting::NONE
        };)+)+

        /// Every setting, in the order in which help and `config show` list them.
        pub static ALL: &[&Setting] = &[$($(&$name,)+)+];
    };
}

settings! {
    "Listening" {
        TABLE_HOST = "table.host", "table-host", One("HOST"), "127.0.0.1",
            "Address of the table endpoint", aliases: &["tableHost"];
        TABLE_PORT = "table.port", "table-port", One("PORT"), "10002",
            "Port of the table endpoint; 0 picks a free port, which is printed", aliases: &["tablePort"];
        TABLE_KEEP_ALIVE = "table.keep-alive", "table-keep-alive", One("TIME"), "5s",
            "Timeout sent to clients in the Keep-Alive header, in whole seconds", aliases: &["tableKeepAliveTimeout"];
        HOST_SUFFIX = "table.host-suffixes", "host-suffix", Many("SUFFIX"), "table.localhost",
            "Host names of the form ACCOUNT.SUFFIX select the account; may be repeated";
        QUEUE_HOST = "queue.host", "queue-host", One("HOST"), "127.0.0.1",
            "Address of the queue endpoint", aliases: &["queueHost"];
        QUEUE_PORT = "queue.port", "queue-port", One("PORT"), "10001",
            "Port of the queue endpoint; `auto` picks a free port, which is printed, and is the default with --table-port 0; 0 serves no queues", aliases: &["queuePort"];
        QUEUE_KEEP_ALIVE = "queue.keep-alive", "queue-keep-alive", One("TIME"), "5s",
            "Timeout sent to clients of queues in the Keep-Alive header, in whole seconds; unless it is set, that of tables", aliases: &["queueKeepAliveTimeout"];
        QUEUE_HOST_SUFFIX = "queue.host-suffixes", "queue-host-suffix", Many("SUFFIX"), "queue.localhost",
            "Host names of the form ACCOUNT.SUFFIX select the account of a request for queues; may be repeated";
        DISABLE_PRODUCT_STYLE_URL = "table.disable-product-style-url", "disable-product-style-url", Switch, "false",
            "Take the account from the path only and ignore the host name", aliases: &["disableProductStyleUrl"];
        ADMIN_HOST = "admin.host", "admin-host", One("HOST"), "127.0.0.1",
            "Address of the admin port, which needs no credentials";
        ADMIN_PORT = "admin.port", "admin-port", One("PORT"), "10010",
            "Port of health, metrics and status; if the default is in use, a free port, which is printed; 0 disables it";
    }

    "Data" {
        LOCATION = "store.location", "location", One("DIR"), "partita-data",
            "Data directory, created if missing; a URL is that of --store", aliases: &["data"], short: Some('l');
        STORE = "store.url", "store", One("URL"), "",
            "Keep all data in an object store instead of a directory: s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, or file:///DIR";
        LOG_STORE = "store.log", "log-store", One("URL"), "",
            "Another object store, a faster one, for the write-ahead log; without it, the log is in --store";
        LOG_GAP = "store.log-gap", "log-gap", One("TIME"), "5ms",
            "Least time between the starts of two writes to the log of --store: a longer gap costs fewer requests, and each write takes longer";
        DISK_CACHE = "store.disk-cache", "disk-cache", One("DIR"), "",
            "Keep what is often read from the files of --store in this directory, too, which no other process uses";
        DISK_CACHE_BYTES = "store.disk-cache-bytes", "disk-cache-bytes", One("BYTES"), "10GiB",
            "Disk space for --disk-cache, at least 64MiB";
        IN_MEMORY = "store.in-memory", "in-memory", Switch, "false",
            "Keep all data in memory; it is lost when the server stops", aliases: &["inMemoryPersistence"];
        BLOCK_CACHE_BYTES = "store.block-cache-bytes", "block-cache-bytes", One("BYTES"), "auto",
            "Memory for the block cache of the store; `auto` is an eighth of the available memory, at most 256MiB";
        ENTITY_CACHE_BYTES = "store.entity-cache-bytes", "entity-cache-bytes", One("BYTES"), "auto",
            "Memory for the cache of recently read entities; `auto` is a sixteenth of the available memory, at most 128MiB";
        READER = "store.reader", "reader", One("NAME"), "partita",
            "What reads the files of the store: `partita`; `slatedb`, which is slower, if Partita's reader has a fault; `compared` to fail reads for which the two return different rows";
        GARBAGE_AGE = "store.garbage-age", "garbage-age", One("TIME"), "300s",
            "How long unused manifests are kept; unused data files are kept as long, at most 30s, and removed databases, at most 3m";
        SCRUB_RATE = "store.scrub-rate", "scrub-rate", One("BYTES"), "8MiB",
            "Bytes per second that the server reads to find damaged files, once a day; 0 disables it, which is the default with --store";
        BACKUP_PLACES = "store.backup-places", "backup-place", Many("PLACE"), "",
            "Locations where backups and restored stores may be written: absolute paths and URLs, including everything below them";
        BALANCE = "ranges.balance", "balance", One("HOW"), "size",
            "Automatic changes of ranges: `size` splits large ranges and merges cold ones, `load` also splits hot ones, `off` does neither";
        SPLIT_BYTES = "ranges.split-bytes", "split-bytes", One("BYTES"), "8GiB",
            "Split a range whose files are larger than this";
        SPLIT_RATE = "ranges.split-rate", "split-rate", One("N"), "5000",
            "Split a range that serves more requests per second for 10 s, if a split divides the load";
        SPLIT_CPU = "ranges.split-cpu", "split-cpu", One("PERCENT"), "50%",
            "Split a range whose requests use more of one processor for 10 s, if a split divides the load";
    }

    "Cluster" {
        COORDINATOR = "cluster.coordinator", "coordinator", One("URL"), "",
            "Be one of several servers of --store, which agree through etcd on who serves which range: etcd://HOST:PORT,HOST:PORT, or etcds:// for TLS";
        CLUSTER_KEY = "cluster.key", "cluster-key", One("FILE"), "",
            "File of `partita cluster key`, the same on every server of the cluster";
        SERVER_NAME = "cluster.server-name", "server-name", One("NAME"), "",
            "Name of this server, which no other server of the cluster has; without it, the address of --advertise";
        PEER_HOST = "cluster.peer-host", "peer-host", One("HOST"), "127.0.0.1",
            "Address of the port for the other servers of the cluster";
        PEER_PORT = "cluster.peer-port", "peer-port", One("PORT"), "10011",
            "Port for the other servers of the cluster; 0 picks a free port";
        ADVERTISE = "cluster.advertise", "advertise", One("HOST"), "",
            "Host at which the other servers reach this one; without it, --peer-host";
        ROLES = "cluster.roles", "roles", Many("ROLE"), "front,ranges,manager",
            "What this server does: `front` has ports for clients, `ranges` serves ranges, `manager` can be elected to assign them";
        LEASE = "cluster.lease", "lease", One("TIME"), "2s",
            "How long after its last sign of life a server counts as dead; etcd grants at least 2s unless its timings are changed";
        FINALIZE_AFTER = "cluster.finalize-after", "finalize-after", One("TIME"), "24h",
            "How long all servers must have supported the next cluster version before it becomes active without `partita admin finalize`";
        STATE_DIR = "cluster.state-dir", "state-dir", One("DIR"), "",
            "Directory by which a restarted server proves that the process before it is dead; without it, partita/NAME in the state directory of the user, such as ~/.local/state";
    }

    "Access" {
        ACCOUNTS = "accounts", "accounts", One("NAME:KEY[:KEY2];.."), "",
            "Accounts with one or two base64 keys each; replaces devstoreaccount1 with the well-known key", secret: true;
        ALLOW_WELL_KNOWN_KEY = "access.allow-well-known-key", "allow-well-known-key", Switch, "false",
            "Accept the well-known key, which is public, from other machines too";
        LOOSE = "access.loose", "loose", Switch, "false",
            "Accepted for Azurite, without effect: unknown headers and parameters never fail a request here", short: Some('L');
        TLS = "tls.mode", "tls", One("MODE"), "",
            "`dev` creates a local certificate authority once, and serves HTTPS with a certificate for localhost";
        CERT = "tls.cert", "cert", One("FILE"), "",
            "Serve HTTPS with this certificate: PEM with --key, or PFX with --pwd";
        KEY = "tls.key", "key", One("FILE"), "",
            "Private key of --cert, PEM";
        PWD = "tls.pwd", "pwd", One("PASSWORD"), "",
            "Password of the PFX file given by --cert", secret: true;
        OAUTH = "oauth.mode", "oauth", One("MODE"), "",
            "`basic` accepts bearer tokens without checking their signatures: for tests only; needs HTTPS";
        OAUTH_ISSUER = "oauth.issuer", "oauth-issuer", One("URL"), "",
            "Accept bearer tokens of this issuer, signatures checked; needs HTTPS, --oauth-audience, --oauth-jwks";
        OAUTH_AUDIENCE = "oauth.audience", "oauth-audience", Many("AUDIENCE"), "",
            "Audience that a token must name; may be repeated";
        OAUTH_JWKS = "oauth.jwks", "oauth-jwks", One("FILE"), "",
            "File with the issuer's public keys (JSON Web Key Set)";
    }

    "Limits" {
        CONNECTIONS_MAX = "limits.connections-max", "connections-max", One("COUNT"), "1024",
            "Open client connections; for one more, the connection that has waited longest for its client is closed";
        HEADER_BYTES_MAX = "limits.header-bytes-max", "header-bytes-max", One("BYTES"), "64KiB",
            "Size of the request line and the headers together";
        BODY_BYTES_MAX = "limits.body-bytes-max", "body-bytes-max", One("BYTES"), "4MiB",
            "Size of a request body; the protocol's own limits are lower";
        MEMORY_IN_FLIGHT = "limits.memory-in-flight", "memory-in-flight", One("BYTES"), "auto",
            "Memory for request bodies and answers of all connections; requests beyond it get 503; `auto` is a quarter of the available memory, from 32MiB to 1GiB";
        REQUEST_TIMEOUT = "limits.request-timeout", "request-timeout", One("TIME"), "30s",
            "Time from the end of a request's headers to the start of the answer";
        HEADER_TIMEOUT = "limits.header-timeout", "header-timeout", One("TIME"), "10s",
            "Time for a client to send the headers of a request, and for the TLS handshake; for the first request, it begins with the connection";
        STALL_TIMEOUT = "limits.stall-timeout", "stall-timeout", One("TIME"), "20s",
            "Time within a request in which no byte is sent or received";
        TRANSFER_RATE_MIN = "limits.transfer-rate-min", "transfer-rate-min", One("BYTES"), "16KiB",
            "Bytes per second of a request body or an answer; a client that lags behind by more than --stall-timeout is disconnected";
        IDLE_TIMEOUT = "limits.idle-timeout", "idle-timeout", One("TIME"), "60s",
            "Time a connection may stay open between requests";
        DRAIN_TIMEOUT = "limits.drain-timeout", "drain-timeout", One("TIME"), "10s",
            "Time a shutdown waits for running requests";
        BATCHES_MAX = "limits.batches-max", "batches-max", One("COUNT"), "64",
            "Entity group transactions at once; more of them wait up to 5 s, then get 503";
    }

    "Targets" {
        TARGETS = "targets.preset", "targets", One("NAME"), "off",
            "Scalability targets; requests beyond them get 503: `azure` (2000 entities/s per partition, 2000 messages/s per queue, 20000 per account), `classic` (500, 500, 5000) or `off`";
        TARGET_PARTITION_ENTITIES = "targets.partition-entities", "target-partition-entities", One("N"), "",
            "Entities per second of each partition, instead of the preset; `off` for no limit";
        TARGET_PARTITION_BYTES = "targets.partition-bytes", "target-partition-bytes", One("BYTES"), "",
            "Bytes of entities per second of each partition; `off` for no limit";
        TARGET_TABLE_ENTITIES = "targets.table-entities", "target-table-entities", One("N"), "",
            "Entities per second of each table, instead of the preset; `off` for no limit";
        TARGET_TABLE_BYTES = "targets.table-bytes", "target-table-bytes", One("BYTES"), "",
            "Bytes of entities per second of each table; `off` for no limit";
        TARGET_ACCOUNT_ENTITIES = "targets.account-entities", "target-account-entities", One("N"), "",
            "Entities per second of each account, instead of the preset; `off` for no limit";
        TARGET_ACCOUNT_BYTES = "targets.account-bytes", "target-account-bytes", One("BYTES"), "",
            "Bytes of entities per second of each account; `off` for no limit";
        TARGET_QUEUE_MESSAGES = "targets.queue-messages", "target-queue-messages", One("N"), "",
            "Messages per second of each queue, instead of the preset; `off` for no limit";
        TARGET_QUEUE_BYTES = "targets.queue-bytes", "target-queue-bytes", One("BYTES"), "",
            "Bytes of messages per second of each queue; `off` for no limit";
        TARGET_TABLES = "targets.tables", "target-tables", One("NAME:FIGURE=N;.."), "",
            "Targets of single tables, in any account: partition-entities, partition-bytes, table-entities, table-bytes";
    }

    "Output" {
        LOG_LEVEL = "log.level", "log-level", One("LEVEL"), "info",
            "error, warn, info, debug or trace";
        LOG_FORMAT = "log.format", "log-format", One("FORMAT"), "text",
            "text or json";
        SILENT = "log.silent", "silent", Switch, "false",
            "Log errors only; the start-up lines are still printed", short: Some('s');
        DEBUG = "log.debug", "debug", One("FILE"), "",
            "Append every request to this file, with the expected string to sign when a signature is wrong; no secrets", short: Some('d');
    }
}

/// Azurite's flags that are accepted without effect, so that existing command lines keep working: blobs are not
/// served, every API version is accepted, and the server sends no telemetry.
pub static ACCEPTED: &[(&str, Takes)] = &[
    ("blobHost", One("HOST")),
    ("blobPort", One("PORT")),
    ("blobKeepAliveTimeout", One("SECONDS")),
    ("extentMemoryLimit", One("MB")),
    ("skipApiVersionCheck", Switch),
    ("disableTelemetry", Switch),
];

//! Every setting there is: one list from which the command line, the file, the variables and `config show` are made.
//!
//! Invariants, held by tests: keys, flags, aliases and one-letter flags are unique; every default is a valid value.

use super::setting::{Accepted, Setting, Takes};

const LISTEN: &str = "Listening";
const DATA: &str = "Data";
const ACCESS: &str = "Access";
const LIMITS: &str = "Limits";
const TARGETS_GROUP: &str = "Targets";
const OUTPUT: &str = "Output";

/// What a setting is when its definition below does not say otherwise.
const PLAIN: Setting = Setting {
    key: "",
    flag: "",
    aliases: &[],
    short: None,
    takes: Takes::Switch,
    default: "false",
    group: LISTEN,
    help: "",
    secret: false,
};

pub(crate) static TABLE_HOST: Setting = Setting {
    key: "table.host",
    flag: "table-host",
    aliases: &["tableHost"],
    takes: Takes::One("HOST"),
    default: "127.0.0.1",
    help: "Address on which tables are served",
    ..PLAIN
};

pub(crate) static TABLE_PORT: Setting = Setting {
    key: "table.port",
    flag: "table-port",
    aliases: &["tablePort"],
    takes: Takes::One("PORT"),
    default: "10002",
    help: "Port on which tables are served; 0 picks a free one, which is printed",
    ..PLAIN
};

pub(crate) static TABLE_KEEP_ALIVE: Setting = Setting {
    key: "table.keep-alive",
    flag: "table-keep-alive",
    aliases: &["tableKeepAliveTimeout"],
    takes: Takes::One("TIME"),
    default: "5s",
    help: "What the Keep-Alive header promises clients, in whole seconds",
    ..PLAIN
};

pub(crate) static HOST_SUFFIX: Setting = Setting {
    key: "table.host-suffixes",
    flag: "host-suffix",
    takes: Takes::Many("SUFFIX"),
    default: "table.localhost",
    help: "Host names of the form ACCOUNT.SUFFIX name the account; may be repeated",
    ..PLAIN
};

pub(crate) static DISABLE_PRODUCT_STYLE_URL: Setting = Setting {
    key: "table.disable-product-style-url",
    flag: "disable-product-style-url",
    aliases: &["disableProductStyleUrl"],
    help: "Take the account from the path only, whatever the host name says",
    ..PLAIN
};

pub(crate) static ADMIN_HOST: Setting = Setting {
    key: "admin.host",
    flag: "admin-host",
    takes: Takes::One("HOST"),
    default: "127.0.0.1",
    help: "Address of the admin port, which asks for no credentials",
    ..PLAIN
};

pub(crate) static ADMIN_PORT: Setting = Setting {
    key: "admin.port",
    flag: "admin-port",
    takes: Takes::One("PORT"),
    default: "10010",
    help: "Port of health, metrics and status; 0 switches it off",
    ..PLAIN
};

pub(crate) static LOCATION: Setting = Setting {
    key: "store.location",
    flag: "location",
    aliases: &["data"],
    short: Some('l'),
    takes: Takes::One("DIR"),
    default: "partita-data",
    group: DATA,
    help: "Directory that holds the data; made when absent",
    ..PLAIN
};

pub(crate) static IN_MEMORY: Setting = Setting {
    key: "store.in-memory",
    flag: "in-memory",
    aliases: &["inMemoryPersistence"],
    group: DATA,
    help: "Keep everything in memory and forget it at the end",
    ..PLAIN
};

pub(crate) static BLOCK_CACHE_BYTES: Setting = Setting {
    key: "store.block-cache-bytes",
    flag: "block-cache-bytes",
    takes: Takes::One("BYTES"),
    default: "256MiB",
    group: DATA,
    help: "Memory for blocks of the store",
    ..PLAIN
};

pub(crate) static ENTITY_CACHE_BYTES: Setting = Setting {
    key: "store.entity-cache-bytes",
    flag: "entity-cache-bytes",
    takes: Takes::One("BYTES"),
    default: "128MiB",
    group: DATA,
    help: "Memory for single entities lately read",
    ..PLAIN
};

pub(crate) static GARBAGE_AGE: Setting = Setting {
    key: "store.garbage-age",
    flag: "garbage-age",
    takes: Takes::One("TIME"),
    default: "300s",
    group: DATA,
    help: "How long files that nobody needs any more are kept for scans that began before",
    ..PLAIN
};

pub(crate) static BACKUP_PLACES: Setting = Setting {
    key: "store.backup-places",
    flag: "backup-place",
    takes: Takes::Many("PLACE"),
    default: "",
    group: DATA,
    help: "Where backups and restored stores may be written: absolute paths and URLs, with all that lies in them",
    ..PLAIN
};

pub(crate) static BALANCE: Setting = Setting {
    key: "ranges.balance",
    flag: "balance",
    takes: Takes::One("HOW"),
    default: "size",
    group: DATA,
    help: "What is done unasked: `size` splits large ranges and merges cold ones, `load` splits hot ones too, `off` neither",
    ..PLAIN
};

pub(crate) static SPLIT_BYTES: Setting = Setting {
    key: "ranges.split-bytes",
    flag: "split-bytes",
    takes: Takes::One("BYTES"),
    default: "8GiB",
    group: DATA,
    help: "A range with more bytes in files is split",
    ..PLAIN
};

pub(crate) static SPLIT_RATE: Setting = Setting {
    key: "ranges.split-rate",
    flag: "split-rate",
    takes: Takes::One("N"),
    default: "5000",
    group: DATA,
    help: "A range with more requests a second for 10 s is split, where that shares them out",
    ..PLAIN
};

pub(crate) static SPLIT_CPU: Setting = Setting {
    key: "ranges.split-cpu",
    flag: "split-cpu",
    takes: Takes::One("PERCENT"),
    default: "50%",
    group: DATA,
    help: "So is a range whose requests take more of one processor for 10 s",
    ..PLAIN
};

pub(crate) static ACCOUNTS: Setting = Setting {
    key: "accounts",
    flag: "accounts",
    takes: Takes::One("NAME:KEY[:KEY2];.."),
    default: "",
    group: ACCESS,
    help: "Accounts with one or two base64 keys each, in place of devstoreaccount1 with the well-known key",
    secret: true,
    ..PLAIN
};

pub(crate) static ALLOW_WELL_KNOWN_KEY: Setting = Setting {
    key: "access.allow-well-known-key",
    flag: "allow-well-known-key",
    group: ACCESS,
    help: "Serve the well-known key, which everybody has, to other machines too",
    ..PLAIN
};

pub(crate) static LOOSE: Setting = Setting {
    key: "access.loose",
    flag: "loose",
    aliases: &[],
    short: Some('L'),
    group: ACCESS,
    help: "Taken as Azurite does; unknown headers and parameters never fail a request here",
    ..PLAIN
};

pub(crate) static TLS: Setting = Setting {
    key: "tls.mode",
    flag: "tls",
    takes: Takes::One("MODE"),
    default: "",
    group: ACCESS,
    help: "`dev` makes a local authority and a certificate for localhost once, and serves HTTPS with it",
    ..PLAIN
};

pub(crate) static CERT: Setting = Setting {
    key: "tls.cert",
    flag: "cert",
    takes: Takes::One("FILE"),
    default: "",
    group: ACCESS,
    help: "Serve HTTPS with this certificate: PEM with --key, or PFX with --pwd",
    ..PLAIN
};

pub(crate) static KEY: Setting = Setting {
    key: "tls.key",
    flag: "key",
    takes: Takes::One("FILE"),
    default: "",
    group: ACCESS,
    help: "Private key of --cert, PEM",
    ..PLAIN
};

pub(crate) static PWD: Setting = Setting {
    key: "tls.pwd",
    flag: "pwd",
    takes: Takes::One("PASSWORD"),
    default: "",
    group: ACCESS,
    help: "Password of a PFX file given by --cert",
    secret: true,
    ..PLAIN
};

pub(crate) static OAUTH: Setting = Setting {
    key: "oauth.mode",
    flag: "oauth",
    takes: Takes::One("MODE"),
    default: "",
    group: ACCESS,
    help: "`basic` takes bearer tokens by their claims, signatures unchecked: for tests only; needs HTTPS",
    ..PLAIN
};

pub(crate) static OAUTH_ISSUER: Setting = Setting {
    key: "oauth.issuer",
    flag: "oauth-issuer",
    takes: Takes::One("URL"),
    default: "",
    group: ACCESS,
    help: "Take bearer tokens of this issuer, signatures checked; needs HTTPS, --oauth-audience, --oauth-jwks",
    ..PLAIN
};

pub(crate) static OAUTH_AUDIENCE: Setting = Setting {
    key: "oauth.audience",
    flag: "oauth-audience",
    takes: Takes::Many("AUDIENCE"),
    default: "",
    group: ACCESS,
    help: "Audience that a token must name; may be repeated",
    ..PLAIN
};

pub(crate) static OAUTH_JWKS: Setting = Setting {
    key: "oauth.jwks",
    flag: "oauth-jwks",
    takes: Takes::One("FILE"),
    default: "",
    group: ACCESS,
    help: "File with the issuer's public keys (JSON Web Key Set)",
    ..PLAIN
};

pub(crate) static CONNECTIONS_MAX: Setting = Setting {
    key: "limits.connections-max",
    flag: "connections-max",
    takes: Takes::One("COUNT"),
    default: "1024",
    group: LIMITS,
    help: "Open client connections; further ones wait until one closes",
    ..PLAIN
};

pub(crate) static HEADER_BYTES_MAX: Setting = Setting {
    key: "limits.header-bytes-max",
    flag: "header-bytes-max",
    takes: Takes::One("BYTES"),
    default: "64KiB",
    group: LIMITS,
    help: "Request line and headers together",
    ..PLAIN
};

pub(crate) static BODY_BYTES_MAX: Setting = Setting {
    key: "limits.body-bytes-max",
    flag: "body-bytes-max",
    takes: Takes::One("BYTES"),
    default: "4MiB",
    group: LIMITS,
    help: "Body of one request; the protocol's own limits lie below",
    ..PLAIN
};

pub(crate) static REQUEST_TIMEOUT: Setting = Setting {
    key: "limits.request-timeout",
    flag: "request-timeout",
    takes: Takes::One("TIME"),
    default: "30s",
    group: LIMITS,
    help: "From the end of a request's headers to the start of the answer",
    ..PLAIN
};

pub(crate) static HEADER_TIMEOUT: Setting = Setting {
    key: "limits.header-timeout",
    flag: "header-timeout",
    takes: Takes::One("TIME"),
    default: "10s",
    group: LIMITS,
    help: "How long a client may take to send the headers of a request, and the TLS handshake",
    ..PLAIN
};

pub(crate) static STALL_TIMEOUT: Setting = Setting {
    key: "limits.stall-timeout",
    flag: "stall-timeout",
    takes: Takes::One("TIME"),
    default: "20s",
    group: LIMITS,
    help: "How long a client may neither send nor take a byte within a request",
    ..PLAIN
};

pub(crate) static IDLE_TIMEOUT: Setting = Setting {
    key: "limits.idle-timeout",
    flag: "idle-timeout",
    takes: Takes::One("TIME"),
    default: "60s",
    group: LIMITS,
    help: "How long a connection may stay open between requests",
    ..PLAIN
};

pub(crate) static DRAIN_TIMEOUT: Setting = Setting {
    key: "limits.drain-timeout",
    flag: "drain-timeout",
    takes: Takes::One("TIME"),
    default: "10s",
    group: LIMITS,
    help: "How long a shutdown waits for requests under way",
    ..PLAIN
};

pub(crate) static BATCHES_MAX: Setting = Setting {
    key: "limits.batches-max",
    flag: "batches-max",
    takes: Takes::One("COUNT"),
    default: "64",
    group: LIMITS,
    help: "Entity group transactions under way at once; further ones wait, 5 s at most, then 503",
    ..PLAIN
};

pub(crate) static TARGETS: Setting = Setting {
    key: "targets.preset",
    flag: "targets",
    takes: Takes::One("NAME"),
    default: "off",
    group: TARGETS_GROUP,
    help: "Scalability targets, past which requests are answered 503: `azure` (2000 entities/s a partition, 20000 an account), `classic` (500, 5000) or `off`",
    ..PLAIN
};

pub(crate) static TARGET_PARTITION_ENTITIES: Setting = Setting {
    key: "targets.partition-entities",
    flag: "target-partition-entities",
    takes: Takes::One("N"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each partition: entities a second, in place of the preset; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_PARTITION_BYTES: Setting = Setting {
    key: "targets.partition-bytes",
    flag: "target-partition-bytes",
    takes: Takes::One("BYTES"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each partition: bytes of entities a second; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_TABLE_ENTITIES: Setting = Setting {
    key: "targets.table-entities",
    flag: "target-table-entities",
    takes: Takes::One("N"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each table: entities a second, in place of the preset; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_TABLE_BYTES: Setting = Setting {
    key: "targets.table-bytes",
    flag: "target-table-bytes",
    takes: Takes::One("BYTES"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each table: bytes of entities a second; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_ACCOUNT_ENTITIES: Setting = Setting {
    key: "targets.account-entities",
    flag: "target-account-entities",
    takes: Takes::One("N"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each account: entities a second, in place of the preset; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_ACCOUNT_BYTES: Setting = Setting {
    key: "targets.account-bytes",
    flag: "target-account-bytes",
    takes: Takes::One("BYTES"),
    default: "",
    group: TARGETS_GROUP,
    help: "Each account: bytes of entities a second; `off` for none",
    ..PLAIN
};

pub(crate) static TARGET_TABLES: Setting = Setting {
    key: "targets.tables",
    flag: "target-tables",
    takes: Takes::One("NAME:FIGURE=N;.."),
    default: "",
    group: TARGETS_GROUP,
    help: "Tables with targets of their own, in any account: partition-entities, partition-bytes, table-entities, table-bytes",
    ..PLAIN
};

pub(crate) static LOG_LEVEL: Setting = Setting {
    key: "log.level",
    flag: "log-level",
    takes: Takes::One("LEVEL"),
    default: "info",
    group: OUTPUT,
    help: "error, warn, info, debug or trace",
    ..PLAIN
};

pub(crate) static LOG_FORMAT: Setting = Setting {
    key: "log.format",
    flag: "log-format",
    takes: Takes::One("FORMAT"),
    default: "text",
    group: OUTPUT,
    help: "text or json",
    ..PLAIN
};

pub(crate) static SILENT: Setting = Setting {
    key: "log.silent",
    flag: "silent",
    short: Some('s'),
    group: OUTPUT,
    help: "Log errors only; the start-up lines stay",
    ..PLAIN
};

pub(crate) static DEBUG: Setting = Setting {
    key: "log.debug",
    flag: "debug",
    short: Some('d'),
    takes: Takes::One("FILE"),
    default: "",
    group: OUTPUT,
    help: "Append every request to this file, and what it should have signed when that is wrong; no secrets",
    ..PLAIN
};

/// Every setting, in the order in which help and `config show` list them.
pub static ALL: &[&Setting] = &[
    &TABLE_HOST,
    &TABLE_PORT,
    &TABLE_KEEP_ALIVE,
    &HOST_SUFFIX,
    &DISABLE_PRODUCT_STYLE_URL,
    &ADMIN_HOST,
    &ADMIN_PORT,
    &LOCATION,
    &IN_MEMORY,
    &BLOCK_CACHE_BYTES,
    &ENTITY_CACHE_BYTES,
    &GARBAGE_AGE,
    &BACKUP_PLACES,
    &BALANCE,
    &SPLIT_BYTES,
    &SPLIT_RATE,
    &SPLIT_CPU,
    &ACCOUNTS,
    &ALLOW_WELL_KNOWN_KEY,
    &LOOSE,
    &TLS,
    &CERT,
    &KEY,
    &PWD,
    &OAUTH,
    &OAUTH_ISSUER,
    &OAUTH_AUDIENCE,
    &OAUTH_JWKS,
    &CONNECTIONS_MAX,
    &HEADER_BYTES_MAX,
    &BODY_BYTES_MAX,
    &REQUEST_TIMEOUT,
    &HEADER_TIMEOUT,
    &STALL_TIMEOUT,
    &IDLE_TIMEOUT,
    &DRAIN_TIMEOUT,
    &BATCHES_MAX,
    &TARGETS,
    &TARGET_PARTITION_ENTITIES,
    &TARGET_PARTITION_BYTES,
    &TARGET_TABLE_ENTITIES,
    &TARGET_TABLE_BYTES,
    &TARGET_ACCOUNT_ENTITIES,
    &TARGET_ACCOUNT_BYTES,
    &TARGET_TABLES,
    &LOG_LEVEL,
    &LOG_FORMAT,
    &SILENT,
    &DEBUG,
];

const NO_BLOBS: &str = "blobs are not served";
const NO_QUEUES: &str = "queues are not served";

const fn accepted(flag: &'static str, takes: Takes, why: &'static str) -> Accepted {
    Accepted { flag, takes, why }
}

/// Azurite's flags that change nothing here.
pub static ACCEPTED: &[Accepted] = &[
    accepted("blobHost", Takes::One("HOST"), NO_BLOBS),
    accepted("blobPort", Takes::One("PORT"), NO_BLOBS),
    accepted("blobKeepAliveTimeout", Takes::One("SECONDS"), NO_BLOBS),
    accepted("queueHost", Takes::One("HOST"), NO_QUEUES),
    accepted("queuePort", Takes::One("PORT"), NO_QUEUES),
    accepted("queueKeepAliveTimeout", Takes::One("SECONDS"), NO_QUEUES),
    accepted("extentMemoryLimit", Takes::One("MB"), NO_BLOBS),
    accepted(
        "skipApiVersionCheck",
        Takes::Switch,
        "every x-ms-version is answered",
    ),
    accepted("disableTelemetry", Takes::Switch, "nothing is ever sent"),
];

//! The settings of simulated servers.

use anyhow::Context as _;
use partita_server::config::{ALL, Layers, Settings};

use crate::scenario::{ADMIN_PORT, QUEUE_PORT, TABLE_PORT};

/// The sizes of the caches of a server, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheBytes {
    pub(crate) entities: u64,
    pub(crate) blocks: u64,
}

/// The settings of a server: its own as flags, and those of all simulated servers.
pub(crate) fn with(
    own: impl IntoIterator<Item = (&'static str, String)>,
    caches: CacheBytes,
) -> anyhow::Result<Settings> {
    let all = [
        ("table-host", "0.0.0.0".to_owned()),
        ("table-port", TABLE_PORT.to_string()),
        ("queue-host", "0.0.0.0".to_owned()),
        ("queue-port", QUEUE_PORT.to_string()),
        ("admin-host", "127.0.0.1".to_owned()),
        ("admin-port", ADMIN_PORT.to_string()),
        ("allow-well-known-key", "true".to_owned()),
        ("entity-cache-bytes", caches.entities.to_string()),
        ("block-cache-bytes", caches.blocks.to_string()),
        // Set explicitly, because the default depends on the machine's memory.
        ("memory-in-flight", "256MiB".to_owned()),
    ];
    let mut layers = Layers::default();
    for (name, text) in own.into_iter().chain(all) {
        let setting = ALL.iter().find(|setting| setting.flag == name);
        layers = layers.flag(setting.with_context(|| format!("no setting {name}"))?, text);
    }
    Ok(Settings::from_values(&layers.resolve()?.0)?)
}

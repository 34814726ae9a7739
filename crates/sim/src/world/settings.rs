//! The settings of a simulated server.

use std::path::Path;

use anyhow::Context as _;
use partita_server::config::{ALL, Layers, Settings};

use crate::scenario::{ADMIN_PORT, QUEUE_PORT, Scenario, TABLE_PORT};

/// The settings of a scenario, as flags.
pub(super) fn of(scenario: &Scenario, directory: &Path) -> anyhow::Result<Settings> {
    let directory = directory.join("data");
    let flags = [
        ("location", directory.display().to_string()),
        ("table-host", "0.0.0.0".to_owned()),
        ("table-port", TABLE_PORT.to_string()),
        ("queue-host", "0.0.0.0".to_owned()),
        ("queue-port", QUEUE_PORT.to_string()),
        ("admin-host", "127.0.0.1".to_owned()),
        ("admin-port", ADMIN_PORT.to_string()),
        ("allow-well-known-key", "true".to_owned()),
        // Low, so that a simulation of a few minutes includes garbage collections.
        ("garbage-age", "10s".to_owned()),
        ("reader", scenario.reader.to_owned()),
        (
            "entity-cache-bytes",
            scenario.entity_cache_bytes.to_string(),
        ),
        ("block-cache-bytes", scenario.block_cache_bytes.to_string()),
        // Set explicitly, because the default depends on the machine's memory.
        ("memory-in-flight", "256MiB".to_owned()),
    ];
    let mut layers = Layers::default();
    for (name, text) in flags {
        let setting = ALL.iter().find(|setting| setting.flag == name);
        layers = layers.flag(setting.with_context(|| format!("no setting {name}"))?, text);
    }
    Ok(Settings::from_values(&layers.resolve()?.0)?)
}

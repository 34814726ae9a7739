//! Scalability targets: presets, single rates that override the preset, and targets of single tables.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use partita_model::TableName;
use partita_table::{TableTargets, TargetSettings};

use super::setting::Setting;
use super::values::Values;
use super::{Error, catalog as c, quantity};

const PRESETS: &str = "`off`, `azure` or `classic`";
const RATE: &str = "a whole number a second from 1 to 4294967295, or `off`";
const BYTE_RATE: &str = "a size a second from 1 to 4294967295 bytes, such as 10MiB, or `off`";

/// Reads the targets from all settings that concern them.
pub(super) fn targets(values: &Values) -> Result<TargetSettings, Error> {
    let presets = [
        ("off", TargetSettings::default()),
        ("azure", TargetSettings::azure()),
        ("classic", TargetSettings::classic()),
    ];
    let mut targets = values.word(&c::TARGETS, PRESETS, &presets)?;
    let of_each = &mut targets.tables;
    for (entities_setting, bytes_setting, rates) in [
        (
            &c::TARGET_PARTITION_ENTITIES,
            &c::TARGET_PARTITION_BYTES,
            &mut of_each.partition,
        ),
        (
            &c::TARGET_TABLE_ENTITIES,
            &c::TARGET_TABLE_BYTES,
            &mut of_each.table,
        ),
        (
            &c::TARGET_ACCOUNT_ENTITIES,
            &c::TARGET_ACCOUNT_BYTES,
            &mut targets.account,
        ),
    ] {
        if let Some(rate) = rate(values, entities_setting, RATE, entities)? {
            rates.entities = rate;
        }
        if let Some(rate) = rate(values, bytes_setting, BYTE_RATE, bytes)? {
            rates.bytes = rate;
        }
    }
    if let Some(text) = values.text(&c::TARGET_TABLES) {
        let named = named(text, targets.tables);
        targets.named = named.map_err(|problem| values.of(&c::TARGET_TABLES).invalid(problem))?;
    }
    Ok(targets)
}

/// Reads the targets of queues.
pub(super) fn queue_targets(values: &Values) -> Result<partita_queue::TargetSettings, Error> {
    use partita_queue::TargetSettings;
    let presets = [
        ("off", TargetSettings::default()),
        ("azure", TargetSettings::azure()),
        ("classic", TargetSettings::classic()),
    ];
    let mut targets = values.word(&c::TARGETS, PRESETS, &presets)?;
    if let Some(rate) = rate(values, &c::TARGET_QUEUE_MESSAGES, RATE, entities)? {
        targets.queue.entities = rate;
    }
    if let Some(rate) = rate(values, &c::TARGET_QUEUE_BYTES, BYTE_RATE, bytes)? {
        targets.queue.bytes = rate;
    }
    Ok(targets)
}

/// A rate per second; `None` for no limit.
type Rate = Option<NonZeroU32>;

/// The rate of a setting; `None` when not set.
fn rate(
    values: &Values,
    setting: &'static Setting,
    want: &'static str,
    parse: impl Fn(&str) -> Option<Rate>,
) -> Result<Option<Rate>, Error> {
    values.read(setting, want, |text| match text {
        "" => Some(None),
        text => parse(text).map(Some),
    })
}

fn entities(text: &str) -> Option<Rate> {
    or_off(text, |text| text.parse().ok())
}

fn bytes(text: &str) -> Option<Rate> {
    or_off(text, |text| {
        NonZeroU32::new(u32::try_from(quantity::bytes(text)?).ok()?)
    })
}

fn or_off(text: &str, parse: impl Fn(&str) -> Rate) -> Option<Rate> {
    match text.trim() {
        "off" => Some(None),
        text => parse(text).map(Some),
    }
}

/// Reads `NAME:partition-entities=100:table-bytes=1MiB;NAME2:...`; rates that are not given are the same as for other
/// tables.
fn named(text: &str, others: TableTargets) -> Result<BTreeMap<String, TableTargets>, String> {
    let mut named = BTreeMap::new();
    let parts = text.split(';').map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        let mut fields = part.split(':').map(str::trim);
        let name = fields.next().unwrap_or_default();
        if TableName::new(name).is_err() {
            return Err(format!(
                "invalid table name {name:?}: expected 3 to 63 letters and digits, a letter first"
            ));
        }
        let mut targets = others;
        for field in fields {
            let read = field.split_once('=');
            let read = read.and_then(|(key, text)| set(&mut targets, key, text));
            read.ok_or_else(|| {
                format!(
                    "invalid target {field:?} of table {name}: expected partition-entities, partition-bytes, table-entities \
                     or table-bytes, with {RATE}, or a size"
                )
            })?;
        }
        if named.insert(name.to_lowercase(), targets).is_some() {
            return Err(format!("table {name} is given twice"));
        }
    }
    Ok(named)
}

fn set(targets: &mut TableTargets, key: &str, text: &str) -> Option<()> {
    match key.trim() {
        "partition-entities" => targets.partition.entities = entities(text)?,
        "partition-bytes" => targets.partition.bytes = bytes(text)?,
        "table-entities" => targets.table.entities = entities(text)?,
        "table-bytes" => targets.table.bytes = bytes(text)?,
        _ => return None,
    }
    Some(())
}

/// `[targets.tables.NAME]` of the file as the text of the setting; `None` if its type does not fit.
pub(super) fn tables_text(tables: &toml::Table) -> Option<String> {
    let mut text = String::new();
    for (name, targets) in tables {
        text.push_str(name);
        for (key, value) in targets.as_table()? {
            let value = match value {
                toml::Value::String(value) => value.clone(),
                toml::Value::Integer(value) => value.to_string(),
                _ => return None,
            };
            text.push_str(&format!(":{key}={value}"));
        }
        text.push(';');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::super::{Layers, Settings};
    use super::*;
    use partita_service::Rates;
    use std::path::PathBuf;

    fn of(layers: Layers) -> Result<TargetSettings, String> {
        let (values, _) = layers.resolve().map_err(|error| error.to_string())?;
        let settings = Settings::from_values(&values).map_err(|error| error.to_string())?;
        Ok(settings.targets)
    }

    fn flags(flags: &[(&'static Setting, &str)]) -> Layers {
        flags
            .iter()
            .fold(Layers::default(), |layers, (setting, text)| {
                layers.flag(setting, (*text).to_owned())
            })
    }

    fn file(text: &str) -> Layers {
        Layers::default().file_text(PathBuf::from("p.toml"), text.to_owned())
    }

    fn limit(tokens: u32) -> Rate {
        NonZeroU32::new(tokens)
    }

    #[test]
    fn queues_follow_the_preset_and_their_own_settings() {
        let of = |layers: Layers| {
            let settings = Settings::from_values(&layers.resolve().unwrap().0).unwrap();
            settings.queue_targets.queue
        };
        assert!(of(Layers::default()).is_unlimited());
        let azure = of(flags(&[(&c::TARGETS, "azure")]));
        assert_eq!((azure.entities, azure.bytes), (limit(2_000), None));
        let own = of(flags(&[
            (&c::TARGETS, "classic"),
            (&c::TARGET_QUEUE_MESSAGES, "off"),
            (&c::TARGET_QUEUE_BYTES, "1MiB"),
        ]));
        assert_eq!((own.entities, own.bytes), (None, limit(1 << 20)));
    }

    #[test]
    fn nothing_is_limited_by_default() {
        assert!(of(Layers::default()).unwrap().is_off());
        assert_eq!(
            of(flags(&[(&c::TARGETS, "azure")])).unwrap(),
            TargetSettings::azure()
        );
        assert_eq!(
            of(flags(&[(&c::TARGETS, "classic")])).unwrap(),
            TargetSettings::classic()
        );
    }

    #[test]
    fn single_rates_override_the_preset() {
        let targets = of(flags(&[
            (&c::TARGETS, "azure"),
            (&c::TARGET_PARTITION_ENTITIES, "7"),
            (&c::TARGET_ACCOUNT_ENTITIES, "off"),
            (&c::TARGET_ACCOUNT_BYTES, "10MiB"),
        ]))
        .unwrap();
        assert_eq!(targets.tables.partition, Rates::entities(7));
        let account = Rates {
            entities: None,
            bytes: limit(10 << 20),
        };
        assert_eq!(targets.account, account);
    }

    #[test]
    fn tables_have_their_own_targets() {
        let text = "[targets]\npreset = 'classic'\ntable-entities = 900\n[targets.tables.Orders]\npartition-entities = 100\n\
                    table-entities = 'off'\n[targets.tables.logs]\ntable-bytes = '1MiB'\n";
        let from_file = of(file(text)).unwrap();
        let from_flags = of(flags(&[
            (&c::TARGETS, "classic"),
            (&c::TARGET_TABLE_ENTITIES, "900"),
            (
                &c::TARGET_TABLES,
                "Orders:partition-entities=100:table-entities=off; logs:table-bytes=1MiB;",
            ),
        ]));
        assert_eq!(from_file, from_flags.unwrap());
        let (orders, logs) = (from_file.named["orders"], from_file.named["logs"]);
        assert_eq!(
            (orders.partition.entities, orders.table.entities),
            (limit(100), None)
        );
        assert_eq!(
            (logs.partition.entities, logs.table.entities),
            (limit(500), limit(900))
        );
        assert_eq!(logs.table.bytes, limit(1 << 20));
    }

    #[test]
    fn errors_name_the_setting() {
        for (text, expected) in [
            ("[targets]\npreset = 'gcp'", "`off`, `azure` or `classic`"),
            (
                "[targets]\npartition-entities = 0",
                "targets.partition-entities",
            ),
            ("[targets]\naccount-bytes = '5GiB'", "targets.account-bytes"),
            (
                "[targets]\npartition-entitys = 5",
                "did you mean targets.partition-entities",
            ),
            (
                "[targets.tables.orders]\nrows = 5",
                "invalid target \"rows=5\" of table orders",
            ),
            (
                "[targets.tables.orders]\ntable-bytes = 1.5",
                "invalid type of targets.tables",
            ),
            (
                "[targets.tables.x]\ntable-bytes = 5",
                "invalid table name \"x\"",
            ),
            (
                "[targets]\ntables = 'abc:table-bytes=5;ABC:table-bytes=6'",
                "is given twice",
            ),
        ] {
            let refused = of(file(text)).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}

//! Scalability targets in words: presets, single figures, and tables with figures of their own.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use partita_model::TableName;
use partita_service::Rates;
use partita_table::{TableTargets, TargetSettings};

use super::Error;
use super::catalog as c;
use super::quantity;
use super::setting::Setting;
use super::values::Values;

const RATE: &str = "a whole number a second from 1 to 4294967295, or `off`";
const BYTE_RATE: &str = "a size a second from 1 to 4294967295 bytes, such as 10MiB, or `off`";

/// The targets of all settings together.
pub(super) fn targets(values: &Values) -> Result<TargetSettings, Error> {
    let preset = values.read(
        &c::TARGETS,
        "`off`, `azure` or `classic`",
        |text| match text {
            "off" => Some(TargetSettings::default()),
            "azure" => Some(TargetSettings::azure()),
            "classic" => Some(TargetSettings::classic()),
            _ => None,
        },
    )?;
    let mut targets = preset;
    let of_each = &mut targets.tables;
    let figures: [(&'static Setting, &mut Rates); 3] = [
        (&c::TARGET_PARTITION_ENTITIES, &mut of_each.partition),
        (&c::TARGET_TABLE_ENTITIES, &mut of_each.table),
        (&c::TARGET_ACCOUNT_ENTITIES, &mut targets.account),
    ];
    for (setting, rates) in figures {
        if let Some(rate) = figure(values, setting, RATE, entities)? {
            rates.entities = rate;
        }
    }
    let figures: [(&'static Setting, &mut Rates); 3] = [
        (&c::TARGET_PARTITION_BYTES, &mut targets.tables.partition),
        (&c::TARGET_TABLE_BYTES, &mut targets.tables.table),
        (&c::TARGET_ACCOUNT_BYTES, &mut targets.account),
    ];
    for (setting, rates) in figures {
        if let Some(rate) = figure(values, setting, BYTE_RATE, bytes)? {
            rates.bytes = rate;
        }
    }
    if let Some(text) = values.text(&c::TARGET_TABLES) {
        let named = named(text, targets.tables);
        targets.named = named.map_err(|problem| values.of(&c::TARGET_TABLES).wrong(problem))?;
    }
    Ok(targets)
}

/// A rate; `Some(None)` is none at all.
type Figure = Option<NonZeroU32>;

fn figure(
    values: &Values,
    setting: &'static Setting,
    want: &'static str,
    parse: impl Fn(&str) -> Option<Figure>,
) -> Result<Option<Figure>, Error> {
    values.read(setting, want, |text| match text {
        "" => Some(None),
        text => parse(text).map(Some),
    })
}

fn entities(text: &str) -> Option<Figure> {
    or_off(text, |text| text.parse().ok())
}

fn bytes(text: &str) -> Option<Figure> {
    or_off(text, |text| {
        NonZeroU32::new(u32::try_from(quantity::bytes(text)?).ok()?)
    })
}

fn or_off(text: &str, parse: impl Fn(&str) -> Figure) -> Option<Figure> {
    match text.trim() {
        "off" => Some(None),
        text => parse(text).map(Some),
    }
}

/// Reads `NAME:partition-entities=100:table-bytes=1MiB;NAME2:...`; what is not named is as for other tables.
fn named(text: &str, others: TableTargets) -> Result<BTreeMap<String, TableTargets>, String> {
    let mut named = BTreeMap::new();
    let parts = text.split(';').map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        let mut fields = part.split(':').map(str::trim);
        let name = fields.next().unwrap_or_default();
        if TableName::new(name).is_err() {
            return Err(format!("{name:?} is no name of a table"));
        }
        let mut targets = others;
        for field in fields {
            let read = field.split_once('=');
            if read
                .and_then(|(key, text)| set(&mut targets, key, text))
                .is_none()
            {
                return Err(format!(
                    "{field:?} is not one of partition-entities, partition-bytes, table-entities and table-bytes, with {RATE} \
                     or a size"
                ));
            }
        }
        if named.insert(name.to_lowercase(), targets).is_some() {
            return Err(format!("table {name} stands there twice"));
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

/// `[targets.tables.NAME]` of the file, in the one-line form.
pub(super) fn tables_text(tables: &toml::Table) -> Option<String> {
    let mut text = String::new();
    for (name, figures) in tables {
        text.push_str(name);
        for (key, value) in figures.as_table()? {
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
    use std::path::PathBuf;

    fn of(layers: Layers) -> Result<TargetSettings, String> {
        let (values, _) = layers.resolve().map_err(|error| error.to_string())?;
        let settings = Settings::from_values(&values).map_err(|error| error.to_string())?;
        Ok(settings.targets)
    }

    fn flags(flags: &[(&'static Setting, &str)]) -> Layers {
        flags.iter().fold(Layers::new(), |layers, (setting, text)| {
            layers.flag(setting, (*text).to_owned())
        })
    }

    fn file(text: &str) -> Layers {
        Layers::new().file_text(PathBuf::from("p.toml"), text.to_owned())
    }

    fn rate(tokens: u32) -> Figure {
        NonZeroU32::new(tokens)
    }

    #[test]
    fn nothing_is_limited_unless_asked_for() {
        assert!(of(Layers::new()).unwrap().is_off());
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
    fn single_figures_go_over_the_preset() {
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
            bytes: rate(10 << 20),
        };
        assert_eq!(targets.account, account);
    }

    #[test]
    fn tables_have_figures_of_their_own() {
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
            (rate(100), None)
        );
        assert_eq!(
            (logs.partition.entities, logs.table.entities),
            (rate(500), rate(900))
        );
        assert_eq!(logs.table.bytes, rate(1 << 20));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
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
                "\"rows=5\" is not one of",
            ),
            ("[targets.tables.orders]\ntable-bytes = 1.5", "wrong shape"),
            (
                "[targets.tables.x]\ntable-bytes = 5",
                "\"x\" is no name of a table",
            ),
            (
                "[targets]\ntables = 'abc:table-bytes=5;ABC:table-bytes=6'",
                "stands there twice",
            ),
        ] {
            let refused = of(file(text)).unwrap_err();
            assert!(refused.contains(said), "{refused}");
        }
    }
}

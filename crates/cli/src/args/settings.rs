//! Generates a command-line flag for each server setting from the catalog [`ALL`], and resolves flags, environment and
//! settings file.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use partita_server::config::{self, ACCEPTED, ALL, Layers, Setting, Settings, Takes, Values};
use std::path::PathBuf;

use crate::error::CommandError;
use crate::progress::message;

/// The id of `--config`, which is not a setting.
const CONFIG: &str = "config";

/// Variables of the toolbox, which are not settings of the server either.
const OF_TOOLS: [&str; 3] = ["PARTITA_ADMIN", "PARTITA_COMPLETE_WAIT", "PARTITA_PROFILE"];

/// The settings on a command line. Azurite's flags without effect are accepted and hidden.
#[derive(Debug, Clone, Default)]
pub(crate) struct SettingsArgs {
    config: Option<PathBuf>,
    /// The flags that were given, with their values. A repeated flag has several entries.
    given: Vec<(&'static Setting, String)>,
    /// Defaults that differ from the catalog's.
    defaults: Vec<(&'static Setting, &'static str)>,
}

impl SettingsArgs {
    /// The settings of all layers, and where each came from. Warnings go to stderr.
    pub(crate) fn resolve(self) -> Result<(Settings, Values), CommandError> {
        let (values, warnings) = self.layers()?.resolve()?;
        for warning in warnings {
            message(&format!("warning: {warning}"));
        }
        Ok((Settings::from_values(&values)?, values))
    }

    /// Replaces the default of the setting with this flag.
    pub(crate) fn with_default(mut self, flag: &str, text: &'static str) -> Self {
        let setting = ALL.iter().copied().find(|setting| setting.flag == flag);
        let setting = setting.expect("the flag is in the catalog");
        self.defaults.push((setting, text));
        self
    }

    /// The layers of flags, environment and settings file.
    fn layers(self) -> Result<Layers, config::Error> {
        let variables = std::env::vars_os()
            .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)))
            .filter(|(name, _)| !OF_TOOLS.contains(&&**name));
        let mut layers = Layers::default().environment(variables);
        for (setting, text) in self.defaults {
            layers = layers.default_of(setting, text);
        }
        if let Some(path) = self.config {
            layers = layers.config_flag(path);
        }
        for (setting, text) in self.given {
            layers = layers.flag(setting, text);
        }
        layers.read_file()
    }
}

impl Args for SettingsArgs {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(CONFIG)
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help(format!(
                "Settings file, TOML [env: {}]",
                config::FILE_VARIABLE
            ));
        let accepted = ACCEPTED.iter().map(|(flag, value)| {
            let flag = Arg::new(*flag).long(*flag).hide(true);
            takes(flag, *value)
        });
        command
            .arg(file)
            .args(ALL.iter().copied().map(flag))
            .args(accepted)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.config = matches.get_one::<PathBuf>(CONFIG).cloned();
        self.given.clear();
        for setting in ALL.iter().copied() {
            let texts = matches.get_many::<String>(setting.flag);
            let texts = texts.into_iter().flatten();
            self.given.extend(texts.map(|text| (setting, text.clone())));
        }
        Ok(())
    }
}

fn flag(setting: &'static Setting) -> Arg {
    let default = match setting.default {
        "" | "false" => String::new(),
        default => format!(" [default: {default}]"),
    };
    let mut flag = Arg::new(setting.flag)
        .long(setting.flag)
        .visible_aliases(setting.aliases.iter().copied())
        .help_heading(setting.group)
        .help(format!("{}{default}", setting.help));
    if let Some(short) = setting.short {
        flag = flag.short(short);
    }
    takes(flag, setting.takes)
}

/// Sets how many values a flag takes. The last value of a repeated flag wins, as with Azurite; a list collects all
/// values. `=false` turns a switch off again.
fn takes(flag: Arg, takes: Takes) -> Arg {
    let id = flag.get_id().clone();
    match takes {
        Takes::Switch => flag
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name("true|false")
            .hide_possible_values(true)
            .value_parser(["true", "false"])
            .overrides_with(id),
        Takes::One(name) => flag.value_name(name).overrides_with(id),
        Takes::Many(name) => flag.value_name(name).action(ArgAction::Append),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use partita_server::config::Place;

    #[derive(Parser)]
    struct Serve {
        #[command(flatten)]
        settings: SettingsArgs,
    }

    fn settings(line: &str) -> Settings {
        let serve = Serve::try_parse_from(line.split_whitespace()).unwrap();
        let (values, _) = serve.settings.layers().unwrap().resolve().unwrap();
        Settings::from_values(&values).unwrap()
    }

    #[test]
    fn azurites_flags_are_accepted() {
        let line = "azurite --blobHost 0.0.0.0 --blobPort 1 --blobKeepAliveTimeout 5 --queueHost 127.0.0.2 --queuePort 2 \
            --queueKeepAliveTimeout 5 --tableHost 127.0.0.1 --tablePort 3 --tableKeepAliveTimeout 7 -l /data -s -L \
            -d /dev/null --skipApiVersionCheck --disableProductStyleUrl --disableTelemetry --extentMemoryLimit 9 \
            --cert c.pfx --pwd secret --oauth basic";
        let of_azurite = settings(line);
        assert_eq!(
            (of_azurite.table.port, of_azurite.table.keep_alive.as_secs()),
            (3, 7)
        );
        let queue = of_azurite.queue.unwrap();
        assert_eq!(
            (queue.host.as_str(), queue.port, queue.keep_alive.as_secs()),
            ("127.0.0.2", 2, 5)
        );
        assert_eq!(of_azurite.store.place, Place::Directory("/data".into()));
        assert!(!of_azurite.table.product_style_url && of_azurite.tls.is_on());
        let in_memory = settings("azurite --inMemoryPersistence");
        assert_eq!(in_memory.store.place, Place::Memory);
    }

    #[test]
    fn switches_can_be_switched_off_and_the_last_flag_wins() {
        let serve = |flags: &str| settings(&format!("serve {flags}"));
        assert_eq!(serve("--in-memory").store.place, Place::Memory);
        assert_ne!(
            serve("--in-memory --in-memory=false").store.place,
            Place::Memory
        );
        assert_eq!(serve("--table-port 1 --tablePort=2").table.port, 2);
        assert_eq!(
            serve("--host-suffix a --host-suffix b").table.host_suffixes,
            ["a", "b"]
        );
        assert_eq!(serve("--data x").store.place, Place::Directory("x".into()));
    }
}

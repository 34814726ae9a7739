//! A flag for each setting, and back from flags to layers of settings.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use partita_server::config::{self, ACCEPTED, ALL, Layers, Setting, Takes};

use crate::command_line::argument;

/// Adds `--config` and every setting. Azurite's flags without effect are taken, and left out of the help.
pub(crate) fn add(command: Command) -> Command {
    let file = Arg::new(argument::CONFIG)
        .long("config")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help(format!(
            "Settings file, TOML [variable: {}]",
            config::FILE_VARIABLE
        ));
    let accepted = ACCEPTED.iter().map(|accepted| {
        let flag = Arg::new(accepted.flag).long(accepted.flag).hide(true);
        takes(flag, accepted.takes)
    });
    command
        .arg(file)
        .args(ALL.iter().copied().map(flag))
        .args(accepted)
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

/// The last of several wins, as with Azurite; lists add up. A switch can be set off again by `=false`.
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

/// The layers of settings that a command line and its environment give, the file read.
pub(crate) fn layers(matches: &ArgMatches) -> Result<Layers, config::Error> {
    let variables = std::env::vars_os()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
    let mut layers = Layers::new().environment(variables);
    if let Some(path) = matches.get_one::<PathBuf>(argument::CONFIG) {
        layers = layers.config_flag(path.clone());
    }
    for setting in ALL {
        for text in matches
            .get_many::<String>(setting.flag)
            .into_iter()
            .flatten()
        {
            layers = layers.flag(setting, text.clone());
        }
    }
    layers.read_file()
}

#[cfg(test)]
mod tests {
    use partita_server::config::{Place, Settings};

    use super::*;
    use crate::command_line::{azurite_command, command};

    fn serve(arguments: &str) -> Settings {
        let matches = command()
            .try_get_matches_from(format!("partita serve {arguments}").split_whitespace())
            .unwrap();
        settings(matches.subcommand_matches("serve").unwrap())
    }

    fn settings(matches: &ArgMatches) -> Settings {
        Settings::from_values(&layers(matches).unwrap().resolve().unwrap().0).unwrap()
    }

    fn refused(arguments: &str) -> String {
        let words = format!("partita {arguments}");
        command()
            .try_get_matches_from(words.split_whitespace())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
        azurite_command().debug_assert();
    }

    #[test]
    fn azurites_command_lines_are_taken_whole() {
        let line = "azurite --blobHost 0.0.0.0 --blobPort 1 --blobKeepAliveTimeout 5 --queueHost 0.0.0.0 --queuePort 2 \
            --queueKeepAliveTimeout 5 --tableHost 127.0.0.1 --tablePort 3 --tableKeepAliveTimeout 7 -l /data -s -L \
            -d /dev/null --skipApiVersionCheck --disableProductStyleUrl --disableTelemetry --extentMemoryLimit 9 \
            --cert c.pfx --pwd secret --oauth basic";
        let matches = azurite_command()
            .try_get_matches_from(line.split_whitespace())
            .unwrap();
        let settings = settings(&matches);
        assert_eq!(
            (settings.table.port, settings.table.keep_alive.as_secs()),
            (3, 7)
        );
        assert_eq!(settings.store.place, Place::Directory("/data".into()));
        assert!(!settings.table.product_style_url && settings.tls.is_on());
        let matches = azurite_command()
            .try_get_matches_from(["azurite", "--inMemoryPersistence"])
            .unwrap();
        assert_eq!(super::tests::settings(&matches).store.place, Place::Memory);
    }

    #[test]
    fn switches_can_be_set_off_and_the_last_flag_wins() {
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

    #[test]
    fn unknown_flags_suggest_the_nearest_one() {
        let text = refused("serve --table-prot 1");
        assert!(
            text.contains("unexpected argument '--table-prot'") && text.contains("--table-port"),
            "{text}"
        );
        assert!(refused("serve --tablePrt 1").contains("--tablePort"));
        assert!(refused("sevre").contains("serve"));
        assert!(refused("connect pyhton").contains("python"));
    }
}

//! Scripts depend on the command line: `surface.txt` records its commands, flags, aliases, value names, values and
//! defaults, and a test compares them. Help texts may change.
//!
//! `PARTITA_REWRITE_SURFACE=1` rewrites the file; review it before you commit it.

use super::{AzuriteCommandLine, CommandLine};
use clap::{Arg, ArgAction, Command, CommandFactory as _, Parser as _};
use partita_server::config::{ACCEPTED, ALL};
use std::fmt::Write as _;

const SURFACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/command_line/surface.txt");

/// A command, its arguments and its subcommands, sorted. The settings of the server are omitted: their catalog lists
/// them.
fn describe(command: &Command, path: &str, out: &mut String) {
    let path = format!("{path} {}", command.get_name());
    let _ = writeln!(out, "{}", path.trim());
    let is_setting = |arg: &&Arg| {
        let flag = arg.get_long().unwrap_or_default();
        ALL.iter().any(|setting| setting.flag == flag)
            || ACCEPTED.iter().any(|(accepted, _)| *accepted == flag)
    };
    let has_settings = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some("table-port"));
    let arguments = command
        .get_arguments()
        .filter(|arg| !(has_settings && is_setting(arg)));
    let mut lines: Vec<String> = arguments.map(argument_line).collect();
    lines.sort();
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
    let mut commands: Vec<_> = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .collect();
    commands.sort_by_key(|command| command.get_name());
    for command in commands {
        describe(command, &path, out);
    }
}

fn argument_line(arg: &Arg) -> String {
    let mut line = match (arg.get_long(), arg.get_short()) {
        (Some(long), Some(short)) => format!("--{long} -{short}"),
        (Some(long), None) => format!("--{long}"),
        (None, _) => format!("<{}>", arg.get_index().unwrap_or_default()),
    };
    let mut add = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = write!(line, " {name}={value}");
        }
    };
    let takes_values = arg.get_action().takes_values();
    add(
        "aliases",
        arg.get_all_aliases().unwrap_or_default().join(","),
    );
    add(
        "short-aliases",
        arg.get_all_short_aliases()
            .unwrap_or_default()
            .iter()
            .collect(),
    );
    let names = arg.get_value_names().filter(|_| takes_values);
    add("takes", names.unwrap_or_default().join(" "));
    let possible = arg.get_possible_values();
    let values: Vec<&str> = possible
        .iter()
        .filter(|_| takes_values)
        .flat_map(|value| value.get_name_and_aliases())
        .collect();
    add("values", values.join("|"));
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .filter(|_| takes_values)
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    add("default", defaults.join(","));
    for (is_set, word) in [
        (arg.is_required_set(), " required"),
        (arg.is_hide_set(), " hidden"),
        (matches!(arg.get_action(), ArgAction::Append), " many"),
    ] {
        if is_set {
            line.push_str(word);
        }
    }
    line
}

#[test]
fn the_command_line_equals_surface_txt() {
    let mut now = String::new();
    for mut command in [CommandLine::command(), AzuriteCommandLine::command()] {
        command.build();
        describe(&command, "", &mut now);
    }
    if std::env::var_os("PARTITA_REWRITE_SURFACE").is_some() {
        std::fs::write(SURFACE, now).unwrap();
        return;
    }
    let expected = include_str!("surface.txt");
    for (expected, now) in expected.lines().zip(now.lines()) {
        assert_eq!(expected, now);
    }
    assert_eq!(expected.lines().count(), now.lines().count());
}

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
    AzuriteCommandLine::command().debug_assert();
}

/// A flattened group of flags does not replace the description of its command.
#[test]
fn every_command_says_what_it_does() {
    fn check(command: &Command) {
        let name = command.get_name();
        let about = command.get_about().map(ToString::to_string);
        let about = about.unwrap_or_else(|| panic!("{name} has no description"));
        assert!(!about.ends_with('.'), "{name}: {about}");
        assert!(command.get_long_about().is_none(), "{name}");
        for arg in command.get_arguments() {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let is_hidden = arg.is_hide_set();
            assert!(is_hidden || !help.is_empty(), "{name} {}", arg.get_id());
        }
        command.get_subcommands().for_each(check);
    }
    let command = CommandLine::command();
    command.get_subcommands().for_each(check);
    let mut seen = Vec::new();
    for command in command.get_subcommands() {
        let about = command.get_about().unwrap().to_string();
        assert!(!seen.contains(&about), "{about} describes two commands");
        seen.push(about);
    }
}

fn refused(line: &str) -> String {
    let refused = CommandLine::try_parse_from(line.split_whitespace());
    let error = refused.map(|_| format!("{line} is accepted")).unwrap_err();
    error.to_string()
}

#[test]
fn unknown_words_suggest_the_nearest_one() {
    let text = refused("partita serve --table-prot 1");
    assert!(
        text.contains("unexpected argument '--table-prot'") && text.contains("--table-port"),
        "{text}"
    );
    assert!(refused("partita serve --tablePrt 1").contains("--tablePort"));
    assert!(refused("partita sevre").contains("serve"));
    assert!(refused("partita connect pyhton").contains("python"));
}

#[test]
fn flags_that_exclude_or_need_each_other_are_refused() {
    for (line, expected) in [
        ("scan t --prefix a --from b", "cannot be used with"),
        ("scan t --from a --after b", "cannot be used with"),
        ("scan t --before a --through b", "cannot be used with"),
        ("scan t --jobs 257", "257 is not in 1..=256"),
        ("entity insert t only-partition-key", "<ROW-KEY>"),
        ("log tail t p --text --select A", "cannot be used with"),
        ("log tail t p --text -o json", "cannot be used with"),
        ("import f t --resume --restart", "cannot be used with"),
        ("stress", "<TABLE>"),
        ("stress t compare a b", "cannot be used with"),
        ("backup n", "--to <URL>"),
        ("backup --to p --temporary", "<NAME>"),
        ("snapshot restore s", "--all-tables"),
        ("snapshot restore s --as x", "--table <TABLE>"),
        (
            "snapshot restore s --table t --all-tables",
            "cannot be used with",
        ),
        (
            "snapshot restore s --to-directory d --account a",
            "cannot be used with",
        ),
        ("admin split 1 --at k", "--table <TABLE>"),
        ("purge t", "<FILTER>"),
    ] {
        let text = refused(&format!("partita {line}"));
        assert!(text.contains(expected), "{line}: {text}");
    }
    for line in [
        "stress compare a b",
        "stress page r",
        "backup verify u",
        "backup --to p",
        "log tail t p --text",
        "log tail t p --text=Name",
        "snapshot list -o text",
        "table set t --ttl none",
    ] {
        let words = format!("partita {line}");
        let parsed = CommandLine::try_parse_from(words.split_whitespace());
        assert!(parsed.is_ok(), "{line}: {}", parsed.err().unwrap());
    }
}

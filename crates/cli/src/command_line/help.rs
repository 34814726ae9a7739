//! Help texts. `-h` is short: the flags that most callers need, and the commands in groups. `--help` has every flag, and
//! two examples for each command. The manual pages have the text of `--help`.

use super::CommandLine;
use crate::screen::{self, wrap, wrap_command};
use clap::{Arg, Command, CommandFactory as _};
use std::fmt::Write as _;

/// Two examples for each command: a line with the command's name, then the examples, which begin with `partita`.
const EXAMPLES: &str = include_str!("examples.txt");

/// The commands in the order of their use, by group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Serve", &["serve", "check", "config", "cluster"]),
    (
        "Data",
        &[
            "table",
            "entity",
            "scan",
            "count",
            "partitions",
            "purge",
            "log",
            "queue",
        ],
    ),
    (
        "Move data",
        &[
            "export", "import", "copy", "diff", "migrate", "fleet", "snapshot", "backup", "restore",
        ],
    ),
    (
        "Look",
        &[
            "status", "servers", "hot", "heat", "ranges", "explain", "stress",
        ],
    ),
    ("Act", &["admin"]),
    ("Access", &["profile", "sas", "service"]),
    ("Set up", &["connect", "completions", "man", "help"]),
];

/// Flags that `-h` shows although their group has many more.
const SHORT: [&str; 26] = [
    "admin",
    "admin-port",
    "accounts",
    "ca",
    "connection-string",
    "duration",
    "html",
    "in-memory",
    "jobs",
    "keep",
    "keys-from",
    "location",
    "mix",
    "partitions",
    "pattern",
    "prefix",
    "profile",
    "queue-port",
    "rate",
    "report",
    "resume",
    "row-bytes",
    "rows",
    "table-port",
    "target",
    "tls",
];

/// Width of help texts where the width of the terminal is not known.
const WIDTH: usize = 80;

/// The whole command line with its help texts, as wide as the terminal.
pub(super) fn command() -> Command {
    let width = screen::size().map_or(WIDTH, |(columns, _)| columns);
    let command = described(CommandLine::command().term_width(width), "");
    let groups = groups(&command, width);
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Adds the texts to a command and its subcommands. `path` is the name of the command, without `partita`.
fn described(command: Command, path: &str) -> Command {
    let short = command.get_after_help().map(ToString::to_string);
    let mut long = short.clone().unwrap_or_default();
    let examples: Vec<&str> = examples(path).collect();
    if !examples.is_empty() {
        let gap = if long.is_empty() { "" } else { "\n\n" };
        let _ = write!(long, "{gap}Examples:");
        for example in &examples {
            let lines = wrap_command(example, WIDTH - 2, 4);
            let _ = write!(long, "\n  {}", lines.join("\n  "));
        }
    }
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |command| described(command, path.trim()))
    });
    let command = command.mut_args(|arg| {
        let is_hidden = is_for_long_help(&arg);
        arg.hide_short_help(is_hidden)
    });
    if examples.is_empty() {
        return command;
    }
    let gap = if short.is_some() { "\n\n" } else { "" };
    let short = format!(
        "{}{gap}--help shows every flag, and examples.",
        short.unwrap_or_default()
    );
    command.after_help(short).after_long_help(long)
}

/// Whether only `--help` shows a flag: one of a group, of which `-h` shows few.
fn is_for_long_help(arg: &Arg) -> bool {
    let long = arg.get_long().unwrap_or_default();
    arg.get_help_heading().is_some() && !SHORT.contains(&long)
}

/// The examples of a command.
fn examples(path: &str) -> impl Iterator<Item = &'static str> {
    let mut lines = EXAMPLES.lines();
    let found = lines.find(|line| *line == path).is_some();
    lines.take_while(move |line| found && line.starts_with("partita "))
}

/// The commands of each group, a line for each.
fn groups(command: &Command, width: usize) -> String {
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "\n{group}:");
        for name in names {
            let found = command.find_subcommand(name);
            let about = found.and_then(Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Show the help of a command".to_owned());
            for line in wrap(&format!("  {name:<13}{about}"), width.max(40), 15) {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_width::UnicodeWidthStr as _;

    /// The words of a line, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('"').enumerate();
        let mut words = Vec::new();
        for (at, part) in parts {
            match at % 2 {
                0 => words.extend(part.split_whitespace().map(str::to_owned)),
                _ => words.push(part.to_owned()),
            }
        }
        words
    }

    fn each_leaf(command: &Command, path: &str, take: &mut dyn FnMut(&str)) {
        if !command.is_subcommand_required_set() && !path.is_empty() {
            take(path);
        }
        for command in command.get_subcommands() {
            let path = format!("{path} {}", command.get_name());
            each_leaf(command, path.trim(), take);
        }
    }

    #[test]
    fn every_command_has_two_examples_that_parse() {
        let command = command();
        let mut known = Vec::new();
        each_leaf(&command, "", &mut |path| {
            let examples: Vec<&str> = examples(path).collect();
            assert!(examples.len() >= 2, "{path} has no two examples");
            for example in examples {
                assert!(example.starts_with(&format!("partita {path}")), "{example}");
                let parsed = super::command().try_get_matches_from(words(example));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
            known.push(path.to_owned());
        });
        let mut titles = EXAMPLES
            .lines()
            .filter(|line| !line.starts_with("partita "));
        assert!(titles.all(|title| known.iter().any(|path| path == title)));
    }

    /// The texts of a command and its subcommands, `-h` and `--help`.
    fn each_help(command: &mut Command, take: &mut dyn FnMut(&str)) {
        take(&command.render_help().to_string());
        take(&command.render_long_help().to_string());
        let commands = command.get_subcommands_mut();
        commands.for_each(|command| each_help(command, take));
    }

    #[test]
    fn help_is_80_columns_wide_where_the_terminal_is_unknown() {
        let mut command = command();
        command.build();
        let mut count = 0;
        each_help(&mut command, &mut |text| {
            // clap does not wrap usage.
            let is_usage = |line: &&str| line.starts_with("Usage: ");
            for line in text.lines().filter(|line| !is_usage(line)) {
                assert!(line.width() <= 80, "{line}\n{text}");
            }
            count += 1;
        });
        assert!(count > 100, "{count}");
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = command();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        for command in command.get_subcommands() {
            let name = command.get_name();
            let count = grouped.iter().filter(|it| **it == name).count();
            assert_eq!(count, 1, "{name}");
        }
        assert_eq!(grouped.len(), command.get_subcommands().count() + 1);
    }

    #[test]
    fn short_help_is_shorter_than_long_help() {
        let mut command = command();
        command.build();
        let scan = command.find_subcommand_mut("scan").unwrap();
        let short = scan.render_help().to_string();
        let long = scan.render_long_help().to_string();
        assert!(short.lines().count() < 50, "{short}");
        assert!(
            !short.contains("--to-key") && !short.contains("Examples:"),
            "{short}"
        );
        assert!(long.contains("--page-rows") && long.contains("Examples:\n  partita scan people"));
        // The flags that make a stress test, in their groups.
        let stress = command.find_subcommand_mut("stress").unwrap();
        let short = stress.render_help().to_string();
        for words in [
            "\nKeys and rows:\n",
            " --pattern ",
            "\nLoad:\n",
            " --rate ",
            " --html ",
        ] {
            assert!(short.contains(words), "{short}");
        }
        assert!(
            short.lines().count() < 80 && !short.contains("--ramp"),
            "{short}"
        );
        let help = command.render_help().to_string();
        for words in [
            "\nServe:\n  serve ",
            "\nMove data:\n  export ",
            "\nOptions:\n",
        ] {
            assert!(help.contains(words), "{help}");
        }
    }
}

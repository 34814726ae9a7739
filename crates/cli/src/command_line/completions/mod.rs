//! Completions of commands, flags and names in shells.
//!
//! `partita completions SHELL` prints a script that registers `partita` with the shell. At each tab the script runs
//! `partita` with the variable [`VARIABLE`] and the words of the line; the engine of `clap_complete` finds the
//! candidates. Names of tables, queues, jobs, columns and profiles come from [`names`].
//!
//! Nothing is ever printed but candidates: a person types meanwhile.

mod names;
mod shell_words;

use super::help;
use crate::prelude::*;
use clap_complete::Shell;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::Shells;
use names::Line;
use shell_words::ShellWords;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Has the name of the shell when the program is run to complete a line.
const VARIABLE: &str = "PARTITA_COMPLETE";
/// The command that is completed, and that the shell runs for it.
const PROGRAM: &str = "partita";

/// Print a script that completes this command line in a shell, with names of tables and queues
#[derive(clap::Args)]
#[command(
    after_help = "bash: echo 'source <(partita completions bash)' >> ~/.bashrc\nzsh:  echo 'source <(partita completions zsh)' >> ~/.zshrc\nfish: partita completions fish > ~/.config/fish/completions/partita.fish"
)]
pub(super) struct CompletionsCommand {
    /// Shell to generate completions for
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Command for CompletionsCommand {
    fn run(self) -> CommandResult {
        output::print(&registration(self.shell)?)?;
        Ok(Outcome::Done)
    }
}

/// The script that registers the program with a shell.
fn registration(shell: Shell) -> Result<String, CommandError> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let completer = shells
        .completer(&name)
        .ok_or_else(|| CommandError::usage(format!("{name} is not supported")))?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .because("cannot write the script")?;
    let mut script = String::from_utf8(script).because("the script is not valid UTF-8")?;
    if shell == Shell::Zsh {
        // As a file in a directory of completions, the script runs at the first tab, which it must complete too.
        script.push_str(
            "if [[ ${funcstack[1]} == _partita ]]; then _clap_dynamic_completer_partita; fi\n",
        );
    }
    Ok(script)
}

/// Completes a line, if a shell runs the program for that; `None` if not. `arguments` are the program and, after `--`,
/// the words of the line.
pub(super) fn answer(arguments: &[OsString]) -> Option<ExitCode> {
    let shell = std::env::var(VARIABLE)
        .ok()
        .filter(|name| !name.is_empty())?;
    let mut words = arguments.iter().skip_while(|word| *word != "--");
    words.next();
    let words: Vec<OsString> = words.cloned().collect();
    let code = match answer_in(&shell, words) {
        Ok(text) => {
            let written = io::stdout().write_all(&text);
            if written.is_ok() { 0 } else { 1 }
        }
        Err(_) => 1,
    };
    Some(ExitCode::from(code))
}

/// The candidates as the shell reads them.
fn answer_in(shell: &str, words: Vec<OsString>) -> io::Result<Vec<u8>> {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let index = number("_CLAP_COMPLETE_INDEX");
    let directory = std::env::current_dir().ok();
    let mut out = Vec::new();
    let Some(style) = Style::of(shell) else {
        let line = Line::new(&words, words.len().saturating_sub(1));
        let mut command = names::with_names(help::command(), &line);
        let shells = Shells::builtins();
        let completer = shells
            .completer(shell)
            .ok_or_else(|| io::Error::other("unknown shell"))?;
        completer.write_complete(&mut command, words, directory.as_deref(), &mut out)?;
        return Ok(out);
    };
    let index = index.unwrap_or(words.len().saturating_sub(1));
    let ShellWords {
        words,
        index,
        typed,
    } = match style {
        Style::Fish => ShellWords::plain(words, index),
        Style::Bash => ShellWords::of_bash(words, index),
        Style::Zsh => ShellWords::of_zsh(words, index),
    };
    let current = words.get(index).cloned().unwrap_or_default();
    let line = Line::new(&words, index);
    let mut command = names::with_names(help::command(), &line);
    let mut found = complete(&mut command, words, index, directory.as_deref())?;
    if current.is_empty() && found.iter().any(|one| !is_flag(one)) {
        // Flags come when a hyphen is typed; names and commands stand alone.
        found.retain(|one| !is_flag(one));
    }
    let separator = std::env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
    for (at, candidate) in found.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(separator.as_bytes());
        }
        out.extend_from_slice(style.text(candidate, &typed).as_bytes());
    }
    Ok(out)
}

fn is_flag(candidate: &CompletionCandidate) -> bool {
    candidate.get_value().as_encoded_bytes().starts_with(b"-")
}

/// How a shell reads a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// The value.
    Bash,
    /// The value, a tab and its description.
    Fish,
    /// The value, a colon and its description.
    Zsh,
}

impl Style {
    fn of(shell: &str) -> Option<Self> {
        match shell {
            "bash" => Some(Self::Bash),
            "fish" => Some(Self::Fish),
            "zsh" => Some(Self::Zsh),
            _ => None,
        }
    }

    /// A candidate; `typed` is its beginning that the shell keeps.
    fn text(self, candidate: &CompletionCandidate, typed: &str) -> String {
        let value = candidate.get_value().to_string_lossy();
        let value = value.strip_prefix(typed).unwrap_or(&value);
        let help = candidate.get_help().map(ToString::to_string);
        let help = help.as_deref().and_then(|text| text.lines().next());
        match (self, help) {
            (Self::Bash, _) | (Self::Fish, None) => value.to_owned(),
            (Self::Fish, Some(help)) => format!("{value}\t{help}"),
            (Self::Zsh, help) => {
                let escaped = |text: &str| text.replace('\\', "\\\\").replace(':', "\\:");
                let help = help.map_or_else(String::new, |help| format!(":{}", escaped(help)));
                format!("{}{help}", escaped(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_has_a_script_that_calls_the_program() {
        for shell in [
            Shell::Bash,
            Shell::Elvish,
            Shell::Fish,
            Shell::PowerShell,
            Shell::Zsh,
        ] {
            let script = registration(shell).unwrap();
            assert!(script.contains(VARIABLE), "{shell}: {script}");
        }
    }

    #[test]
    fn candidates_have_the_form_of_their_shell() {
        let candidate = CompletionCandidate::new("a:b").help(Some("First: x\nsecond".into()));
        for (style, typed, expected) in [
            (Style::Bash, "a:", "b"),
            (Style::Fish, "", "a:b\tFirst: x"),
            (Style::Zsh, "", "a\\:b:First\\: x"),
        ] {
            assert_eq!(style.text(&candidate, typed), expected);
        }
    }
}

//! The command line: verbs, and flags made from the list of settings.

pub(crate) mod run;

use clap::{Arg, ArgAction, Command};

use crate::args::settings;
pub(crate) use crate::args::settings::layers;

/// Argument names that are no settings.
pub(crate) mod argument {
    pub(crate) const CONFIG: &str = "config";
    pub(crate) const OUTPUT: &str = "output";
    pub(crate) const TOOL: &str = "tool";
    pub(crate) const ACCOUNT: &str = "account";
    pub(crate) const FILTER: &str = "filter";
    pub(crate) const SHELL: &str = "shell";
    pub(crate) const DIRECTORY: &str = "directory";
}

const ABOUT: &str = "Azure Table storage that you run yourself";

/// The whole command line.
pub(crate) fn command() -> Command {
    Command::new("partita")
        .about(ABOUT)
        .version(partita_server::VERSION)
        .disable_version_flag(true)
        .arg(version())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(serve())
        .subcommand(config())
        .subcommand(connect())
        .subcommand(explain())
        .subcommands(crate::commands())
        .subcommand(crate::snapshot::command())
        .subcommand(crate::backup::command())
        .subcommand(crate::backup::restore::command())
        .subcommand(completions())
        .subcommand(man())
}

/// What `azurite` and `azurite-table` take: the flags of `serve`, without a verb.
pub(crate) fn azurite_command() -> Command {
    let command = serve().name("azurite").version(partita_server::VERSION);
    command.disable_version_flag(true).arg(version())
}

fn serve() -> Command {
    settings::add(Command::new("serve").about("Serve tables until told to stop"))
        .after_help("Settings come from defaults, a TOML file (--config), variables (PARTITA_*) and flags, each overriding\nthe ones before. `partita config show` tells which value came from where.")
}

fn config() -> Command {
    let show = settings::add(
        Command::new("show").about("Show every setting, its value, and where the value came from"),
    );
    Command::new("config")
        .about("Settings")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(show.arg(output()))
}

fn connect() -> Command {
    let tools = partita_server::connect::Tool::ALL.map(|tool| tool.name());
    let tool = Arg::new(argument::TOOL)
        .value_parser(clap::builder::PossibleValuesParser::new(tools))
        .default_value("string")
        .help("For whom");
    let account = Arg::new(argument::ACCOUNT)
        .long("account")
        .value_name("NAME")
        .help("Which account, if there are several [default: the first]");
    let command = Command::new("connect")
        .about("Print what a client needs to connect, ready to paste")
        .after_help("Takes the settings that the server was started with, in the same ways.");
    settings::add(command.arg(tool).arg(account))
}

fn explain() -> Command {
    let filter = Arg::new(argument::FILTER)
        .required(true)
        .value_name("FILTER")
        .help("The text of $filter, such as \"PartitionKey eq 'a' and RowKey ge 'b'\"");
    Command::new("explain")
        .about("Tell what a query with this filter would read")
        .arg(filter)
        .arg(output())
}

fn completions() -> Command {
    let shell = Arg::new(argument::SHELL)
        .required(true)
        .value_parser(clap::value_parser!(clap_complete::Shell))
        .help("For which shell");
    Command::new("completions")
        .about("Print the completions of this command line for a shell")
        .arg(shell)
        .after_help("Such as: partita completions bash > ~/.local/share/bash-completion/completions/partita")
}

fn man() -> Command {
    let directory = Arg::new(argument::DIRECTORY)
        .required(true)
        .value_name("DIR")
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help("Where to write them; made if it is not there");
    Command::new("man")
        .about("Write the manual pages of this command line")
        .arg(directory)
        .after_help("Such as: partita man ~/.local/share/man/man1")
}

/// How the answer is printed.
pub(crate) fn output() -> Arg {
    Arg::new(argument::OUTPUT)
        .long("output")
        .short('o')
        .value_name("FORM")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("How to print it")
}

/// Whether JSON is wanted.
pub(crate) fn is_json(matches: &clap::ArgMatches) -> bool {
    let form = matches.get_one::<String>(argument::OUTPUT);
    form.is_some_and(|form| form == "json")
}

/// `-v` as well, as Azurite has it.
fn version() -> Arg {
    Arg::new("version")
        .long("version")
        .short('V')
        .short_alias('v')
        .action(ArgAction::Version)
        .help("Print the version")
}

//! `partita config`: the settings of the server.

mod show;

use crate::command::commands;

commands! {
    pub(crate) enum ConfigCommand {
        Show(show::ShowCommand),
    }
}

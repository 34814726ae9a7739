//! `partita cluster`: what a cluster of servers needs.

mod key;
mod try_out;

use crate::command::commands;

commands! {
    pub(crate) enum ClusterCommand {
        Key(key::KeyCommand),
        Try(try_out::TryCommand),
    }
}

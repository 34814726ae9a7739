//! `partita cluster`: what a cluster of servers needs.

mod key;

use crate::command::commands;

commands! {
    pub(crate) enum ClusterCommand {
        Key(key::KeyCommand),
    }
}

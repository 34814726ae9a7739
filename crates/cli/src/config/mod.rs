//! `partita config`: the settings of the server.

pub(crate) mod show;

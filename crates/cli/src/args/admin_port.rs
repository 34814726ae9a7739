//! The flag `--admin`: the URL of Partita's admin port.

use super::connection::LOCAL_ADMIN_PORT;
use super::place::variable;
use crate::progress::Progress;
use partita_tools::admin::{AdminError, AdminOptions, AdminPort};
use partita_tools::source::Traffic;
use std::sync::Arc;

const VARIABLE: &str = "PARTITA_ADMIN";

/// The flag that a printed command on this port needs, with a blank before it; empty where variable or default name the
/// port already.
pub(crate) fn flag_for(port: &AdminPort) -> String {
    let known = variable(VARIABLE);
    let known = known.as_deref().unwrap_or(LOCAL_ADMIN_PORT);
    let url = port.to_string();
    match known.trim_end_matches('/') == url {
        true => String::new(),
        false => format!(" --admin {url}"),
    }
}

/// The URL of a server's admin port.
#[derive(Debug, clap::Args)]
pub(crate) struct AdminPortArgs {
    /// URL of the server's admin port [env: PARTITA_ADMIN] [default: http://127.0.0.1:10010]
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    admin: Option<String>,
}

impl AdminPortArgs {
    /// The admin port at the URL of the flag, else of `PARTITA_ADMIN`, else at the default port of this machine. The
    /// [`Progress`] counts its requests.
    pub(crate) fn open(&self) -> Result<(AdminPort, Progress), AdminError> {
        let url = self.admin.clone().or_else(|| variable(VARIABLE));
        let url = url.as_deref().unwrap_or(LOCAL_ADMIN_PORT);
        let traffic = Arc::new(Traffic::default());
        let progress = Progress::new(&traffic);
        let port = AdminPort::new(url, AdminOptions::default(), traffic)?;
        Ok((port, progress))
    }
}

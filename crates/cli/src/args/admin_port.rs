//! The flag of Partita's admin port.

use crate::progress::Progress;
use partita_tools::admin::{AdminError, AdminPort};
use partita_tools::source::Traffic;
use std::sync::Arc;

const VARIABLE: &str = "PARTITA_ADMIN";
/// The admin port of a server on this machine with default settings.
pub(crate) const LOCAL: &str = "http://127.0.0.1:10010";

/// Which admin port to ask.
#[derive(Debug, clap::Args)]
pub(crate) struct AdminPortArgs {
    /// URL of the server's admin port [env: PARTITA_ADMIN] [default: http://127.0.0.1:10010]
    #[arg(long, value_name = "URL", help_heading = "Connection")]
    admin: Option<String>,
}

impl AdminPortArgs {
    /// The admin port of the flag, else of the variable, else of this machine; and the progress of what is asked of it.
    pub(crate) fn open(&self) -> Result<(AdminPort, Progress), AdminError> {
        let variable = std::env::var(VARIABLE).ok();
        let variable = variable.filter(|url| !url.trim().is_empty());
        let url = self.admin.as_deref().or(variable.as_deref());
        let traffic = Arc::new(Traffic::default());
        let progress = Progress::of_traffic(&traffic);
        Ok((AdminPort::new(url.unwrap_or(LOCAL), traffic)?, progress))
    }
}

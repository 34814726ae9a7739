//! What tests with kills share: the data directory and its checking clients, which are kept over all
//! rounds.

use std::path::PathBuf;
use std::time::Duration;

use partita_bench::client::Client;
use partita_bench::{Account, ServerProcess, create_table};
use partita_load::Random;

use crate::checkers::{Checkers, TABLE};
use crate::setup::SeededTest;

/// The state that outlives the server's processes.
pub(crate) struct KillTest {
    pub(crate) program: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) account: Account,
    pub(crate) random: Random,
    pub(crate) checkers: Checkers,
    pub(crate) slowest_start: Duration,
}

impl KillTest {
    /// Runs the rounds of a test on an empty folder, which is kept when the test fails.
    pub(crate) fn run(
        arguments: &SeededTest,
        name: &str,
        rounds: impl FnOnce(Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let program = arguments.server.path()?;
        let account = Account::well_known();
        arguments.in_scratch(name, |directory, mut random| {
            rounds(Self {
                program,
                directory: directory.to_owned(),
                checkers: Checkers::new(&account, &mut random),
                account,
                random,
                slowest_start: Duration::ZERO,
            })
        })
    }

    /// Records how long a server took to start.
    pub(crate) fn started(&mut self, server: ServerProcess) -> ServerProcess {
        self.slowest_start = self.slowest_start.max(server.ready_after());
        server
    }

    /// A client of the server, whose table exists.
    pub(crate) fn connect(&self, server: &ServerProcess) -> anyhow::Result<Client> {
        let mut client = Client::connect(server.addr(), self.account.clone())?;
        create_table(&mut client, TABLE)?;
        Ok(client)
    }

    /// A random duration of the load.
    pub(crate) fn load_time(&mut self, ms_min: u64, ms_max: u64) -> Duration {
        Duration::from_millis(ms_min + self.random.below(ms_max))
    }
}

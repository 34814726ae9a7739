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
    /// How long each server took from its start until it was ready.
    pub(crate) starts: Vec<Duration>,
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
                starts: Vec::new(),
            })
        })
    }

    /// Records how long a server took to start.
    pub(crate) fn started(&mut self, server: ServerProcess) -> ServerProcess {
        self.starts.push(server.ready_after());
        server
    }

    /// The longest of the starts.
    pub(crate) fn slowest_start(&self) -> Duration {
        self.starts.iter().copied().max().unwrap_or_default()
    }

    /// The time that half of the starts took at most. Unlike the longest, it does not depend on what else the machine did.
    pub(crate) fn median_start(&self) -> Duration {
        let mut starts = self.starts.clone();
        starts.sort_unstable();
        starts.get(starts.len() / 2).copied().unwrap_or_default()
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

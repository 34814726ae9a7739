//! Restores snapshots that were taken under a fault, and checks what they have; and a backup of one, whose rows a new
//! server has.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use partita_bench::client::{Client, Request, Response};
use partita_bench::cluster::Connection;
use partita_bench::{Account, admin, park_for, partita_command};
use partita_load::history::{Keys, Value};

use super::changes::Snapshot;
use super::load::{Load, QUERY, TABLE, rows};
use super::servers::{Cluster, backups};
use crate::setup;

/// How long a command is repeated while a range has no server.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// The toolbox on the admin ports of a cluster.
#[derive(Debug)]
pub(super) struct Copies<'a> {
    pub(super) program: PathBuf,
    pub(super) cluster: &'a Cluster,
    /// A number for the next table.
    tables: u64,
}

impl<'a> Copies<'a> {
    pub(super) fn new(program: &Path, cluster: &'a Cluster) -> Self {
        Self {
            program: program.to_owned(),
            cluster,
            tables: 0,
        }
    }

    /// Restores each snapshot of a round, checks its rows, and deletes it.
    pub(super) fn check(
        &mut self,
        snapshots: &[Snapshot],
        load: &Load,
        connection: &mut Connection,
    ) -> anyhow::Result<()> {
        for snapshot in snapshots {
            let found = self.restored(&snapshot.name, connection);
            let found = found.with_context(|| format!("snapshot {}", snapshot.name))?;
            load.check_snapshot(found, snapshot.taken)
                .with_context(|| format!("snapshot {}", snapshot.name))?;
        }
        self.delete_all()
    }

    /// The rows of the table in a snapshot, which is restored next to it for the moment.
    fn restored(
        &mut self,
        name: &str,
        connection: &mut Connection,
    ) -> anyhow::Result<Vec<(Keys, Value)>> {
        let began = Instant::now();
        let table = loop {
            // A restore that was broken off may have left its table.
            self.tables += 1;
            let into = format!("then{}", self.tables);
            let table = TABLE.trim_start_matches('/');
            match self.run(&["snapshot", "restore", name, "--table", table, "--as", &into]) {
                Ok(()) => break into,
                Err(error) => ensure!(began.elapsed() < PATIENCE, "{error:#}"),
            }
            park_for(PAUSE);
        };
        let found = all_rows(&format!("/{table}()"), |request| {
            let answer = connection.send_until_answered(request, || began.elapsed() > PATIENCE);
            Ok(answer.context("the cluster does not answer")?.1)
        })?;
        let path = format!("/Tables('{table}')");
        let delete = Request::new("DELETE", &path);
        let deleted = connection.send_until_answered(&delete, || began.elapsed() > PATIENCE);
        let (_, deleted) = deleted.context("the table cannot be deleted")?;
        ensure!(matches!(deleted.status, 204 | 404), "{}", deleted.text());
        Ok(found)
    }

    /// Deletes all snapshots, also those whose creation had no answer.
    fn delete_all(&self) -> anyhow::Result<()> {
        until("the snapshots can be deleted", || {
            let admin = self.admin();
            let names = admin::snapshots(admin)?;
            names
                .iter()
                .try_for_each(|name| admin::act_on_snapshot(admin, name, "delete").map(|_| ()))
        })
    }

    /// Takes a snapshot while a server is dead, copies it into a backup, restores that into a new store, and compares its
    /// rows, which a server without a cluster shows, with those of the snapshot. Returns their number.
    pub(super) fn back_up(
        &mut self,
        victim: usize,
        folder: &Path,
        account: &Account,
        connection: &mut Connection,
    ) -> anyhow::Result<usize> {
        let victim = &self.cluster.servers[victim].own.program;
        victim.kill();
        let taken = until("a snapshot can be taken", || {
            self.run(&["snapshot", "create", "last"])
        });
        victim.up()?;
        taken?;
        let place = backups(folder).join("last").display().to_string();
        until("the snapshot can be copied", || {
            self.run(&["backup", "last", "--to", &place])
        })?;
        let store = format!("file://{}", folder.join("restored").display());
        self.run_alone(&["backup", "verify", &place])?;
        self.run_alone(&["restore", "--from", &place, "--store", &store])?;
        let server = setup::start_command(partita_command(&self.program, Path::new(&store)))?;
        let mut client = Client::connect(server.addr(), account.clone())?;
        let found = all_rows(QUERY, |request| client.send(request))?;
        let expected = self.restored("last", connection)?;
        ensure!(
            found == expected,
            "the backup has {} rows, the snapshot {}, or they differ",
            found.len(),
            expected.len()
        );
        Ok(found.len())
    }

    /// The admin port of a server that is up.
    fn admin(&self) -> SocketAddr {
        let mut servers = self.cluster.servers.iter();
        let up = servers.find(|server| server.own.program.is_up());
        up.unwrap_or(&self.cluster.servers[0]).own.admin
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<()> {
        let admin = format!("http://{}", self.admin());
        self.run_alone(&[words, &["--admin", &admin]].concat())
    }

    fn run_alone(&self, words: &[&str]) -> anyhow::Result<()> {
        let output = Command::new(&self.program).args(words).output()?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("partita {}: {errors}", words.join(" "));
        }
        Ok(())
    }
}

/// Repeats an action until it succeeds.
fn until(what: &str, action: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let began = Instant::now();
    loop {
        match action() {
            Ok(()) => return Ok(()),
            Err(error) if began.elapsed() > PATIENCE => {
                return Err(error.context(format!("waiting until {what}")));
            }
            Err(_) => park_for(PAUSE),
        }
    }
}

/// All rows of a query, page by page.
fn all_rows(
    path: &str,
    mut send: impl FnMut(&Request<'_>) -> anyhow::Result<Response>,
) -> anyhow::Result<Vec<(Keys, Value)>> {
    let (mut found, mut query) = (Vec::new(), String::new());
    loop {
        let page = send(&Request {
            query: &query,
            ..Request::new("GET", path)
        })?;
        let page = page.expect(200)?;
        found.extend(rows(&page)?);
        match page.next_page() {
            Some(token) => query = token,
            None => return Ok(found),
        }
    }
}

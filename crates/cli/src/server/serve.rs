//! `partita serve`: runs a server until a signal stops it.
//!
//! Prints these lines on stdout, in this order. Test frameworks wait for the lines of Azurite (its `azurite.js`), so
//! they are the same here. Called as `azurite`, the first line is absent:
//!
//! ```text
//! starting partita 0.1.0
//! Azurite Queue service is starting at http://127.0.0.1:10001
//! Azurite Table service is starting at http://127.0.0.1:10002
//! Azurite Queue service is successfully listening at http://127.0.0.1:10001
//! Azurite Table service is successfully listening at http://127.0.0.1:10002
//! partita 0.1.0 is ready: tables at http://127.0.0.1:10002, queues at http://127.0.0.1:10001, admin at ..
//! DefaultEndpointsProtocol=http;AccountName=..
//! export NODE_EXTRA_CA_CERTS=..                                        (only with --tls dev; two more such lines)
//! Azurite Queue service is closing...
//! Azurite Table service is closing...
//! Azurite Queue service successfully closed
//! Azurite Table service successfully closed
//! ```
//!
//! A server whose object store another server takes over stops like this too, and fails.
//!
//! With `--queue-port 0`, the lines of the Queue service are absent. The line of the Table service is the last of its
//! kind, as Azurite prints it: a client that waits for it can use both services.

use crate::args::SettingsArgs;
use crate::prelude::*;
use crate::signals::StopSignals;
use partita_server::config::{Place, Settings};
use partita_server::connect::{Endpoint, authority, trust_lines};
use partita_server::{Server, VERSION, logging};
use std::io::Write as _;

/// Serve tables and queues until stopped by a signal
#[derive(clap::Args)]
#[command(
    after_help = "Settings come from defaults, a TOML file (--config), variables (PARTITA_*) and flags, each overriding the ones before. `partita config show` shows the source of each value."
)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    settings: SettingsArgs,
    /// Whether the first line is Azurite's.
    #[arg(skip)]
    is_azurite: bool,
}

impl ServeCommand {
    /// Prints only Azurite's lines before the server is ready.
    pub(crate) fn like_azurite(mut self) -> Self {
        self.is_azurite = true;
        self
    }

    /// Serves no queues unless a setting gives them a port. Azurite's table server has none, and runs beside a server
    /// of queues.
    pub(crate) fn without_queues_by_default(mut self) -> Self {
        self.settings = self.settings.with_default("queue-port", "0");
        self
    }
}

impl Command for ServeCommand {
    fn run(self) -> CommandResult {
        let (settings, _) = self.settings.resolve()?;
        let _writing = logging::start(&settings.log).because("cannot start the log")?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(partita_server::request_threads())
            .max_blocking_threads(partita_server::blocking_threads_max())
            .thread_name("partita")
            .build()
            .because("cannot start the threads of the server")?;
        if !self.is_azurite {
            announce(&format!("starting partita {VERSION}\n"));
        }
        runtime.block_on(serve(settings))?;
        Ok(Outcome::Done)
    }
}

async fn serve(settings: Settings) -> Result<(), CommandError> {
    // Listens first, so that a signal during the start is not lost.
    let mut signals = StopSignals::listen().because("cannot listen for signals")?;
    let table = settings.is_front().then_some(settings.table.port);
    let queue = settings.queue.as_ref().filter(|_| settings.is_front());
    let services = Services::at(&settings, table, queue.map(|queue| queue.port));
    services.announce(|name, url| format!("Azurite {name} service is starting at {url}\n"));
    let server = tokio::select! {
        server = Server::start(settings.clone()) => server?,
        () = signals.next() => return Ok(()),
    };
    let services = announce_ready(&server, &settings)?;

    let fenced = tokio::select! {
        () = signals.next() => None,
        by = server.fenced() => Some(by),
    };
    services.announce(|name, _| format!("Azurite {name} service is closing...\n"));
    tokio::select! {
        _ = server.stop() => {}
        () = signals.next() => return Err(CommandError::StoppedAtOnce),
    }
    services.announce(|name, _| format!("Azurite {name} service successfully closed\n"));
    match fenced {
        Some(by) => Err(CommandError::Fenced(by)),
        None => Ok(()),
    }
}

/// The URLs of the services.
struct Services {
    table: Option<String>,
    queue: Option<String>,
}

impl Services {
    fn at(settings: &Settings, table: Option<u16>, queue: Option<u16>) -> Self {
        let scheme = settings.tls.scheme();
        let url = |host: &str, port| format!("{scheme}://{}", authority(host, port));
        let queue = settings.queue.as_ref().zip(queue);
        Self {
            table: table.map(|port| url(&settings.table.host, port)),
            queue: queue.map(|(queue, port)| url(&queue.host, port)),
        }
    }

    /// Prints a line for each service, with its name and URL.
    fn announce(&self, line: impl Fn(&str, &str) -> String) {
        let services = [("Queue", &self.queue), ("Table", &self.table)].into_iter();
        let lines = services.filter_map(|(name, url)| url.as_ref().map(|url| line(name, url)));
        let lines = lines.collect::<String>();
        if !lines.is_empty() {
            announce(&lines);
        }
    }
}

/// The connection string, and how clients trust the server's certificate.
fn how_to_connect(
    settings: &Settings,
    table: u16,
    queue: Option<u16>,
) -> Result<String, CommandError> {
    let mut endpoint = Endpoint::of(settings, None)
        .ok_or_else(|| CommandError::usage("the settings have no account"))?;
    endpoint.port = table;
    if let (Some((_, port)), Some(listening)) = (&mut endpoint.queue, queue) {
        *port = listening;
    }
    let text = endpoint.public_connection_string();
    Ok(format!("{text}\n{}", trust_lines(&endpoint)))
}

fn announce_ready(server: &Server, settings: &Settings) -> Result<Services, CommandError> {
    let listening = server.listening();
    let table = listening.table.map(|table| table.port());
    let queue = listening.queue.map(|queue| queue.port());
    let services = Services::at(settings, table, queue);
    let tables = services.table.as_ref();
    let tables = tables.map_or_else(
        || "no ports for clients".to_owned(),
        |url| format!("tables at {url}"),
    );
    let mut ready = format!("partita {VERSION} is ready: {tables}");
    if let Some(queue) = &services.queue {
        ready.push_str(&format!(", queues at {queue}"));
    }
    if let Some(admin) = listening.admin {
        let admin = authority(&settings.admin.host, admin.port());
        ready.push_str(&format!(", admin at http://{admin}"));
    }
    match &settings.store.place {
        Place::Directory(path) => ready.push_str(&format!(", data in {}", path.display())),
        Place::ObjectStore(store) => ready.push_str(&format!(", data in {}", store.files.url())),
        Place::Memory => ready.push_str(", data in memory only"),
    }
    services.announce(|name, url| {
        format!("Azurite {name} service is successfully listening at {url}\n")
    });
    match table {
        Some(table) => announce(&format!(
            "{ready}\n{}",
            how_to_connect(settings, table, queue)?
        )),
        None => announce(&format!("{ready}\n")),
    }
    let admin = listening.admin;
    if let (Some(admin), Some(wanted)) = (admin, settings.admin.port)
        && admin.port() != wanted
    {
        let port = admin.port();
        message(&format!(
            "the admin port {wanted} is in use, so this server's admin port is {port}; pass --admin http://127.0.0.1:{port} to partita status and its like"
        ));
    }
    if admin.is_some_and(|admin| !admin.ip().is_loopback()) {
        message(
            "warning: the admin port needs no credentials and can be reached from other machines",
        );
    }
    Ok(services)
}

/// Writes to stdout. A closed stdout does not stop the server.
fn announce(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}

//! `partita cluster try`: a cluster of this machine, to try: etcd, some servers, and a folder as their object store.
//!
//! The servers are processes of their own, as on several machines: each can be killed. One that ends is started again.

use crate::prelude::*;
use crate::signals::StopSignals;
use partita_peer::ClusterKey;
use partita_server::config::{WELL_KNOWN_ACCOUNT, WELL_KNOWN_KEY};
use std::io::{BufRead as _, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Program, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long etcd may take to listen.
const ETCD_PATIENCE: Duration = Duration::from_secs(15);

/// How long programs may take to end before they are killed.
const STOP_PATIENCE: Duration = Duration::from_secs(15);

/// A server that ends earlier, and was not killed, is not started again.
const START_TIME: Duration = Duration::from_secs(3);

/// The pause between two looks at the programs.
const LOOK: Duration = Duration::from_millis(200);

/// From the ports of one server to those of the next.
const PORT_STEP: u16 = 100;

/// Try a cluster on this machine: start etcd and some servers on one folder, and keep them running
#[derive(clap::Args)]
#[command(
    after_help = "Kill one of the servers while a program uses another: after a pause, the program goes on. Ctrl-C stops all. \
                  The data stays in the folder. Needs etcd 3.4 or later, for example of Debian's package etcd-server."
)]
pub(crate) struct TryCommand {
    /// Number of servers
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=9))]
    servers: u16,
    /// Folder for the data, the key and the logs of etcd
    #[arg(long, value_name = "DIR", default_value = "partita-cluster")]
    folder: PathBuf,
    /// Table port of the first server; that of the next is 100 higher. The queue port is one lower, the admin port 8 higher
    #[arg(long, value_name = "PORT", default_value_t = 10002, value_parser = clap::value_parser!(u16).range(2..=60_000))]
    table_port: u16,
    /// The program etcd
    #[arg(long, value_name = "FILE", default_value = "etcd")]
    etcd: PathBuf,
}

impl Command for TryCommand {
    fn run(self) -> CommandResult {
        std::fs::create_dir_all(&self.folder).because("cannot create the folder")?;
        let key = self.folder.join("cluster.key");
        if !key.exists() {
            let created = ClusterKey::create().because("cannot create a cluster key")?;
            created
                .write(&key)
                .because("cannot write the cluster key")?;
        }
        let etcd = Etcd::start(&self.etcd, &self.folder)?;
        let servers: Vec<Server> = (0..self.servers)
            .map(|index| self.server(index, &etcd))
            .collect::<Result<_, _>>()?;
        for server in &servers {
            output::print(&server.connection_string())?;
        }
        message(
            "each line is the connection string of a server, and any of them will do; Ctrl-C stops all",
        );
        block_on(watch(etcd, servers))
    }
}

impl TryCommand {
    /// Starts a server.
    fn server(&self, index: u16, etcd: &Etcd) -> Result<Server, CommandError> {
        let folder = std::path::absolute(&self.folder).because("cannot find the folder")?;
        let name = format!("server-{}", index + 1);
        let table_port = self.table_port + PORT_STEP * index;
        let port = |offset: i32| (i32::from(table_port) + offset).to_string();
        let path = |name: &str| folder.join(name).display().to_string();
        let flags = [
            ("store", format!("file://{}", path("store"))),
            ("coordinator", format!("etcd://127.0.0.1:{}", etcd.port)),
            ("cluster-key", path("cluster.key")),
            ("server-name", name.clone()),
            ("state-dir", path(&format!("state/{name}"))),
            ("table-port", table_port.to_string()),
            ("queue-port", port(-1)),
            ("admin-port", port(8)),
            ("peer-port", port(9)),
        ];
        let flags = flags.map(|(flag, value)| format!("--{flag}={value}"));
        let mut server = Server {
            name,
            table_port,
            flags: flags.into(),
            program: None,
            started: Instant::now(),
            ended: None,
        };
        server.start()?;
        Ok(server)
    }
}

/// The running etcd.
struct Etcd {
    program: Running,
    port: u16,
}

impl Etcd {
    fn start(program: &Path, folder: &Path) -> Result<Self, CommandError> {
        let (port, peer_port) = (free_port()?, free_port()?);
        let (clients, peers) = (
            format!("http://127.0.0.1:{port}"),
            format!("http://127.0.0.1:{peer_port}"),
        );
        let mut command = Program::new(program);
        command
            .arg("--data-dir")
            .arg(folder.join("etcd"))
            .args(["--listen-client-urls", &clients])
            .args(["--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &format!("default={peers}")])
            .args(["--logger", "zap", "--log-level", "error"]);
        let program = Running::start(&mut command, "etcd");
        let mut etcd = Self {
            program: program.because(
                "cannot start etcd: install it (Debian's package is etcd-server), or name it with --etcd",
            )?,
            port,
        };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if etcd.program.ended()?.is_some() || began.elapsed() > ETCD_PATIENCE {
                return Err(CommandError::usage(
                    "etcd does not listen: see its lines above",
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(etcd)
    }
}

/// A server, which may have ended.
struct Server {
    name: String,
    table_port: u16,
    flags: Vec<String>,
    program: Option<Running>,
    started: Instant,
    /// When it was seen that it had ended.
    ended: Option<Instant>,
}

impl Server {
    fn start(&mut self) -> Result<(), CommandError> {
        let program = std::env::current_exe().because("cannot find this program")?;
        let mut command = Program::new(program);
        command.arg("serve").args(&self.flags);
        let program = Running::start(&mut command, &self.name);
        self.program = Some(program.because("cannot start a server")?);
        (self.started, self.ended) = (Instant::now(), None);
        Ok(())
    }

    /// Starts it again if it has ended, after a second.
    fn keep(&mut self) -> Result<(), CommandError> {
        if let Some(program) = &mut self.program
            && let Some(status) = program.ended()?
        {
            let name = &self.name;
            if status.code().is_some() && self.started.elapsed() < START_TIME {
                let text = format!("{name} does not start ({status}): see its lines above");
                return Err(CommandError::usage(text));
            }
            message(&format!("{name} ended ({status}); it is started again"));
            (self.program, self.ended) = (None, Some(Instant::now()));
        }
        let is_due = |ended: Instant| ended.elapsed() > Duration::from_secs(1);
        match self.ended.is_some_and(is_due) {
            true => self.start(),
            false => Ok(()),
        }
    }

    fn connection_string(&self) -> String {
        let (table, queue) = (self.table_port, self.table_port - 1);
        format!(
            "DefaultEndpointsProtocol=http;AccountName={WELL_KNOWN_ACCOUNT};AccountKey={WELL_KNOWN_KEY};\
             TableEndpoint=http://127.0.0.1:{table}/{WELL_KNOWN_ACCOUNT};\
             QueueEndpoint=http://127.0.0.1:{queue}/{WELL_KNOWN_ACCOUNT}"
        )
    }
}

/// Keeps the servers running until a request to stop. Then the servers end at the same time, and after them etcd.
async fn watch(mut etcd: Etcd, mut servers: Vec<Server>) -> CommandResult {
    let kept = keep(&mut etcd, &mut servers).await;
    for program in servers.iter().filter_map(|server| server.program.as_ref()) {
        program.ask_to_stop();
    }
    drop(servers);
    kept.map(|()| Outcome::Done)
}

async fn keep(etcd: &mut Etcd, servers: &mut [Server]) -> Result<(), CommandError> {
    let mut signals = StopSignals::listen().because("cannot listen for signals")?;
    loop {
        tokio::select! {
            () = signals.next() => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        if let Some(status) = etcd.program.ended()? {
            return Err(CommandError::usage(format!("etcd ended ({status})")));
        }
        for server in servers.iter_mut() {
            server.keep()?;
        }
    }
}

/// A program that was started. It ends when this is dropped.
struct Running(Child);

impl Running {
    /// Starts a program in a process group of its own, so that Ctrl-C reaches it only through this command. Its lines are
    /// printed with its name.
    fn start(command: &mut Program, name: &str) -> std::io::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let mut child = command.spawn()?;
        print_lines(name, child.stdout.take());
        print_lines(name, child.stderr.take());
        Ok(Self(child))
    }

    /// How it ended, if it has.
    fn ended(&mut self) -> Result<Option<ExitStatus>, CommandError> {
        self.0.try_wait().because("cannot watch a program")
    }

    #[cfg(unix)]
    fn ask_to_stop(&self) {
        let id = i32::try_from(self.0.id()).ok();
        if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
            // Fails only if it has ended.
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        }
    }

    /// Elsewhere, programs are killed.
    #[cfg(not(unix))]
    fn ask_to_stop(&self) {}
}

impl Drop for Running {
    fn drop(&mut self) {
        self.ask_to_stop();
        let began = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) {
            if cfg!(not(unix)) || began.elapsed() > STOP_PATIENCE {
                // Fails only if it has ended meanwhile.
                let _ = self.0.kill();
                let _ = self.0.wait();
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Prints the lines of a program, until it closes them.
fn print_lines(name: &str, lines: Option<impl Read + Send + 'static>) {
    let name = name.to_owned();
    let Some(lines) = lines else { return };
    std::thread::spawn(move || {
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            // The connection strings of all servers are printed by this command.
            if !line.is_empty() && !line.starts_with("DefaultEndpointsProtocol=") {
                message(&format!("{name} | {line}"));
            }
        }
    });
}

/// A port that no program uses now.
fn free_port() -> Result<u16, CommandError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    Ok(listener.because("cannot find a free port")?.port())
}

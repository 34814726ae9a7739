//! Ceph with a monitor, an OSD and a gateway that speaks S3: a real object store on one machine.
//!
//! `bench/ceph/setup` fetches its programs. The monitor begins with a map that has the OSD, and with all keys, so that no
//! command of Ceph is needed.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::programs::Program;
use crate::{admin, park_for, project};

/// How long the gateway may take to answer: it waits for the OSD, and creates its pools.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two looks at the gateway.
const LOOK: Duration = Duration::from_millis(100);

/// How long one request may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// The bucket that servers use.
const BUCKET: &str = "partita";

/// The name of the user of the gateway, and its access key.
const USER: &str = "partita";

/// Its secret key. The gateway listens on this machine only.
const SECRET: &str = "partita-secret";

/// The folders of Ceph's libraries, below the folder of its files.
const LIBRARIES: [&str; 3] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/ceph",
    "lib/x86_64-linux-gnu",
];

/// A running Ceph. Its processes end with it.
#[derive(Debug)]
pub struct Ceph {
    _monitor: Arc<Program>,
    /// The process that has the objects.
    pub osd: Arc<Program>,
    /// The process that speaks S3.
    pub gateway: Arc<Program>,
    /// Where the gateway listens.
    pub address: SocketAddr,
}

/// The files of Ceph, and the folder of one that runs.
struct Files {
    root: PathBuf,
    folder: PathBuf,
}

impl Ceph {
    /// Starts a new one with its data below `folder`, and creates the bucket.
    ///
    /// # Errors
    /// When its programs are missing, or it does not start.
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let files = Files::new(folder)?;
        let (monitor, gateway) = (admin::free_port()?, admin::free_port()?);
        files.configure(monitor, gateway)?;
        files.create_keys()?;
        files.create_monitor(monitor)?;
        let begin = |kind: &str, id: &str| -> anyhow::Result<Arc<Program>> {
            let arguments = ["-f", "-n", id].map(str::to_owned).to_vec();
            let file = files.program(kind);
            let program = Program::new(kind, &file, arguments, &files.variables(), &files.folder);
            program.up()?;
            Ok(program)
        };
        let started = Self {
            _monitor: begin("ceph-mon", "mon.a")?,
            osd: {
                files.run("ceph-osd", &["-i", "0", "--mkfs", "--osd-uuid", &uuid()?])?;
                begin("ceph-osd", "osd.0")?
            },
            gateway: begin("radosgw", "client.rgw")?,
            address: gateway,
        };
        started.await_gateway()?;
        started.create_bucket(&files)?;
        Ok(started)
    }

    /// Waits until an object can be written, which says that the monitor, the OSD and the gateway have recovered.
    ///
    /// # Errors
    /// When it lasts too long.
    pub fn await_writes(&self) -> anyhow::Result<()> {
        let token = self.token()?;
        let put = format!("PUT /swift/v1/{BUCKET}/is-it-there");
        self.await_answer(&put, &token, " 201 ")
    }

    /// The URL of a store in it, for `partita serve --store`.
    #[must_use]
    pub fn store(&self) -> String {
        format!("s3://{BUCKET}/store")
    }

    /// The environment variables by which a server reaches the gateway at `address`, its own or that of a proxy.
    #[must_use]
    pub fn environment(address: SocketAddr) -> [(&'static str, OsString); 4] {
        [
            ("AWS_ACCESS_KEY_ID", USER.into()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.into()),
            ("AWS_ENDPOINT_URL", format!("http://{address}").into()),
            ("AWS_ALLOW_HTTP", "true".into()),
        ]
    }

    fn await_gateway(&self) -> anyhow::Result<()> {
        self.await_answer("GET /", "", " 200 ")
    }

    /// Sends a request until it is answered with this status.
    fn await_answer(&self, line: &str, headers: &str, status: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self
            .request(line, headers)
            .is_ok_and(|answer| answer.contains(status))
        {
            ensure!(
                began.elapsed() < PATIENCE,
                "Ceph does not answer {line} with{status}after {PATIENCE:?}: see the logs in its folder"
            );
            park_for(LOOK);
        }
        Ok(())
    }

    /// Creates the user and its bucket. By the gateway's second protocol, Swift, whose requests need no signature.
    fn create_bucket(&self, files: &Files) -> anyhow::Result<()> {
        let user = format!("{USER}:swift");
        let create = [
            "-n",
            "client.rgw",
            "user",
            "create",
            "--uid",
            USER,
            "--display-name",
            USER,
        ];
        let keys = ["--access-key", USER, "--secret-key", SECRET];
        files.run("radosgw-admin", &[&create[..], &keys].concat())?;
        let create = [
            "-n",
            "client.rgw",
            "subuser",
            "create",
            "--uid",
            USER,
            "--subuser",
            &user,
        ];
        let rights = ["--access", "full", "--secret", SECRET];
        files.run("radosgw-admin", &[&create[..], &rights].concat())?;
        let answer = self.request(&format!("PUT /swift/v1/{BUCKET}"), &self.token()?)?;
        ensure!(
            answer.contains(" 201 "),
            "Ceph's gateway created no bucket: {answer}"
        );
        Ok(())
    }

    /// The headers of an empty request of the user.
    fn token(&self) -> anyhow::Result<String> {
        let names = format!("X-Auth-User: {USER}:swift\r\nX-Auth-Key: {SECRET}\r\n");
        let answer = self.request("GET /auth/v1.0", &names)?;
        let mut lines = answer.lines();
        let token = lines.find_map(|line| line.strip_prefix("X-Auth-Token: "));
        let token = token.with_context(|| format!("Ceph's gateway refused its user: {answer}"))?;
        Ok(format!("X-Auth-Token: {token}\r\nContent-Length: 0\r\n"))
    }

    /// Sends a request to the gateway: its first line without the version, and its headers. Returns the answer with its head.
    fn request(&self, line: &str, headers: &str) -> anyhow::Result<String> {
        let address = self.address;
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
        // By HTTP/1.0, so that the answer ends with the connection.
        write!(
            stream,
            "{line} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Files {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let files = Self {
            root: project::root().join(".deps/ceph"),
            folder: folder.join("ceph"),
        };
        ensure!(
            files.program("radosgw").exists(),
            "Ceph is missing: run bench/ceph/setup"
        );
        for name in ["mon", "osd"] {
            std::fs::create_dir_all(files.folder.join(name))?;
        }
        Ok(files)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.root.join("usr/bin").join(name)
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn variables(&self) -> [(&'static str, OsString); 2] {
        let libraries = LIBRARIES.map(|folder| self.root.join(folder).display().to_string());
        [
            ("LD_LIBRARY_PATH", libraries.join(":").into()),
            ("CEPH_CONF", self.path("ceph.conf").into()),
        ]
    }

    fn run(&self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new(self.program(program))
            .args(arguments)
            .envs(self.variables())
            .output()
            .with_context(|| format!("starting {program}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{program} {arguments:?}: {errors}");
        Ok(())
    }

    /// Writes the settings: one copy of each object, little memory, and no wait for the rest of a segment, which costs
    /// 40 ms a request.
    fn configure(&self, monitor: SocketAddr, gateway: SocketAddr) -> anyhow::Result<()> {
        let library = |name: &str| {
            self.root
                .join(LIBRARIES[0])
                .join(name)
                .display()
                .to_string()
        };
        let settings = [
            ("mon host", format!("[v2:{monitor}/0]")),
            ("public addr", monitor.ip().to_string()),
            ("mon data", self.path("mon")),
            ("osd data", self.path("osd")),
            ("keyring", self.path("keyring")),
            ("log file", self.path("$name.log")),
            ("run dir", self.folder.display().to_string()),
            // Paths of sockets may have 107 bytes.
            ("admin socket", String::new()),
            ("plugin dir", library("ceph")),
            ("erasure code dir", library("ceph/erasure-code")),
            ("osd class dir", library("rados-classes")),
            ("osd pool default size", "1".into()),
            ("osd pool default min size", "1".into()),
            ("osd pool default pg num", "8".into()),
            ("osd pool default pgp num", "8".into()),
            ("osd pool default pg autoscale mode", "off".into()),
            ("mon allow pool size one", "true".into()),
            // The gateway creates its pools one after the other, and each is a proposal, which waits for others for a second.
            ("paxos propose interval", "0.05".into()),
            ("paxos min wait", "0.02".into()),
            ("osd crush chooseleaf type", "0".into()),
            ("osd memory target", (896_u64 << 20).to_string()),
            ("bluestore block size", (16_u64 << 30).to_string()),
            (
                "rgw frontends",
                format!("beast endpoint={gateway} tcp_nodelay=1"),
            ),
            ("rgw dynamic resharding", "false".into()),
        ];
        let lines = settings.map(|(name, value)| format!("{name} = {value}\n"));
        let text = format!("[global]\n{}", lines.concat());
        Ok(std::fs::write(self.path("ceph.conf"), text)?)
    }

    /// Creates the keys of all processes. Those in the monitor's first keyring are known without a command.
    fn create_keys(&self) -> anyhow::Result<()> {
        let keyring = self.path("keyring");
        self.run("ceph-authtool", &["--create-keyring", &keyring])?;
        for (name, on_monitor, on_osd) in [
            ("mon.", "allow *", "allow *"),
            ("osd.0", "allow profile osd", "allow *"),
            ("client.rgw", "allow rw", "allow rwx"),
        ] {
            let create = [&keyring, "--gen-key", "--name", name];
            let rights = ["--cap", "mon", on_monitor, "--cap", "osd", on_osd];
            self.run("ceph-authtool", &[&create[..], &rights].concat())?;
        }
        Ok(())
    }

    /// Creates the data of the monitor, with a map that has one OSD.
    fn create_monitor(&self, monitor: SocketAddr) -> anyhow::Result<()> {
        let (monitors, osds) = (self.path("monmap"), self.path("osdmap"));
        let (id, address) = (uuid()?, format!("[v2:{monitor}/0]"));
        let create = [
            "--create", "--fsid", &id, "--addv", "a", &address, &monitors,
        ];
        self.run("monmaptool", &create)?;
        self.run("osdmaptool", &["--createsimple", "1", &osds])?;
        let maps = ["--monmap", &monitors, "--osdmap", &osds];
        let keyring = self.path("keyring");
        let create = ["--mkfs", "-n", "mon.a", "--keyring", &keyring];
        self.run("ceph-mon", &[&create[..], &maps].concat())
    }
}

/// A new id.
fn uuid() -> anyhow::Result<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    Ok(id.trim_end().to_owned())
}

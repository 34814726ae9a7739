//! etcd processes, which a test kills and stops.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use partita_coordinator::{EtcdConfig, EtcdRegistry, Registry as _};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A member of etcd. It ends with the value.
pub(crate) struct Etcd {
    child: Child,
    arguments: Vec<String>,
    pub(crate) port: u16,
    pub(crate) folder: PathBuf,
    /// Removed at the end, if this member owns it.
    _owned: Option<TempDir>,
}

/// The folder of the programs.
pub(crate) fn programs() -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.deps/etcd");
    assert!(
        programs.join("etcd").exists(),
        "etcd is missing: run crates/coordinator/setup"
    );
    programs
}

#[allow(clippy::disallowed_methods, reason = "the test asks for a free port")]
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Etcd {
    /// One member.
    pub(crate) fn start() -> Self {
        Self::start_with(&[], "http")
    }

    /// One member with further arguments.
    pub(crate) fn start_with(arguments: &[&str], scheme: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [port, peer] = free_ports();
        let path = folder.path().to_owned();
        let arguments = arguments.iter().map(|text| (*text).to_owned());
        let cluster = format!("m0=http://127.0.0.1:{peer}");
        let mut all = member_arguments("m0", &path, scheme, port, peer, &cluster);
        all.extend(arguments);
        Self::launch(all, port, path, Some(folder))
    }

    /// Three members of one etcd.
    pub(crate) fn start_three(arguments: &[&str]) -> [Self; 3] {
        let folder = tempfile::tempdir().unwrap();
        let ports: [u16; 6] = free_ports();
        let members = [0, 1, 2].map(|index| (format!("m{index}"), ports[index], ports[index + 3]));
        let cluster = members
            .each_ref()
            .map(|(name, _, peer)| format!("{name}=http://127.0.0.1:{peer}"))
            .join(",");
        let root = folder.path().to_owned();
        // The first member owns the folder, and is the first that is dropped.
        let mut owned = Some(folder);
        members.map(|(name, port, peer)| {
            let path = root.join(&name);
            let mut all = member_arguments(&name, &path, "http", port, peer, &cluster);
            all.extend(arguments.iter().map(|text| (*text).to_owned()));
            Self::launch(all, port, path, owned.take())
        })
    }

    fn launch(arguments: Vec<String>, port: u16, folder: PathBuf, owned: Option<TempDir>) -> Self {
        Self {
            child: spawn(&arguments, &folder),
            arguments,
            port,
            folder,
            _owned: owned,
        }
    }

    /// Kills it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again with its data.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.arguments, &self.folder);
    }

    pub(crate) fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// A registry that has reached it.
    pub(crate) async fn registry(&self) -> EtcdRegistry {
        registry(&format!("etcd://127.0.0.1:{}/test", self.port)).await
    }

    /// Runs etcdctl.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> String {
        let output = Command::new(programs().join("etcdctl"))
            .env("ETCDCTL_API", "3")
            .arg(format!("--endpoints=http://127.0.0.1:{}", self.port))
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A registry that has reached etcd at this URL, which may just have been started.
pub(crate) async fn registry(url: &str) -> EtcdRegistry {
    let registry = EtcdRegistry::new(EtcdConfig::parse(url, |_| None).unwrap()).unwrap();
    answers(&registry).await;
    registry
}

/// Waits until etcd answers.
pub(crate) async fn answers(registry: &EtcdRegistry) {
    let answered = async {
        while registry.get("any").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, answered)
        .await
        .expect("etcd does not answer");
}

fn spawn(arguments: &[String], folder: &Path) -> Child {
    fs::create_dir_all(folder).unwrap();
    let log = fs::File::create(folder.join("output")).unwrap();
    Command::new(programs().join("etcd"))
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn member_arguments(
    name: &str,
    folder: &Path,
    scheme: &str,
    port: u16,
    peer: u16,
    cluster: &str,
) -> Vec<String> {
    [
        format!("--name={name}"),
        format!("--data-dir={}", folder.join("data").display()),
        format!("--listen-client-urls={scheme}://127.0.0.1:{port}"),
        format!("--advertise-client-urls={scheme}://127.0.0.1:{port}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-cluster={cluster}"),
        "--logger=zap".to_owned(),
        "--log-level=warn".to_owned(),
    ]
    .into()
}

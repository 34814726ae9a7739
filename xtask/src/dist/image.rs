//! The image: the program and nothing else.

use super::Dist;
use super::command::Run;

/// The settings of a server in a container. It listens on all addresses, because the container decides which ports are
/// published. Unless PARTITA_ACCOUNTS is set, its key is the public one, which must be allowed then.
const SETTINGS: [&str; 5] = [
    "PARTITA_LOCATION=/data",
    "PARTITA_TABLE_HOST=0.0.0.0",
    "PARTITA_QUEUE_HOST=0.0.0.0",
    "PARTITA_ADMIN_HOST=0.0.0.0",
    "PARTITA_ALLOW_WELL_KNOWN_KEY=true",
];

impl Dist {
    /// Makes an archive for `podman load` and `docker load`. Its manifest is Docker's, because OCI's has no health check.
    pub(super) fn image(&self) -> anyhow::Result<()> {
        let container = buildah().args(["from", "scratch"]).output()?;
        let made = self.fill_image(&container);
        buildah().args(["rm", &container]).run()?;
        made
    }

    fn fill_image(&self, container: &str) -> anyhow::Result<()> {
        buildah()
            .args(["copy", container])
            .arg(self.program.path())
            .arg("/partita")
            .run()?;
        // An empty folder: temporary files, and a place for the volume.
        let empty = self.work.join("empty");
        std::fs::create_dir_all(&empty)?;
        for folder in ["/data", "/tmp"] {
            buildah()
                .args(["copy", container])
                .arg(&empty)
                .arg(folder)
                .run()?;
        }
        let mut configure = buildah();
        configure.arg("config");
        for setting in SETTINGS {
            configure.args(["--env", setting]);
        }
        for port in ["10001/tcp", "10002/tcp", "10010/tcp"] {
            configure.args(["--port", port]);
        }
        configure
            .args(["--entrypoint", r#"["/partita"]"#, "--cmd", "serve"])
            .args(["--volume", "/data", "--stop-signal", "SIGTERM"])
            .args(["--healthcheck", "CMD /partita status --output json"])
            .args([
                "--healthcheck-interval",
                "10s",
                "--healthcheck-timeout",
                "5s",
            ])
            .args([
                "--label",
                &format!("org.opencontainers.image.version={}", self.version),
            ])
            .args(["--label", "org.opencontainers.image.licenses=Apache-2.0"])
            .arg(container)
            .run()?;
        let archive = self.out.join(format!("partita-{}-image.tar", self.version));
        buildah()
            .args([
                "commit",
                "--quiet",
                "--format",
                "docker",
                "--timestamp",
                &self.epoch,
            ])
            .arg(container)
            .arg(format!(
                "docker-archive:{}:partita:{}",
                archive.display(),
                self.version
            ))
            .run()
    }
}

/// buildah without a daemon, without mounts and without namespaces, so that it works in containers too.
fn buildah() -> Run {
    let mut run = Run::new("buildah");
    run.variable("STORAGE_DRIVER", "vfs")
        .variable("BUILDAH_ISOLATION", "chroot");
    run
}

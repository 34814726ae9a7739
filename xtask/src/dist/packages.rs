//! The archive, the packages of Debian, Python and npm, the bill of materials, and the checksums.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use partita_bench::project;

use super::Dist;
use super::command::Run;

impl Dist {
    /// A copy of a folder of `packages/` to build in.
    fn copy_of(&self, folder: &str) -> anyhow::Result<PathBuf> {
        let (from, to) = (
            project::root().join("packages").join(folder),
            self.work.join(folder),
        );
        std::fs::create_dir_all(&to)?;
        Run::new("cp")
            .arg("-R")
            .arg(from.join("."))
            .arg(&to)
            .run()?;
        Ok(to)
    }

    fn copy_program(&self, to: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(to)?;
        std::fs::copy(self.program.path(), to.join("partita"))?;
        Ok(())
    }

    /// The archive: `partita-VERSION-x86_64-linux/` with the program, completions, manual pages and the licence.
    pub(super) fn archive(&self) -> anyhow::Result<()> {
        let name = format!("partita-{}-x86_64-linux", self.version);
        let root = project::root();
        for file in ["LICENSE", "README.md"] {
            std::fs::copy(root.join(file), self.program.folder.join(file))?;
        }
        self.tar(&self.out.join(format!("{name}.tar.gz")))
            .arg("--gzip")
            .arg(format!("--transform=s,^\\.,{name},"))
            .arg(".")
            .run()
    }

    /// `tar --create` of the program's folder, the same for the same files.
    fn tar(&self, file: &Path) -> Run {
        let mut tar = Run::new("tar");
        tar.args([
            "--create",
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
        ])
        .arg(format!("--mtime=@{}", self.epoch))
        .arg("--directory")
        .arg(&self.program.folder)
        .arg("--file")
        .arg(file);
        tar
    }

    pub(super) fn debian(&self) -> anyhow::Result<()> {
        let build = self.work.join("debian-build");
        let debian = build.join("debian");
        std::fs::create_dir_all(&build)?;
        Run::new("cp")
            .arg("-R")
            .arg(self.copy_of("debian")?)
            .arg(&debian)
            .run()?;
        for file in ["partita", "completions", "man"] {
            let from = self.program.folder.join(file);
            Run::new("cp").arg("-R").arg(from).arg(&build).run()?;
        }
        // bash looks for completions by the name of the command.
        std::fs::create_dir_all(build.join("bash"))?;
        let completions = build.join("completions/partita.bash");
        std::fs::rename(completions, build.join("bash/partita"))?;
        std::fs::rename(debian.join("partita.toml"), build.join("partita.toml"))?;
        std::fs::copy(project::root().join("LICENSE"), debian.join("copyright"))?;
        let date = Run::new("date")
            .args(["--rfc-email", "--utc"])
            .arg(format!("--date=@{}", self.epoch))
            .variable("LC_ALL", "C")
            .output()?;
        let changelog = format!(
            "partita ({}) unstable; urgency=medium\n\n  * Packaged by `cargo xtask dist`.\n\n -- Partita <maintainers@partita.invalid>  {date}\n",
            self.version
        );
        std::fs::write(debian.join("changelog"), changelog)?;
        Run::new("dpkg-buildpackage")
            .within(&build)
            .args(["--build=binary", "--no-sign", "--no-check-builddeps"])
            .variable("SOURCE_DATE_EPOCH", &self.epoch)
            .run()?;
        let package = format!("partita_{}_amd64.deb", self.version);
        std::fs::rename(self.work.join(&package), self.out.join(&package))?;
        Ok(())
    }

    /// The wheels of `partita` and `pytest-partita`.
    pub(super) fn wheels(&self, python: &Path) -> anyhow::Result<()> {
        let folder = self.copy_of("python")?;
        self.copy_program(&folder.join("partita/bin"))?;
        for package in ["partita", "pytest-partita"] {
            Run::new(python)
                .args(["-m", "pip", "wheel", "--quiet", "--no-deps"])
                .arg("--wheel-dir")
                .arg(&self.out)
                .arg(folder.join(package))
                .variable("PARTITA_VERSION", &self.version)
                .variable("SOURCE_DATE_EPOCH", &self.epoch)
                .run()?;
        }
        Ok(())
    }

    pub(super) fn npm(&self) -> anyhow::Result<()> {
        let folder = self.copy_of("npm")?;
        self.copy_program(&folder.join("bin"))?;
        std::fs::copy(project::root().join("LICENSE"), folder.join("LICENSE"))?;
        Run::new("npm")
            .within(&folder)
            .args(["version", "--no-git-tag-version", &self.version])
            .run()?;
        Run::new("npm")
            .within(&folder)
            .args(["pack", "--pack-destination"])
            .arg(&self.out)
            .run()
    }

    /// What the program is made of, as CycloneDX.
    pub(super) fn bill_of_materials(&self, cyclonedx: &Path) -> anyhow::Result<()> {
        let name = format!("partita-{}.cdx", self.version);
        let crate_folder = project::root().join("crates/partita");
        Run::new(cyclonedx)
            .arg("cyclonedx")
            .args(["--format", "json", "--target", "x86_64-unknown-linux-gnu"])
            .args(["--override-filename", &name])
            .arg("--manifest-path")
            .arg(crate_folder.join("Cargo.toml"))
            .variable("SOURCE_DATE_EPOCH", &self.epoch)
            .run()?;
        self.collect_bills(&format!("{name}.json"))
    }

    /// The tool writes a bill into the folder of each crate of the workspace; that of the program is kept.
    fn collect_bills(&self, name: &str) -> anyhow::Result<()> {
        let root = project::root();
        let bills = Run::new("git")
            .within(&root)
            .args(["ls-files", "--others", "--"])
            .arg(format!("*/{name}"))
            .output()?;
        ensure!(!bills.is_empty(), "cargo-cyclonedx wrote nothing");
        for bill in bills.lines() {
            let path = root.join(bill);
            if bill == format!("crates/partita/{name}") {
                std::fs::copy(&path, self.out.join(name)).context("keeping the bill")?;
            }
            std::fs::remove_file(path)?;
        }
        Ok(())
    }

    /// `SHA256SUMS` of all packages.
    pub(super) fn checksums(&self) -> anyhow::Result<()> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.out)? {
            names.push(entry?.file_name());
        }
        names.sort();
        let sums = Run::new("sha256sum")
            .within(&self.out)
            .args(names)
            .output()?;
        std::fs::write(self.out.join("SHA256SUMS"), sums + "\n")?;
        Ok(())
    }
}

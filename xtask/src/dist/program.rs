//! The program, linked statically, with its completions and manual pages.

use std::path::{Path, PathBuf};

use anyhow::Context;
use partita_bench::project;

use super::command::Run;

/// A folder with the stripped program, `completions/` and `man/`.
pub(super) struct Program {
    pub(super) folder: PathBuf,
}

impl Program {
    /// Builds the program into a new folder.
    ///
    /// Only the last step differs from a usual build: the same libraries are linked with the static C library, which
    /// resolves names by `/etc/hosts` and DNS without further files. (The musl target would need another toolchain.)
    pub(super) fn build(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder.join("completions"))?;
        Run::cargo()
            .args(["rustc", "--release", "--package", "partita"])
            .args(["--bin", "partita", "--"])
            .args(["-C", "target-feature=+crt-static", "-C", "strip=symbols"])
            .run()?;
        let program = folder.join("partita");
        std::fs::copy(project::root().join("target/release/partita"), &program)
            .context("copying the program")?;
        // Tests preload libraries into the usual build, which a static program would ignore.
        project::build("partita", "partita")?;
        let program = Self {
            folder: folder.to_owned(),
        };
        let completions = [
            ("bash", "partita.bash"),
            ("fish", "partita.fish"),
            ("zsh", "_partita"),
        ];
        for (shell, file) in completions {
            let text = program.run().args(["completions", shell]).output()?;
            std::fs::write(folder.join("completions").join(file), text + "\n")?;
        }
        program.run().arg("man").arg(folder.join("man")).run()?;
        Ok(program)
    }

    /// The version that the program prints.
    pub(super) fn version(&self) -> anyhow::Result<String> {
        let text = self.run().arg("--version").output()?;
        let version = text.strip_prefix("partita ");
        Ok(version
            .context("`partita --version` has no version")?
            .to_owned())
    }

    fn run(&self) -> Run {
        Run::new(self.path())
    }

    /// The program's file.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join("partita")
    }
}

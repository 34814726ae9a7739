//! Runs the tools that make packages.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, bail};

/// A tool with its arguments. Its output is shown only if it fails.
pub(super) struct Run(Command);

impl Run {
    /// A tool, found in `PATH` unless it is a path.
    pub(super) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.stdin(Stdio::null());
        Self(command)
    }

    /// Cargo, in the project's folder.
    pub(super) fn cargo() -> Self {
        Self(partita_bench::project::cargo())
    }

    pub(super) fn within(&mut self, folder: &Path) -> &mut Self {
        self.0.current_dir(folder);
        self
    }

    pub(super) fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Self {
        self.0.arg(argument);
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(
        &mut self,
        arguments: impl IntoIterator<Item = A>,
    ) -> &mut Self {
        self.0.args(arguments);
        self
    }

    pub(super) fn variable(&mut self, name: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.0.env(name, value);
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// When it cannot be started or fails; the error has its output.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        self.finish().map(drop)
    }

    /// Runs it to its end, and returns its output without the last line break.
    ///
    /// # Errors
    /// Those of [`Self::run`], and when the output is not text.
    pub(super) fn output(&mut self) -> anyhow::Result<String> {
        let output = String::from_utf8(self.finish()?.stdout)?;
        Ok(output.trim_end().to_owned())
    }

    fn finish(&mut self) -> anyhow::Result<Output> {
        let name = self.0.get_program().display().to_string();
        let output = self.0.output();
        let output = output.with_context(|| format!("starting {name}; is it installed?"))?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text).into_owned();
            bail!("{name} failed ({}):\n{text}", output.status);
        }
        Ok(output)
    }
}

//! Runs a shell command for each step, with the step's rows as JSON lines on stdin. Exit code 0 means done; any other
//! code fails the step, which is then repeated. So the command must tolerate that it gets the rows of a step again, also
//! with other neighbours: a repeated step may end after another row.

use super::Action;
use super::copy::keep;
use crate::fleet::step_row::StepResult;
use crate::fleet::{FleetError, Job, StepRow, Tally};
use crate::formats::{EntityWriter, Format, Schema};
use crate::source::TableRow;
use crate::transfer::blocking::blocking;
use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use partita_client::Entity;
use std::io::{self, Write as _};
use std::process::{Command, ExitStatus, Stdio};

/// Runs the command of a step.
pub(super) struct Exec {
    command: String,
    /// The ids of job and step, for the environment of the command.
    ids: (String, String),
    rows: Vec<Entity>,
}

impl Exec {
    pub(super) fn new(command: &str, job: &Job, step: &StepRow) -> Self {
        Self {
            command: command.to_owned(),
            ids: (job.id.clone(), step.id.clone()),
            rows: Vec::new(),
        }
    }

    async fn run(self) -> Result<StepResult, FleetError> {
        if self.rows.is_empty() {
            return Ok(StepResult::default());
        }
        let status = blocking(move || Ok(self.execute())).await?;
        let status = status.map_err(|error| FleetError::Source(error.into()))?;
        if !status.success() {
            return Err(FleetError::Command(status.to_string()));
        }
        Ok(StepResult {
            tally: Tally {
                effects: 1,
                ..Tally::default()
            },
            output: None,
        })
    }

    fn execute(self) -> io::Result<ExitStatus> {
        let (shell, flag) = if cfg!(windows) {
            ("cmd", "/C")
        } else {
            ("sh", "-c")
        };
        let mut child = Command::new(shell)
            .args([flag, &self.command])
            .env("PARTITA_JOB", &self.ids.0)
            .env("PARTITA_STEP", &self.ids.1)
            .stdin(Stdio::piped())
            .spawn()?;
        let written = child.stdin.take().map_or(Ok(()), |stdin| {
            let stdin = io::BufWriter::new(stdin);
            let lines = EntityWriter::new(Format::Jsonl, &Schema::default(), stdin);
            let mut lines = lines.map_err(io::Error::other)?;
            for row in &self.rows {
                lines.write(row).map_err(io::Error::other)?;
            }
            lines.finish().map_err(io::Error::other)?.flush()
        });
        let status = child.wait()?;
        // A command may end successfully without reading all rows, as `head` does; then the pipe is closed.
        if !status.success() || child_read_enough(&written) {
            return Ok(status);
        }
        written.map(|()| status)
    }
}

fn child_read_enough(written: &io::Result<()>) -> bool {
    match written {
        Ok(()) => true,
        Err(error) => {
            let cause = error.get_ref().and_then(|error| error.source());
            let cause = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
            cause.unwrap_or(error).kind() == io::ErrorKind::BrokenPipe
        }
    }
}

impl Action for Exec {
    fn take(&mut self, rows: Vec<TableRow>) -> BoxFuture<'_, Result<Tally, FleetError>> {
        ready(keep(&rows, &mut self.rows)).boxed()
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<StepResult, FleetError>> {
        self.run().boxed()
    }
}

//! Runs the scan of a command: plans it by the flags, shows its progress, stops it at a signal, and prints a resume
//! token.

use crate::args::connection::Connection;
use crate::args::{ResumeArgs, ScanArgs};
use crate::prelude::*;
use crate::resume::{self, ScanResume};
use crate::signals::{interruptible, stop_requested};
use partita_client::TableClient;
use partita_tools::scan::{
    Batch, Bounds, Emit, Order, Query, QueryOptions, RunOptions, Scan, Step, Strategy, Tokens,
};
use partita_tools::source::{TableRow, TableSource};
use partita_tools::split_points;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// Which rows a command reads.
pub(crate) struct ScanSpec<'a> {
    pub(crate) args: &'a ScanArgs,
    pub(crate) query: Query,
    pub(crate) order: Order,
}

/// A running scan, and the counts of its command.
pub(crate) struct ScanSession<S> {
    command: &'static str,
    table: TableClient,
    scan: Scan<TableSource>,
    /// The counts of the command. The resume token has them and the scan's position.
    pub(crate) state: S,
}

impl<'a> ScanSpec<'a> {
    /// The rows that match a filter, within the bounds of the flags.
    pub(crate) fn new(
        args: &'a ScanArgs,
        filter: Option<&str>,
        select: Vec<String>,
        emit: Emit,
        order: Order,
    ) -> Result<Self, CommandError> {
        let query = Query::new(QueryOptions {
            filter: filter.map(str::to_owned),
            select,
            page_rows: args.page_rows.into(),
            emit,
            tokens: Tokens::NextRow,
        })?;
        Ok(Self { args, query, order })
    }

    /// The properties for commands that need only the keys.
    pub(crate) fn keys_only() -> Vec<String> {
        vec!["PartitionKey".to_owned(), "RowKey".to_owned()]
    }

    /// Starts a scan, or resumes it at the token of `resume`. Commands that cannot be resumed pass `None`.
    pub(crate) async fn start<S: Default + Serialize + DeserializeOwned>(
        self,
        command: &'static str,
        resume: Option<&ResumeArgs>,
        connection: &Connection,
        table: &str,
    ) -> Result<ScanSession<S>, CommandError> {
        let client = connection.service.table_client(table);
        let (steps, state) = match resume.and_then(|args| args.resume.as_ref()) {
            Some(token) => {
                let ScanResume { scan, state, .. } = ScanResume::read(token, command, &client)?;
                (scan.into_steps(&self.query)?, state)
            }
            None => {
                let steps = self.plan(&self.args.bounds(), connection, table).await?;
                (steps, S::default())
            }
        };
        let jobs = self.args.jobs();
        Ok(ScanSession {
            command,
            scan: self.scan(&client, steps, jobs),
            table: client,
            state,
        })
    }

    /// Makes the scan of these steps.
    pub(crate) fn scan(
        self,
        table: &TableClient,
        steps: Vec<Step>,
        jobs: usize,
    ) -> Scan<TableSource> {
        let options = RunOptions {
            jobs,
            order: self.order,
        };
        let source = Arc::new(TableSource(table.clone()));
        Scan::new(source, self.query, steps, options)
    }

    /// Divides the bounds into the first steps of the scan, by the flags `--strategy` and `--jobs`.
    pub(crate) async fn plan(
        &self,
        bounds: &Bounds,
        connection: &Connection,
        table: &str,
    ) -> Result<Vec<Step>, CommandError> {
        let (strategy, jobs) = (self.args.strategy, self.args.jobs());
        let points = match strategy {
            Strategy::Ranges => self.split_points(connection, table, true).await?,
            Strategy::Auto if jobs > 1 => self.split_points(connection, table, false).await?,
            _ => Vec::new(),
        };
        Ok(strategy.plan(bounds, &points, jobs))
    }

    /// The server's split points. Errors are ignored if the points are optional and no flag names the admin port.
    pub(crate) async fn split_points(
        &self,
        connection: &Connection,
        table: &str,
        is_required: bool,
    ) -> Result<Vec<String>, CommandError> {
        let is_named = self.args.admin.is_some();
        let Some(admin) = self.args.admin.as_deref().or(connection.local_admin_port()) else {
            if is_required {
                return Err(CommandError::usage(
                    "--strategy ranges needs --admin, the URL of Partita's admin port",
                ));
            }
            return Ok(Vec::new());
        };
        let account = connection.service.endpoint().account().to_owned();
        match split_points(admin, &connection.authorities_pem, &account, table).await {
            Ok(points) => Ok(points),
            Err(error) if is_required || is_named => Err(error.into()),
            Err(_) => Ok(Vec::new()),
        }
    }
}

impl<S: Serialize + DeserializeOwned> ScanSession<S> {
    /// Reads to the end. `take` receives each batch, and returns the position of the progress bar: all rows or
    /// partitions so far. After a signal or an error of the server, the token that [`Self::stop`] prints covers
    /// everything that `take` received.
    pub(crate) async fn run(
        &mut self,
        progress: &Progress,
        mut take: impl FnMut(&mut S, Batch<TableRow>) -> Result<u64, CommandError>,
    ) -> Result<(), CommandError> {
        let mut stop = std::pin::pin!(stop_requested());
        let error = loop {
            match interruptible(&mut stop, self.scan.next()).await {
                Ok(None) => return Ok(()),
                Ok(Some(Ok(batch))) => progress.bar.set_position(take(&mut self.state, batch)?),
                Ok(Some(Err(error))) => break error.into(),
                Err(error) => break error,
            }
        };
        progress.bar.hide();
        Err(error)
    }

    /// Ends the output after an error of [`Self::run`], then says how to resume. Returns the error to report.
    pub(crate) fn stop(self, error: CommandError, output: Option<Output>) -> CommandError {
        let finished = output.map_or(Ok(()), |output| output.finish_after(&error));
        if let Err(error) = finished {
            return error;
        }
        // A scan without a page, such as of a missing table, has nothing to resume. Empty pages count, because reading
        // them took time.
        let has_begun = self.scan.progress().pages > 0;
        if has_begun && matches!(error, CommandError::Interrupted | CommandError::Scan(_)) {
            let resume = ScanResume::new(&self.table, self.scan.token(), self.state);
            resume::print_token(self.command, &resume);
        } else if matches!(error, CommandError::Interrupted) {
            message("nothing was read yet, so there is nothing to resume");
        }
        error
    }
}

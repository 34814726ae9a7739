//! A scan as a verb runs it: from flags, with progress, until the end or a signal, and resumable.

use crate::args::connection::Connection;
use crate::args::{bounds, job_count, text};
use crate::error::Failure;
use crate::progress::{Talk, say};
use crate::resume::{self, Resume};
use clap::ArgMatches;
use partita_client::TableClient;
use partita_tools::scan::{
    Batch, Bounds, Emit, Order, Query, QueryOptions, RunOptions, Scan, Step, Strategy, Tokens,
};
use partita_tools::source::{TableRow, TableSource};
use partita_tools::split_points;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// What a verb reads.
pub(crate) struct Reading {
    pub(crate) query: Query,
    pub(crate) order: Order,
    /// How many requests at once.
    pub(crate) jobs: usize,
}

/// A scan under way, and what its verb has counted.
pub(crate) struct Running<S> {
    verb: &'static str,
    table: TableClient,
    scan: Scan<TableSource>,
    /// What goes into the token beside the scan.
    pub(crate) state: S,
}

impl Reading {
    /// What the flags say, reading so much of the rows that pass a filter.
    pub(crate) fn of(
        matches: &ArgMatches,
        filter: Option<&str>,
        select: Vec<String>,
        emit: Emit,
        order: Order,
    ) -> Result<Self, Failure> {
        let page_rows = matches.try_get_one::<u16>("page-rows").ok().flatten();
        let default = QueryOptions::default();
        let query = Query::new(QueryOptions {
            filter: filter.map(str::to_owned),
            select,
            page_rows: page_rows.map_or(default.page_rows, |&rows| rows.into()),
            emit,
            tokens: Tokens::NextRow,
            ..default
        })?;
        Ok(Self {
            query,
            order,
            jobs: job_count(matches),
        })
    }

    /// The rows' keys only.
    pub(crate) fn keys_only() -> Vec<String> {
        vec!["PartitionKey".to_owned(), "RowKey".to_owned()]
    }

    /// Begins, or goes on where `--resume` says.
    pub(crate) async fn begin<S>(
        self,
        verb: &'static str,
        matches: &ArgMatches,
        connection: &Connection,
        table: &str,
    ) -> Result<Running<S>, Failure>
    where
        S: Default + Serialize + DeserializeOwned,
    {
        let token = matches.try_get_one::<String>("resume").ok().flatten();
        let client = connection.service.table_client(table);
        let (steps, state) = match token {
            Some(token) => {
                let Resume { scan, state, .. } = Resume::read(token, verb, &client)?;
                (scan.into_steps(&self.query)?, state)
            }
            None => (self.plan(matches, connection, table).await?, S::default()),
        };
        let table = client;
        Ok(Running {
            verb,
            scan: self.scan(&table, steps),
            table,
            state,
        })
    }

    /// The scan of these steps.
    pub(crate) fn scan(self, table: &TableClient, steps: Vec<Step>) -> Scan<TableSource> {
        let options = RunOptions {
            jobs: self.jobs,
            order: self.order,
            buffer_rows_max: None,
        };
        let source = Arc::new(TableSource::new(table.clone()));
        Scan::new(source, self.query, steps, options)
    }

    /// The first steps, by the flags.
    pub(crate) async fn plan(
        &self,
        matches: &ArgMatches,
        connection: &Connection,
        table: &str,
    ) -> Result<Vec<Step>, Failure> {
        self.plan_of(&bounds(matches), matches, connection, table)
            .await
    }

    /// The same for other bounds than those of the flags.
    pub(crate) async fn plan_of(
        &self,
        bounds: &Bounds,
        matches: &ArgMatches,
        connection: &Connection,
        table: &str,
    ) -> Result<Vec<Step>, Failure> {
        let strategy = match text(matches, "strategy") {
            Some("serial") => Strategy::Serial,
            Some("prefix") => Strategy::Prefix,
            Some("ranges") => Strategy::Ranges,
            _ => Strategy::Auto,
        };
        let points = match strategy {
            Strategy::Ranges => points(connection, table, true).await?,
            Strategy::Auto if self.jobs > 1 => points(connection, table, false).await?,
            _ => Vec::new(),
        };
        Ok(strategy.plan(bounds, &points, self.jobs))
    }
}

/// The server's split points. Where they are only a help, nobody answering is no failure.
async fn points(
    connection: &Connection,
    table: &str,
    needed: bool,
) -> Result<Vec<String>, Failure> {
    let Some((admin, asked)) = connection.admin() else {
        if needed {
            return Err(Failure::usage(
                "the strategy ranges needs --admin, where Partita's admin port is",
            ));
        }
        return Ok(Vec::new());
    };
    let account = connection.service.endpoint().account().to_owned();
    match split_points(&admin, &account, table).await {
        Ok(points) => Ok(points),
        Err(error) if needed || asked => Err(error.into()),
        Err(_) => Ok(Vec::new()),
    }
}

impl<S: Serialize + DeserializeOwned> Running<S> {
    /// Reads to the end. On a signal or a failure of the server, the token is printed, and what `take` has got is what it stands for.
    /// `take` says how many rows are done.
    pub(crate) async fn run(
        &mut self,
        talk: &Talk,
        mut take: impl FnMut(&mut S, Batch<TableRow>) -> Result<u64, Failure>,
    ) -> Result<(), Failure> {
        let mut stop = std::pin::pin!(signal());
        let failure = loop {
            let next = tokio::select! {
                biased;
                () = &mut stop => break Failure::Interrupted,
                next = self.scan.next() => next,
            };
            match next {
                None => return Ok(()),
                Some(Ok(batch)) => talk.progress(take(&mut self.state, batch)?),
                Some(Err(error)) => break error.into(),
            }
        };
        talk.hide_progress();
        Err(failure)
    }

    /// Says how to go on after [`Self::run`] has failed. To be called once all that it handed out is written.
    pub(crate) fn print_token(self, failure: &Failure) {
        // A table that is not there has nothing to go on with. Pages without a row do: finding that nothing passes the filter takes
        // as long as finding rows.
        let begun = self.scan.progress().pages > 0;
        if begun && matches!(failure, Failure::Interrupted | Failure::Scan(_)) {
            let resume = Resume::new(&self.table, self.scan.token(), self.state);
            resume::print(self.verb, &resume);
        } else if matches!(failure, Failure::Interrupted) {
            say("nothing was read yet");
        }
    }
}

/// Waits until the user or the system wants an end.
pub(crate) async fn signal() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Where signals cannot be heard, nobody is stopped by them.
    if interrupt.await.is_err() {
        std::future::pending::<()>().await;
    }
}

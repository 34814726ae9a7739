//! `partita partitions TABLE`: lists the distinct PartitionKeys.

use crate::args::ResumableScanArgs;
use crate::prelude::*;
use crate::scan_session::ScanSpec;
use partita_tools::scan::{Batch, Emit, Keyed as _, Order, PartitionCount, PartitionCounts};
use partita_tools::source::TableRow;
use serde::{Deserialize, Serialize};

/// List the distinct PartitionKeys of a table
#[derive(clap::Args)]
#[command(
    after_help = "Partitions of about a hundred rows or more are skipped after their first rows, with one or two requests for each.\nSmaller partitions are read through: their keys cost a request per 1,000 rows."
)]
pub(crate) struct PartitionsCommand {
    /// Table name
    table: String,
    /// Count the rows of each partition; this reads the keys of all rows
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    scan: ResumableScanArgs,
}

/// Counts so far: partitions shown, and the rows of the partition that is not complete.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counted {
    partitions: u64,
    counts: PartitionCounts,
}

impl AccountCommand for PartitionsCommand {
    async fn run(self, connection: Connection, progress: Progress) -> CommandResult {
        let emit = if self.count {
            Emit::EveryRow
        } else {
            Emit::FirstOfPartition
        };
        let (scan, keys) = (&self.scan.scan, ScanSpec::keys_only());
        let spec = ScanSpec::new(scan, None, keys, emit, Order::Table)?;
        let mut session = spec
            .start::<Counted>(
                "partitions",
                Some(&self.scan.resume),
                &connection,
                &self.table,
            )
            .await?;
        let mut output = Output::stdout(self.output, Shape::Rows, None);
        progress.start_bar("partitions", None, true);
        let counted = session.run(&progress, |counted, batch| {
            if self.count {
                for count in counted.counts.add(&batch) {
                    counted.partitions += 1;
                    write_count(&count, &mut output)?;
                }
            } else {
                counted.partitions += batch.rows.len() as u64;
                write_keys(&batch, &mut output)?;
            }
            Ok(counted.partitions)
        });
        if let Err(error) = counted.await {
            return Err(session.stop(error, Some(output)));
        }
        let Counted {
            mut partitions,
            counts,
        } = session.state;
        if let Some(last) = counts.finish() {
            partitions += 1;
            write_count(&last, &mut output)?;
        }
        output.finish()?;
        progress.finish_count(partitions, "partition", "partitions")
    }
}

fn write_keys(batch: &Batch<TableRow>, output: &mut Output) -> Result<(), CommandError> {
    let mut rows = batch.rows.iter();
    rows.try_for_each(|row| output.record(&[("PartitionKey", Field::text(row.partition_key()))]))
}

fn write_count(count: &PartitionCount, output: &mut Output) -> Result<(), CommandError> {
    output.record(&[
        ("PartitionKey", Field::text(&count.partition_key)),
        ("rows", Field::count(count.rows)),
    ])
}

//! `partita partitions TABLE`: lists the distinct PartitionKeys.

use crate::args::connection::Connection;
use crate::args::{ConnectionArgs, ResumeArgs, ScanArgs};
use crate::error::{CommandError, Outcome};
use crate::output::{Output, OutputArgs, Shape, number};
use crate::progress::Progress;
use crate::scan_session::ScanSpec;
use crate::units::many;
use partita_client::ValueRef;
use partita_tools::scan::{Batch, Emit, Keyed as _, Order, PartitionCount, PartitionCounts};
use partita_tools::source::TableRow;
use serde::{Deserialize, Serialize};

#[derive(clap::Args)]
#[command(about = "List the distinct PartitionKeys of a table, skipping from one to the next")]
pub(crate) struct PartitionsCommand {
    /// Table name
    #[arg(value_name = "TABLE")]
    table: String,
    /// Count the rows of each partition; this reads the keys of all rows
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    resume: ResumeArgs,
    #[command(flatten)]
    scan: ScanArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// What has been counted: partitions shown, and the rows of the partition that is not complete.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counted {
    partitions: u64,
    counts: PartitionCounts,
}

impl PartitionsCommand {
    pub(crate) async fn run(self) -> Result<Outcome, CommandError> {
        let connection = Connection::new(&self.connection)?;
        let emit = if self.count {
            Emit::EveryRow
        } else {
            Emit::FirstOfPartition
        };
        let keys = ScanSpec::keys_only();
        let spec = ScanSpec::new(&self.scan, None, keys, emit, Order::Table)?;
        let mut progress = Progress::new(&connection);
        let resume = self.resume.resume.as_deref();
        let mut session = spec
            .start::<Counted>("partitions", resume, &connection, &self.table)
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
            if !matches!(error, CommandError::Output(_)) {
                output.finish()?;
            }
            session.print_token(&error);
            return Err(error);
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
        progress.finish(&many(partitions, "partition", "partitions"));
        Ok(Outcome::of_count(partitions))
    }
}

fn write_keys(batch: &Batch<TableRow>, output: &mut Output) -> Result<(), CommandError> {
    for row in &batch.rows {
        let key = ValueRef::String(row.partition_key());
        output.record(&[("PartitionKey", key)])?;
    }
    Ok(())
}

fn write_count(count: &PartitionCount, output: &mut Output) -> Result<(), CommandError> {
    output.record(&[
        ("PartitionKey", ValueRef::String(&count.partition_key)),
        ("Rows", number(count.rows)),
    ])
}

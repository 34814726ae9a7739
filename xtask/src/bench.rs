//! `cargo xtask bench`: compares the speed of servers.

use std::path::PathBuf;

use anyhow::Context;
use partita_bench::{Options, cluster, compare, fleet, json, queues};

/// Compare this server with a bare hyper server and Azurite under the same load
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Print a Markdown table instead of the plain one
    #[arg(long)]
    markdown: bool,
    /// Also write every figure as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.options.queues {
        let figures = queues::run(&arguments.options, |line| println!("{line}"))?;
        return write_json(arguments, &json(&figures)?);
    }
    if arguments.options.fleet.fleet {
        let figures = fleet::run(&arguments.options, |line| println!("{line}"))?;
        return write_json(arguments, &json(&figures)?);
    }
    if arguments.options.cluster.cluster {
        let figures = cluster::run(&arguments.options, |line| eprintln!("{line}"))?;
        write_json(arguments, &figures.json()?)?;
        let text = match arguments.markdown {
            true => figures.markdown(),
            false => figures.text(),
        };
        println!("{text}");
        return Ok(());
    }
    let report = compare::run(&arguments.options, |line| eprintln!("{line}"))?;
    write_json(arguments, &report.json()?)?;
    let text = if arguments.markdown {
        report.markdown()
    } else {
        report.text()
    };
    println!("{text}");
    Ok(())
}

/// Writes the figures to the file of `--json`, if it is given.
fn write_json(arguments: &Arguments, json: &str) -> anyhow::Result<()> {
    let Some(file) = &arguments.json else {
        return Ok(());
    };
    std::fs::write(file, json).with_context(|| format!("writing {}", file.display()))
}

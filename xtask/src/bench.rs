//! `cargo xtask bench`: compares the speed of servers.

use std::path::PathBuf;

use anyhow::Context;
use partita_bench::{Options, compare};

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
    let report = compare::run(&arguments.options, |line| eprintln!("{line}"))?;
    if let Some(file) = &arguments.json {
        std::fs::write(file, report.json()?)
            .with_context(|| format!("writing {}", file.display()))?;
    }
    let text = if arguments.markdown {
        report.markdown()
    } else {
        report.text()
    };
    println!("{text}");
    Ok(())
}

//! `cargo xtask bench`: the comparison of speed, on the command line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use partita_bench::compare::{self, Options};
use partita_bench::{Programs, TargetKind, WorkloadKind, project};

/// Compare this server with a bare hyper server and Azurite under the same load.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Workloads: get, insert-many, insert-one, batch, page
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    workloads: Vec<WorkloadKind>,
    /// Servers: partita, split (partita with the same data in 16 ranges), before (another build), bare, azurite. By default
    /// partita, bare, azurite, and before where it is given
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    targets: Vec<TargetKind>,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1, 16, 64])]
    connections: Vec<usize>,
    /// Length of each measurement, seconds
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Measurements of each kind; the median is reported
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Threads of the load driver
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// One short measurement of each workload, 64 connections only
    #[arg(long)]
    quick: bool,
    /// Print a Markdown table instead of the plain one
    #[arg(long)]
    markdown: bool,
    /// Also write every figure as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Our server, when it is not the one built from this tree
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Another build of our server, to compare with
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Folder for the servers' data; a real disk, or durable figures mean nothing
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let options = options(arguments)?;
    let ours = [TargetKind::Partita, TargetKind::Split];
    if ours.iter().any(|kind| options.targets.contains(kind)) && arguments.program.is_none() {
        project::build("partita", "partita")?;
    }
    if options.targets.contains(&TargetKind::Bare) {
        project::build("partita-bench", "bare-http")?;
    }
    let report = compare::run(&options, |line| eprintln!("{line}"))?;
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

fn options(arguments: &Arguments) -> anyhow::Result<Options> {
    let root = project::root();
    let scratch = arguments
        .scratch
        .clone()
        .unwrap_or_else(|| root.join("target/bench"));
    std::fs::create_dir_all(&scratch).with_context(|| format!("making {}", scratch.display()))?;
    let or_all = |chosen: &[WorkloadKind]| {
        if chosen.is_empty() {
            WorkloadKind::ALL.to_vec()
        } else {
            chosen.to_vec()
        }
    };
    let targets = if arguments.targets.is_empty() {
        let before = arguments.before.is_some().then_some(TargetKind::Before);
        let all = [TargetKind::Partita, TargetKind::Bare, TargetKind::Azurite];
        all.into_iter().chain(before).collect()
    } else {
        arguments.targets.clone()
    };
    let seconds = if arguments.quick {
        1.0
    } else {
        arguments.seconds
    };
    Ok(Options {
        programs: Programs {
            partita: arguments
                .program
                .clone()
                .unwrap_or_else(|| root.join("target/release/partita")),
            before: arguments.before.clone(),
            root,
            scratch,
        },
        workloads: or_all(&arguments.workloads),
        targets,
        connections: if arguments.quick {
            vec![64]
        } else {
            arguments.connections.clone()
        },
        threads: arguments.threads,
        warm_up: Duration::from_secs_f64(seconds / 6.0),
        measured: Duration::from_secs_f64(seconds),
        repeats: if arguments.quick {
            1
        } else {
            arguments.repeats
        },
    })
}

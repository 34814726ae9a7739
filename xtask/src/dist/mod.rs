//! `cargo xtask dist`: makes every package of one static build of the program, see `packages/README.md`.
//!
//! The packages are made by the tools of their systems; this module gives each the same program and version. What the
//! packages contain besides is in `packages/`.

mod command;
mod image;
mod packages;
mod program;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use partita_bench::project;

use self::command::Run;
use self::program::Program;

/// Make every package of the program: archive, Debian, Python, npm, image, bill of materials, checksums
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folder for the packages; what it contains is removed
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    out: PathBuf,
    /// Python with pip, which makes the wheels
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// Program cargo-cyclonedx, which makes the bill of materials
    #[arg(long, value_name = "FILE", default_value = "cargo-cyclonedx")]
    cyclonedx: PathBuf,
}

/// What all packages share.
struct Dist {
    program: Program,
    /// The version of the program and of its packages.
    version: String,
    /// Where the packages go.
    out: PathBuf,
    /// Where they are prepared.
    work: PathBuf,
    /// The time of the last commit in seconds since 1970: that of every packed file, so that the same source gives the
    /// same packages.
    epoch: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let root = project::root();
    let out = root.join(&arguments.out);
    let work = root.join("target/dist-work");
    for folder in [&out, &work] {
        if folder.exists() {
            std::fs::remove_dir_all(folder)
                .with_context(|| format!("emptying {}", folder.display()))?;
        }
        std::fs::create_dir_all(folder)?;
    }
    let program = Program::build(&work.join("program"))?;
    let mut git = Run::new("git");
    let epoch = git.within(&root).args(["log", "-1", "--format=%ct"]);
    let dist = Dist {
        version: program.version()?,
        epoch: epoch.output()?,
        program,
        out,
        work,
    };
    dist.archive()?;
    dist.debian()?;
    dist.wheels(&arguments.python)?;
    dist.npm()?;
    dist.image()?;
    dist.bill_of_materials(&arguments.cyclonedx)?;
    dist.checksums()?;
    let mut packages = std::fs::read_dir(&dist.out)?.collect::<Result<Vec<_>, _>>()?;
    packages.sort_by_key(std::fs::DirEntry::file_name);
    for package in packages {
        let bytes = package.metadata()?.len();
        ensure!(bytes > 0, "{} is empty", package.path().display());
        println!("{bytes:>12}  {}", package.file_name().display());
    }
    Ok(())
}

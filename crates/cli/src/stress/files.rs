//! Reads the files of reports.

use crate::prelude::*;
use partita_tools::stress::{REPORT_BYTES_MAX, Report};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Reads a report.
pub(super) fn read(path: &Path) -> Result<Report, CommandError> {
    let mut content = String::new();
    File::open(path)
        .and_then(|file| file.take(REPORT_BYTES_MAX).read_to_string(&mut content))
        .because(format!("cannot read {}", path.display()))?;
    Report::read(&content).because(format!("cannot read {} as a report", path.display()))
}

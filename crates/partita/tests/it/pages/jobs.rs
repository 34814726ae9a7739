//! The ids of the jobs of fleets, which differ between runs.

use std::cell::RefCell;

/// The start of a command that prints the id of a job.
const STARTS_JOB: &str = "partita fleet run ";

/// The ids of jobs: in the page, and in this run.
#[derive(Debug, Default)]
pub(super) struct Jobs(RefCell<Vec<(String, String)>>);

impl Jobs {
    /// A command of the page with the ids of this run.
    pub(super) fn of_this_run(&self, line: &str) -> String {
        let jobs = self.0.borrow();
        jobs.iter().fold(line.to_owned(), |line, (shown, job)| {
            line.replace(shown, job)
        })
    }

    /// The output of a command with the ids of the page. `shown` is the first line of its output in the page.
    pub(super) fn of_the_page(&self, line: &str, output: &str, shown: Option<&str>) -> String {
        if let (true, Some(shown)) = (line.starts_with(STARTS_JOB), shown) {
            let job = output.lines().next().unwrap_or_default().to_owned();
            self.0.borrow_mut().push((shown.to_owned(), job));
        }
        let jobs = self.0.borrow();
        jobs.iter().fold(output.to_owned(), |output, (shown, job)| {
            output.replace(job, shown)
        })
    }
}

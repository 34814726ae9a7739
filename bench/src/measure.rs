//! One measurement of one server.

use anyhow::Context;

use crate::LoadRun;
use crate::report::Measurement;
use crate::target::Target;

/// Puts a load on a server, and measures both.
pub(crate) fn measure(target: &Target, load: &LoadRun<'_>) -> anyhow::Result<Measurement> {
    let kind = load.workload.kind();
    let mut samples_s = Vec::with_capacity(2);
    let result = load.run(|| {
        samples_s.push(target.process.cpu_s()?);
        Ok(())
    });
    let result = result.with_context(|| format!("{} on {}", kind.name(), target.kind.name()))?;
    let cpu_s = match samples_s[..] {
        [start_s, end_s] => end_s - start_s,
        _ => 0.0,
    };
    Ok(Measurement::new(
        target.kind,
        kind,
        load.connections,
        &result,
        cpu_s,
        target.process.rss_mib()?,
    ))
}

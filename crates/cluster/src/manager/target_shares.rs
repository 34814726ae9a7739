//! Tells the servers their shares of the targets.

use super::hosts::Hosts;
use crate::member::messages::{HostAnswer, HostRequest};
use crate::targets::plan::plan;
use crate::targets::{TargetDemand, owners};
use futures::future::join_all;
use partita_coordinator::Table;
use std::collections::BTreeMap;

impl Hosts {
    /// Divides the targets by these demands, and tells the servers that have reported. A server that cannot be told keeps
    /// its shares.
    pub(crate) async fn divide_targets(
        &self,
        table: &Table,
        reports: &BTreeMap<String, Vec<TargetDemand>>,
    ) {
        let plan = plan(reports, |scope| {
            let owners = owners(table, scope).into_iter();
            owners.map(str::to_owned).collect()
        });
        let telling = plan.into_iter().map(|(server, shares)| async move {
            let request = HostRequest::Shares { shares };
            match self.ask_soon(&server, &request).await {
                Ok(HostAnswer::Done) => {}
                other => tracing::debug!(server, ?other, "a server did not take its shares"),
            }
        });
        join_all(telling).await;
    }
}

//! The shares of all scopes, from what the servers have reported.

use super::division::divide;
use super::{TargetDemand, TargetScope, TargetShare};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The most shares that one server is told.
const SHARES_MAX: usize = 4_096;

/// The shares for each server that has reported, from its demands. `owners` are the servers of a scope. An owner that has
/// not reported a scope is taken for one without demand: its demand is small, or it runs an earlier release.
pub(crate) fn plan(
    reports: &BTreeMap<String, Vec<TargetDemand>>,
    mut owners: impl FnMut(&TargetScope) -> Vec<String>,
) -> BTreeMap<String, Vec<TargetShare>> {
    let mut scopes: BTreeMap<&TargetScope, BTreeMap<&str, u64>> = BTreeMap::new();
    for (server, demands) in reports {
        for demand in demands {
            let of_scope = scopes.entry(&demand.scope).or_default();
            of_scope.insert(server, demand.demand);
        }
    }
    let mut scopes: Vec<_> = scopes.into_iter().collect();
    // The scopes with the greatest demand, if a server cannot be told all.
    scopes.sort_by_key(|(_, demands)| Reverse(demands.values().max().copied()));
    let servers = reports.keys().map(|server| (server.clone(), Vec::new()));
    let mut plan: BTreeMap<String, Vec<TargetShare>> = servers.collect();
    for (scope, demands) in scopes {
        let owners = owners(scope);
        // Each server knows that it is alone.
        if owners.len() < 2 {
            continue;
        }
        let demand = |owner: &String| demands.get(owner.as_str()).copied().unwrap_or_default();
        let demands: Vec<u64> = owners.iter().map(demand).collect();
        for (owner, share) in owners.iter().zip(divide(&demands)) {
            if let Some(shares) = plan.get_mut(owner)
                && shares.len() < SHARES_MAX
            {
                shares.push(TargetShare {
                    scope: scope.clone(),
                    share,
                });
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::super::WHOLE;
    use super::*;

    fn scope(number: u32) -> TargetScope {
        TargetScope::Container(number.to_be_bytes().to_vec().into())
    }

    fn reports(reports: &[(&str, &[(u32, u64)])]) -> BTreeMap<String, Vec<TargetDemand>> {
        let demand = |(number, demand): &(u32, u64)| TargetDemand {
            scope: scope(*number),
            demand: *demand,
        };
        let report = |(server, demands): &(&str, &[(u32, u64)])| {
            let demands = demands.iter().map(demand).collect();
            ((*server).to_owned(), demands)
        };
        reports.iter().map(report).collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_owner_that_reports_gets_its_share() {
        let reports = reports(&[("a", &[(1, 5 * WHOLE), (2, WHOLE)]), ("b", &[]), ("c", &[])]);
        let plan = plan(&reports, |of| match *of == scope(1) {
            // One server does not report.
            true => names(&["a", "b", "old"]),
            false => names(&["a"]),
        });
        let share = |share| TargetShare {
            scope: scope(1),
            share,
        };
        assert_eq!(plan["a"], [share(WHOLE)]);
        assert_eq!(plan["b"], [share(WHOLE / 6)]);
        // It is told that there is nothing: its shares are current.
        assert_eq!(plan["c"], []);
        assert_eq!(plan.len(), 3);
    }

    #[test]
    fn a_server_is_told_the_scopes_with_the_greatest_demand() {
        let demands: Vec<(u32, u64)> = (0..5_000).map(|at| (at, u64::from(at))).collect();
        let reports = reports(&[("a", &demands), ("b", &[(0, WHOLE)])]);
        let plan = plan(&reports, |_| names(&["a", "b"]));
        for shares in plan.values() {
            assert_eq!(shares.len(), SHARES_MAX);
            assert_eq!(shares[0].scope, scope(0));
            assert_eq!(shares[1].scope, scope(4_999));
        }
    }
}

//! Targets of scopes that several servers serve: what the servers report, and the shares that they get.

use super::world::{Fate, World};
use crate::member::messages::{HostAnswer, HostRequest};
use crate::targets::{TargetDemand, TargetScope, TargetShare, WHOLE, owner_count};
use futures::FutureExt;
use partita_model::{KeyKind, TableId, TableSpace};
use std::collections::BTreeMap;

/// The rows of a table; those of table 1 are in the ranges of all three servers, those of a later one in the last range.
fn table(id: u64) -> TargetScope {
    let prefix = TableSpace::new("account", TableId(id)).prefix().to_vec();
    TargetScope::Container(prefix.into())
}

fn account(name: &str) -> TargetScope {
    let key = TableSpace::new(name, TableId(1)).partition("p");
    let encoded = partita_model::account_of(&key).unwrap().to_vec();
    TargetScope::Account(encoded.into())
}

fn share(scope: TargetScope, share: u64) -> TargetShare {
    TargetShare { scope, share }
}

/// One round of the manager.
async fn round(world: &World) {
    let table = world.routes.current();
    let mut demands = BTreeMap::new();
    for load in world.hosts.loads(&table).await {
        demands.extend(load.demands.map(|of_server| (load.server, of_server)));
    }
    world.hosts.divide_targets(&table, &demands).await;
}

#[tokio::test(start_paused = true)]
async fn the_servers_of_a_scope_are_those_of_its_ranges() {
    let world = World::start().await;
    let routes = world.routes.current();
    for (scope, servers) in [
        (table(1), 3),
        (table(2), 1),
        (account("account"), 3),
        // Its entities would be in the first range, its messages in the last one.
        (account("a"), 2),
        (account("z"), 1),
    ] {
        assert_eq!(owner_count(&routes, &scope), servers, "{scope:?}");
    }
    // The ranges of a server that has gone have no owner.
    world.leave(2).await;
    let routes = world.routes.current();
    assert_eq!(owner_count(&routes, &table(1)), 2);
    assert_eq!(owner_count(&routes, &table(2)), 0);
    // Messages are after all entities.
    let messages = [&[KeyKind::MESSAGE.byte()], &b"account\0"[..]].concat();
    assert_eq!(
        owner_count(&routes, &TargetScope::Container(messages.into())),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn the_manager_divides_targets_by_demand() {
    let world = World::start().await;
    let targets = || world.servers.iter().map(|server| &server.targets);
    for (at, targets) in targets().enumerate() {
        let demand = [3 * WHOLE, 200_000, 0][at];
        *targets.asked.lock() = [table(1), account("account"), table(2)]
            .map(|scope| TargetDemand { scope, demand })
            .to_vec();
    }
    round(&world).await;
    for (targets, expected) in targets().zip([800_000, 220_000, WHOLE / 6]) {
        let expected = vec![
            share(table(1), expected),
            share(account("account"), expected),
        ];
        assert_eq!(*targets.shares.lock(), Some(expected));
    }
    // The second server cannot be told, and keeps its shares; the others get theirs.
    world.choose(|server, request| {
        let is_lost = server == "server-2" && matches!(request, HostRequest::Shares { .. });
        let fate = if is_lost { Fate::Lost } else { Fate::Answered };
        async move { fate }.boxed()
    });
    for targets in targets() {
        targets.asked.lock().clear();
    }
    round(&world).await;
    let told: Vec<usize> = targets()
        .map(|targets| targets.shares.lock().as_ref().map_or(9, Vec::len))
        .collect();
    assert_eq!(told, [0, 2, 0]);
}

/// Neither a server without targets nor one of an earlier release is told shares.
#[tokio::test(start_paused = true)]
async fn only_servers_that_report_demands_are_told_shares() {
    let answer = r#"{"answer":"loads","loads":[]}"#;
    let earlier: HostAnswer = serde_json::from_str(answer).unwrap();
    assert_eq!(
        earlier,
        HostAnswer::Loads {
            loads: Vec::new(),
            demands: None
        }
    );
    assert_eq!(serde_json::to_string(&earlier).unwrap(), answer);

    let world = World::start().await;
    let routes = world.routes.current();
    let only = BTreeMap::from([(
        "server-3".to_owned(),
        vec![TargetDemand {
            scope: table(1),
            demand: WHOLE,
        }],
    )]);
    world.hosts.divide_targets(&routes, &only).await;
    let told = world.servers.iter();
    let told: Vec<_> = told
        .map(|server| server.targets.shares.lock().clone())
        .collect();
    assert_eq!(told, [None, None, Some(vec![share(table(1), WHOLE)])]);
}

/// A server refuses a request of a later release, and goes on.
#[tokio::test(start_paused = true)]
async fn an_unknown_request_is_refused() {
    let world = World::start().await;
    let server = &world.servers[0].ranges;
    let answer = server.answer(br#"{"ask":"unheard_of","shares":[]}"#).await;
    let answer: HostAnswer = serde_json::from_slice(&answer).unwrap();
    assert!(matches!(answer, HostAnswer::Refused { .. }), "{answer:?}");
    let answer = server.answer(br#"{"ask":"holds","and":1}"#).await;
    let answer: HostAnswer = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer, HostAnswer::Ranges { ranges: vec![1] });
}

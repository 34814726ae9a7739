//! Held requests, in virtual time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use partita_peer::Class;
use partita_peer::forward::{Access, ForwardedRequest, Grant, RangeId, Scheme, ServiceId, Tenure};
use partita_peer::policy::{HELD_BYTES_MAX, HELD_REQUESTS_MAX, Kind};
use partita_rt::SystemClock;

use crate::forwarding::{LifeGate, Membership, NotForwarded, Outgoing, Owner, Place, Routing};
use crate::metrics::{ForwardOutcome, Metrics};

/// A map without an owner, which never changes.
#[derive(Debug)]
struct Unserved;

impl Routing for Unserved {
    fn place(&self, _: &[u8]) -> Place {
        Place {
            range: Some(RangeId(1)),
            tenure: Tenure(1),
            owner: Owner::Unserved,
            end: None,
        }
    }

    fn newest(&self, _: RangeId) -> (Tenure, bool) {
        (Tenure(1), false)
    }

    fn has_map(&self) -> bool {
        true
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

fn member() -> (Membership, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    let counted = Arc::clone(&metrics);
    let clock = Arc::new(SystemClock);
    let gate = Arc::new(LifeGate::default());
    let member = Membership::new(Arc::new(Unserved), gate, counted, clock);
    (member, metrics)
}

fn outgoing(body: Bytes) -> Outgoing<'static> {
    Outgoing {
        key: Bytes::new(),
        kind: Kind::Write,
        class: Class::Small,
        request: ForwardedRequest {
            service: ServiceId::Table,
            scheme: Scheme::Http,
            hops: 1,
            time_left: Duration::ZERO,
            range: RangeId(0),
            tenure: Tenure(0),
            request_id: [0; 16],
            service_version: None,
            client: None,
            access: Access {
                grant: Grant::Owner,
                expires_ms: None,
            },
            account: "a",
            base: "",
            method: "GET",
            target: "/",
            row: b"",
            headers: Vec::new(),
        },
        body,
        deadline: Instant::now() + Duration::from_secs(30),
        wait_end: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_held_for_two_and_a_half_seconds() {
    let (member, metrics) = member();
    let began = tokio::time::Instant::now();
    let mut is_sent = false;
    let ended = member.forward(&outgoing(Bytes::new()), &mut is_sent).await;
    assert_eq!(ended.unwrap_err(), NotForwarded::NotExecuted);
    let held = began.elapsed();
    assert!((2500..2510).contains(&held.as_millis()), "{held:?}");
    assert!(!is_sent);
    let counts = metrics.read().forwarding;
    assert_eq!(counts.held, 0);
    assert_eq!(counts.outcomes[ForwardOutcome::Refused as usize], 1);
}

#[tokio::test(start_paused = true)]
async fn over_the_limits_requests_are_refused_at_once() {
    let bodies = [
        (Bytes::new(), HELD_REQUESTS_MAX),
        (Bytes::from(vec![0; HELD_BYTES_MAX / 4]), 4),
    ];
    for (body, fitting) in bodies {
        let (member, metrics) = member();
        let hold = |_| async {
            let mut is_sent = false;
            member.forward(&outgoing(body.clone()), &mut is_sent).await
        };
        let mut holding: stream::FuturesUnordered<_> = (0..fitting).map(hold).collect();
        // Each is polled once, and waits.
        assert!(holding.next().now_or_never().is_none());
        assert_eq!(metrics.read().forwarding.held, fitting);
        let refused = hold(0).now_or_never().expect("refused at once");
        assert_eq!(refused.unwrap_err(), NotForwarded::NotExecuted);
        // Clients that go away give their places back.
        drop(holding);
        let counts = metrics.read().forwarding;
        assert_eq!(counts.held, 0);
        let abandoned = counts.outcomes[ForwardOutcome::Abandoned as usize];
        assert_eq!(abandoned, fitting as u64);
    }
}

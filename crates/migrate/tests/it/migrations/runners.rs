//! Tests several runners: the lease lets only one run at a time, and a runner can be stopped.

use super::*;
use std::sync::{Arc, Mutex};
use tokio::runtime::Handle;

/// Calls a function once, when the step with this number begins.
struct AtStep<F>(usize, Mutex<Option<F>>);

impl<F: FnOnce() + Send> Watch for AtStep<F> {
    fn event(&self, event: &Event<'_>) {
        if matches!(event, Event::Step { step, .. } if *step == self.0)
            && let Some(act) = self.1.lock().unwrap().take()
        {
            act();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_runners_do_not_run_at_the_same_time() {
    let (server, service) = started().await;
    let held = MigratorOptions {
        who: "the first".to_owned(),
        lease: LeaseOptions {
            duration: Duration::from_secs(3600),
            ..LeaseOptions::default()
        },
        ..options()
    };
    let migrations = Arc::new(one(|it| it.create_table("tab1").create_table("tab2")));
    let (found, sought) = (Arc::new(Mutex::new(None)), Arc::clone(&migrations));
    let (result, other) = (Arc::clone(&found), service.clone());
    let act = move || {
        tokio::task::block_in_place(|| {
            let second = Migrator::new(other, options());
            let up = second.up(&sought, None);
            *result.lock().unwrap() = Some(Handle::current().block_on(up));
        });
    };
    let migrator =
        Migrator::new(service.clone(), held).watched_by(Arc::new(AtStep(2, Mutex::new(Some(act)))));
    migrator.up(&migrations, None).await.unwrap();
    let Some(Err(MigrateError::Held { who, ends_in })) = found.lock().unwrap().take() else {
        panic!("the second runner ran despite the lease");
    };
    assert_eq!(who, "the first");
    assert!(
        ends_in > Duration::from_secs(3000) && ends_in <= Duration::from_secs(3600),
        "{ends_in:?}"
    );
    // The lease was released, so the second runner need not wait.
    let second = Migrator::new(service.clone(), options());
    assert!(second.up(&migrations, None).await.unwrap().is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_lost_its_lease_stops_writing() {
    let (server, service) = started().await;
    let migrations = one(|it| {
        it.create_table("tab1")
            .create_table("tab2")
            .create_table("tab3")
    });
    let thief = service.table_client(VERSIONS_TABLE);
    let act = move || {
        tokio::task::block_in_place(|| {
            let lease = row(
                "lease",
                "lease",
                &[("Who", "a thief".into()), ("Seconds", 3600.into())],
            );
            let taken = thief.upsert_entity(&lease, UpdateMode::Replace);
            Handle::current().block_on(taken).unwrap();
        });
    };
    let migrator = Migrator::new(service.clone(), options())
        .watched_by(Arc::new(AtStep(2, Mutex::new(Some(act)))));
    let error = migrator.up(&migrations, None).await.unwrap_err();
    assert!(matches!(error, MigrateError::Lost(_)), "{error}");
    let now = everything(&service).await;
    assert_eq!(now.keys().collect::<Vec<_>>(), ["tab1", "versionData"]);
    let record = migrator.records().await.unwrap().remove(0);
    assert_eq!(
        (record.state, record.steps_done, record.failure),
        (State::Applying, 1, None)
    );
    // The lease that `act` took is still valid.
    let second = Migrator::new(service.clone(), options());
    let error = second.up(&migrations, None).await.unwrap_err();
    assert!(
        matches!(&error, MigrateError::Held { who, .. } if who == "a thief"),
        "{error}"
    );
    let mut taking_over = options();
    taking_over.lease.take_over = true;
    Migrator::new(service.clone(), taking_over)
        .up(&migrations, None)
        .await
        .unwrap();
    assert_eq!(everything(&service).await.len(), 4);
    server.stop().await;
}

#[tokio::test]
async fn a_stopped_runner_ends_before_its_next_write() {
    /// Stops the runner when its second step begins.
    struct Stopper(Arc<Mutex<Option<Migrator>>>);
    impl Watch for Stopper {
        fn event(&self, event: &Event<'_>) {
            if matches!(event, Event::Step { step: 2, .. }) {
                self.0.lock().unwrap().take().unwrap().stop();
            }
        }
    }
    let (server, service) = started().await;
    let migrations = one(|it| it.create_table("tab1").create_table("tab2"));
    let stopped = Arc::new(Mutex::new(None));
    let held = MigratorOptions {
        lease: LeaseOptions::default(),
        ..options()
    };
    let migrator = Migrator::new(service.clone(), held.clone())
        .watched_by(Arc::new(Stopper(Arc::clone(&stopped))));
    *stopped.lock().unwrap() = Some(migrator.clone());
    let error = migrator.up(&migrations, None).await.unwrap_err();
    assert!(matches!(error, MigrateError::Stopped), "{error}");
    let now = everything(&service).await;
    assert_eq!(now.keys().collect::<Vec<_>>(), ["tab1", "versionData"]);
    // The stopped runner has released its lease, which would otherwise last one minute.
    let next = Migrator::new(service.clone(), held);
    assert_eq!(next.up(&migrations, None).await.unwrap()[0].steps, 1);
    assert_eq!(everything(&service).await.len(), 3);
    server.stop().await;
}

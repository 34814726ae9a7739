//! The pages and actions of snapshots and jobs.

use std::time::Duration;

use partita_wire::admin::{
    ActionDone, Job, JobList, SnapshotCreated, SnapshotDetails, SnapshotList,
};

use super::*;

async fn started_with_place(place: &str) -> (Server, SocketAddr) {
    let [memory, port] = IN_MEMORY;
    started(&[memory, port, ("backup-place", place)]).await
}

/// A job's document once it has ended.
async fn ended_job(address: SocketAddr, id: u64) -> serde_json::Value {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let (_, body) = ask(address, &format!("GET /admin/v1/jobs/{id}")).await;
        let job: serde_json::Value = serde_json::from_str(&body).unwrap();
        if job["state"] != "running" {
            return job;
        }
        assert!(tokio::time::Instant::now() < deadline, "{job}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn snapshots_and_jobs_are_shown_as_documented() {
    let places = tempfile::tempdir().unwrap();
    let place = places.path().to_str().unwrap();
    let (server, address) = started_with_place(place).await;
    let (account, name) = Heated::names();
    let service = &server.status().open().unwrap().service;
    service.create_table(&account, &name).await.unwrap();

    let (status, created) = act(address, "snapshots/nightly/create", "").await;
    assert_eq!(status, 200, "{created}");
    documented::<SnapshotCreated>(&created);
    let (_, refused) = act(address, "snapshots/nightly/create", "").await;
    assert_eq!(refused["error"]["code"], "SnapshotExists");
    let page = async |path: &str| {
        let (_, body) = ask(address, &format!("GET {path}")).await;
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    documented::<SnapshotList>(&page("/admin/v1/snapshots").await);
    let details = page("/admin/v1/snapshots/nightly").await;
    documented::<SnapshotDetails>(&details);
    assert_eq!(details["tables"][0]["table"], "People");

    let wishes = [
        ("restore", r#"{"table":"people","as":"again"}"#.to_owned()),
        ("backup", format!(r#"{{"to":"{place}/backup"}}"#)),
        ("unpack", format!(r#"{{"to":"{place}/unpacked"}}"#)),
    ];
    for ((action, body), id) in wishes.into_iter().zip(1..) {
        let (status, job) = act(address, &format!("snapshots/nightly/{action}"), &body).await;
        assert_eq!((status, &job["id"]), (202, &id.into()), "{job}");
        documented::<Job>(&job);
        let job = ended_job(address, id).await;
        assert_eq!(job["state"], "done", "{job}");
        documented::<Job>(&job);
    }
    let jobs = page("/admin/v1/jobs").await;
    assert_eq!(jobs["jobs"][0]["kind"], "unpack");
    documented::<JobList>(&jobs);
    let (_, deleted) = act(address, "snapshots/nightly/delete", "").await;
    documented::<ActionDone>(&deleted);
    server.stop().await;
}

/// A backup succeeds although the snapshot that it was made from cannot be deleted yet: a reader still uses it.
#[tokio::test]
async fn a_backup_succeeds_although_its_snapshot_cannot_be_deleted_yet() {
    let places = tempfile::tempdir().unwrap();
    let place = places.path().to_str().unwrap();
    let (server, address) = started_with_place(place).await;
    let snapshots = &server.status().open().unwrap().snapshots;
    let name: partita_snapshot::SnapshotName = "for-it".parse().unwrap();
    let now = partita_model::DateTime::parse("2026-11-21T03:00:00Z").unwrap();
    snapshots.create(name.clone(), now).await.unwrap();
    let reader = snapshots.read(&name).await.unwrap();
    let wish = serde_json::json!({ "to": format!("{place}/backup"), "temporary": true });
    let (status, job) = act(address, "snapshots/for-it/backup", &wish.to_string()).await;
    assert_eq!(status, 202, "{job}");
    let job = ended_job(address, 1).await;
    documented::<Job>(&job);
    assert_eq!(job["state"], "done", "{job}");
    let warning = job["result"]["warning"].as_str().unwrap();
    assert!(warning.contains("for-it is being read"), "{warning}");
    drop(reader);
    snapshots.maintain().await;
    let gone = snapshots.record(&name).await;
    assert!(
        matches!(
            gone,
            Err(partita_snapshot::SnapshotError::NoSuchSnapshot(_))
        ),
        "{gone:?}"
    );
    server.stop().await;
}

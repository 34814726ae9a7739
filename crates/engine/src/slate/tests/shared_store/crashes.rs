//! Ranges of processes that died, or that only seemed to be dead.

use futures::future::join_all;

use super::*;

/// Writes a flushed row and a row that is only in the log.
async fn write_two(engine: &dyn Engine, name: &str) {
    commit(engine, put(format!("{name}-flushed"), "1"))
        .await
        .unwrap();
    engine.flush().await.unwrap();
    commit(engine, put(format!("{name}-logged"), "1"))
        .await
        .unwrap();
}

async fn keys(engine: &dyn Engine) -> Vec<String> {
    let rows = texts(engine).await;
    rows.into_iter().map(|(key, _)| key).collect()
}

/// Each owner dies with rows that are only in its log. The next one needs no other log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_owners_in_a_row_die() {
    let cluster = Cluster::default();
    let (mut logs, mut expected) = (Vec::new(), Vec::new());
    for name in ["a", "b", "c", "d"] {
        let process = cluster.start().await;
        let engine = process.take(RANGE, &logs).await;
        assert_eq!(keys(&*engine).await, expected);
        if name != "c" {
            write_two(&*engine, name).await;
            expected.extend([format!("{name}-flushed"), format!("{name}-logged")]);
        }
        logs = vec![process.log];
    }
}

/// The rows of the take-over are in files before it returns: a process that dies at once is not needed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_wrote_nothing_is_not_needed() {
    let cluster = Cluster::default();
    let (dead, heir) = (cluster.start().await, cluster.start().await);
    let engine = dead.take(RANGE, &[]).await;
    write_two(&*engine, "a").await;
    let logs = [dead.log];
    drop((dead, engine));
    let engine = heir.take(RANGE, &logs).await;
    drop((heir, engine));

    let last = cluster.start().await;
    last.collect_logs(&last.uncollected_logs().await.unwrap())
        .await
        .unwrap();
    assert_eq!(last.uncollected_logs().await.unwrap(), [last.log]);
    let engine = last.take(RANGE, &logs).await;
    assert_eq!(keys(&*engine).await, ["a-flushed", "a-logged"]);
}

/// The process dies during the take-over, before the rows are in files. The next one needs the same log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_dies_during_the_take_over() {
    let cluster = Cluster::default();
    let dead = cluster.start().await;
    let engine = dead.take(RANGE, &[]).await;
    write_two(&*engine, "a").await;
    let logs = [dead.log];
    drop((dead, engine));

    let dying = cluster.start().await;
    cluster.store.hold_files(true);
    tokio::select! {
        _ = dying.take_over(RANGE, &logs, assigned()) => panic!("returned before the rows are in files"),
        () = cluster.store.file_is_held() => {}
    }
    drop(dying);
    cluster.store.hold_files(false);

    let heir = cluster.start().await;
    let engine = heir.take(RANGE, &logs).await;
    assert_eq!(keys(&*engine).await, ["a-flushed", "a-logged"]);
    write_two(&*engine, "b").await;
}

/// The old owner was only paused. It acknowledges nothing after the take-over, and says why it ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_owner_acknowledges_nothing() {
    let cluster = Cluster::default();
    let (paused, heir) = (cluster.start().await, cluster.start().await);
    let old = paused.take(RANGE, &[]).await;
    let other = paused.take(RangeId(2), &[]).await;
    write_two(&*old, "a").await;
    let new = heir.take(RANGE, &[paused.log]).await;

    let late = commit(&*old, put("late", "1")).await;
    assert!(late.is_err());
    assert_eq!(
        &*paused.fenced().await,
        "another server has taken over the log of life 0000000000000001: \
         it was sealed by life 0000000000000002, which takes over its ranges"
    );
    assert_eq!(paused.health(), Health::Fenced);
    // The process ends with all its ranges.
    let refused = commit(&*other, put("late", "1")).await;
    assert_eq!(refused, Err(Refusal::Closed.into()));
    paused.close().await;

    write_two(&*new, "b").await;
    let expected = ["a-flushed", "a-logged", "b-flushed", "b-logged"];
    assert_eq!(keys(&*new).await, expected);
    assert_eq!(heir.health(), Health::Healthy);
}

/// The log of the old owner is not sealed, but its database was opened elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_database_was_opened_elsewhere_ends() {
    let cluster = Cluster::default();
    // Old manifests are deleted soon, so newer ones are looked for often.
    let settings = Settings {
        garbage_age: Duration::from_millis(400),
        ..Settings::default()
    };
    let old = Process::of(cluster.home(), settings).await;
    let engine = old.take(RANGE, &[]).await;
    commit(&*engine, put("a", "1")).await.unwrap();
    engine.flush().await.unwrap();
    let new = cluster.start().await;
    let engine = new.take(RANGE, &[]).await;
    assert_eq!(
        &*old.fenced().await,
        "another server has opened the database of range 1"
    );
    commit(&*engine, put("b", "2")).await.unwrap();
    expect(&*engine, &[("a", "1"), ("b", "2")]).await;
}

/// The store refuses a group. The process serves none of its ranges any more, and others take over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_whose_log_fails_serves_nothing_more() {
    let cluster = Cluster::default();
    let (failed, heir) = (cluster.start().await, cluster.start().await);
    let engine = failed.take(RANGE, &[]).await;
    let other = failed.take(RangeId(2), &[]).await;
    write_two(&*engine, "a").await;
    cluster.store.refuse_logs(true);
    let unknown = commit(&*engine, put("unknown", "1")).await;
    assert_eq!(unknown, Err(WriteError::Unknown));
    cluster.store.refuse_logs(false);
    assert_eq!(
        &*failed.fenced().await,
        "the log of life 0000000000000001 has ended, and a server of a cluster does not open its log again"
    );
    let refused = commit(&*other, put("late", "1")).await;
    assert_eq!(refused, Err(Refusal::Closed.into()));
    let opened = failed.take_over(RangeId(3), &[], assigned()).await;
    assert!(opened.is_err());
    let engine = heir.take(RANGE, &[failed.log]).await;
    assert_eq!(keys(&*engine).await, ["a-flushed", "a-logged"]);
}

/// All ranges of a dead process are taken over at the same time, by two heirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_heirs_share_the_ranges_of_a_process() {
    let cluster = Cluster::default();
    let dead = cluster.start().await;
    let ranges: Vec<RangeId> = (1..=6).map(RangeId).collect();
    for range in &ranges {
        let engine = dead.take(*range, &[]).await;
        write_two(&*engine, &format!("{range}")).await;
    }
    let logs = [dead.log];
    drop(dead);
    let heirs = [cluster.start().await, cluster.start().await];
    let taking = ranges.iter().zip(heirs.iter().cycle());
    let taking = taking.map(|(range, heir)| heir.take(*range, &logs));
    for (range, engine) in ranges.iter().zip(join_all(taking).await) {
        let expected = [format!("{range}-flushed"), format!("{range}-logged")];
        assert_eq!(keys(&*engine).await, expected);
        write_two(&*engine, "later").await;
    }
}

/// A single server, a cluster and a single server again, each of which is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_used_by_a_single_server_and_by_a_cluster() {
    let cluster = Cluster::default();
    let single = cluster.start_single().await;
    let engine = single.open(RANGE).await.unwrap();
    write_two(&*engine, "a").await;
    drop((single, engine));

    let (one, two) = (cluster.start().await, cluster.start().await);
    let logs = one.uncollected_logs().await.unwrap();
    assert_eq!(logs.len(), 3);
    let engine = one.take(RANGE, &logs[..1]).await;
    write_two(&*engine, "b").await;
    one.hand_over(RANGE).await.unwrap();
    let engine = two.take(RANGE, &[]).await;
    write_two(&*engine, "c").await;
    two.hand_over(RANGE).await.unwrap();
    let engine = one.take(RANGE, &[]).await;
    write_two(&*engine, "d").await;
    drop((one, two, engine));

    let single = cluster.start_single().await;
    let engine = single.open(RANGE).await.unwrap();
    single.drop_unknown().await;
    let expected = ["a", "b", "c", "d"];
    let expected = expected.map(|name| [format!("{name}-flushed"), format!("{name}-logged")]);
    assert_eq!(keys(&*engine).await, expected.concat());
    write_two(&*engine, "e").await;
    single.close().await;
}

/// The WAL of a single server shows which records are missing only with the manifest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_log_is_an_error() {
    use slatedb::object_store::ObjectStoreExt;
    let cluster = Cluster::default();
    for key in ["a", "b", "c"] {
        let single = cluster.start_single().await;
        let engine = single.open(RANGE).await.unwrap();
        commit(&*engine, put(key, "1")).await.unwrap();
    }
    let store = cluster.store.as_dyn();
    for number in 0..4 {
        let object = format!("log/{}/{number:020}", LogNumber(2));
        let _ = store.delete(&object.into()).await;
    }
    let single = cluster.start_single().await;
    let error = One::of(single).await.err().unwrap();
    let text = format!("{error:?}");
    assert!(text.contains("records are missing"), "{text}");
}

/// The heir of a process with many ranges takes them over at the same time, and not one after the other: each waits for a
/// file, and all wait together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_ranges_are_taken_over_at_the_same_time() {
    const RANGES: u64 = 30;
    let cluster = Cluster::default();
    let dead = cluster.start().await;
    for range in 1..=RANGES {
        let engine = dead.take(RangeId(range), &[]).await;
        commit(&*engine, put("key", "value")).await.unwrap();
    }
    let logs = [dead.log];
    drop(dead);
    let heir = cluster.start().await;
    cluster.store.hold_files(true);
    let taking = join_all((1..=RANGES).map(|range| heir.take(RangeId(range), &logs)));
    let releasing = async {
        cluster.store.files_are_held(30).await;
        cluster.store.hold_files(false);
    };
    let (engines, ()) = tokio::join!(taking, releasing);
    for engine in engines {
        expect(&*engine, &[("key", "value")]).await;
    }
}

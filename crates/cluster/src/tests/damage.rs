//! Tests that a store whose map is damaged or partly lost does not start, and that nothing in it is deleted.

use super::*;
use crate::map::Epoch;
use crate::{Fault, Finding, MapRecord, ServingRecord, StartError, StoreContents, Trace};
use crate::{check, rebuild};
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

/// A store after a split and a merge, with rows written since: one range is left.
async fn changed() -> (Disk, BTreeMap<Bytes, Bytes>) {
    let disk = Disk::default();
    let cluster = disk.open().await;
    fill(&cluster, 0..20).await;
    cluster.split(RangeId(1), None).await.unwrap();
    put(&cluster, 3, "after the split").await.unwrap();
    cluster.merge(RangeId(2), RangeId(3)).await.unwrap();
    put(&cluster, 13, "after the merge").await.unwrap();
    let rows = rows(&cluster).await;
    stop(&disk, cluster).await;
    (disk, rows)
}

async fn stop(disk: &Disk, cluster: Arc<Cluster>) {
    let late = cluster.tasks().drain(Duration::from_secs(5)).await;
    assert!(late.is_empty(), "{late:?}");
    drop(cluster);
    disk.engines.restart().await;
}

/// The objects in a folder, with their bytes.
async fn objects(disk: &Disk, folder: &str) -> BTreeMap<Path, Bytes> {
    let listed = disk.objects.list(Some(&Path::from(folder)));
    let listed: Vec<_> = listed.try_collect().await.unwrap();
    let mut objects = BTreeMap::new();
    for object in listed {
        let found = disk.objects.get(&object.location).await.unwrap();
        objects.insert(object.location, found.bytes().await.unwrap());
    }
    objects
}

/// Restores the objects: makes `all` the only objects.
async fn restore(disk: &Disk, all: &BTreeMap<Path, Bytes>) {
    for path in objects(disk, "").await.keys() {
        disk.objects.delete(path).await.unwrap();
    }
    for (path, bytes) in all {
        disk.objects.put(path, bytes.clone().into()).await.unwrap();
    }
}

fn is_version(path: &Path) -> bool {
    path.as_ref().starts_with("map/")
}

/// Starts and expects a refusal that changes nothing.
async fn refused(disk: &Disk) -> Vec<Finding> {
    let before = (objects(disk, "").await, disk.engines.list().await.unwrap());
    let findings = match Cluster::open(disk.parts()).await {
        Err(StartError::Damaged(findings)) => findings,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the store was opened"),
    };
    let after = (objects(disk, "").await, disk.engines.list().await.unwrap());
    assert_eq!(before, after, "a refused start changes nothing");
    findings
}

/// Without the newest versions of the map, a start would roll back finished changes and delete databases with the
/// newest rows.
#[tokio::test]
async fn a_start_without_the_newest_versions_of_the_map_is_refused() {
    let (disk, rows_before) = changed().await;
    let all = objects(&disk, "").await;
    let versions: Vec<&Path> = all.keys().filter(|path| is_version(path)).collect();
    let serving = disk.map.contents().await.unwrap().serving;
    let merged = serving.last().unwrap().record.as_ref().unwrap();
    assert_eq!(merged.range, 4);
    let decision = format!("map/{:020}.json", merged.version);
    let decided = versions.iter().position(|path| path.as_ref() == decision);
    for kept in 0..=decided.unwrap() {
        for path in &versions[kept..] {
            disk.objects.delete(path).await.unwrap();
        }
        let findings = refused(&disk).await;
        let (object, fault) = (&findings[0].object, &findings[0].fault);
        if kept == 0 {
            assert_eq!(object, "map/");
            assert!(matches!(fault, Fault::NoMap(_)), "{fault}");
        } else {
            assert!(matches!(fault, Fault::VersionMissing(..)), "{fault}");
            let is_named = findings.iter().any(|finding| finding.object == decision);
            assert!(is_named, "{findings:?}");
        }
        restore(&disk, &all).await;
    }
    let cluster = disk.open().await;
    assert_eq!(rows(&cluster).await, rows_before);
}

/// With a flipped bit in the newest version of the map, the start is refused. With one in any other object of the map
/// or the serving records, no row changes.
#[tokio::test]
async fn damage_is_refused_or_repaired_and_never_changes_the_map() {
    let (disk, rows_before) = changed().await;
    let all = objects(&disk, "").await;
    let newest = all.keys().rfind(|path| is_version(path));
    let newest = newest.unwrap().clone();
    for (path, bytes) in &all {
        let mut damaged = bytes.to_vec();
        damaged[20] ^= 4;
        disk.objects.put(path, damaged.into()).await.unwrap();
        if *path == newest {
            let findings = refused(&disk).await;
            assert_eq!(findings[0].object, newest.to_string());
        } else {
            let cluster = disk.open().await;
            assert_eq!(rows(&cluster).await, rows_before, "{path}");
            stop(&disk, cluster).await;
        }
        restore(&disk, &all).await;
    }
}

#[tokio::test]
async fn a_missing_database_is_not_replaced_by_an_empty_one() {
    let (disk, _) = changed().await;
    disk.engines.remove(RangeId(4)).await.unwrap();
    let findings = refused(&disk).await;
    assert_eq!(findings[0].object, "range-4");
    assert_eq!(findings[0].fault, Fault::DatabaseMissing);
}

/// The map is valid, but states other keys for the ranges than their serving records.
#[tokio::test]
async fn a_foreign_map_is_refused() {
    let (disk, cluster) = split_store(20).await;
    stop(&disk, cluster).await;
    let mut record = disk.map.load().await.unwrap().unwrap().next();
    record.ranges[1].start = partition(5);
    disk.map.save(&record).await.unwrap();
    let findings = refused(&disk).await;
    let differs = findings
        .iter()
        .filter(|finding| matches!(finding.fault, Fault::ServingDiffers { .. }));
    assert_eq!(differs.count(), 2, "{findings:?}");
    let outside = findings
        .iter()
        .find(|finding| matches!(finding.fault, Fault::KeysOutside { .. }));
    assert_eq!(outside.unwrap().object, "range-2");
}

/// A store without checksums and serving records gets both at its first start.
#[tokio::test]
async fn a_store_of_format_1_is_upgraded() {
    let (disk, rows_before) = changed().await;
    let record = disk.map.load().await.unwrap().unwrap();
    for path in objects(&disk, "").await.keys() {
        disk.objects.delete(path).await.unwrap();
    }
    let old = MapRecord {
        format: 1,
        previous: None,
        ..record.clone()
    };
    let text = serde_json::to_vec_pretty(&old).unwrap();
    let path = Path::from(format!("map/{:020}.json", old.version));
    disk.objects.put(&path, text.into()).await.unwrap();

    let cluster = disk.open().await;
    assert_eq!(rows(&cluster).await, rows_before);
    let upgraded = cluster.record().unwrap();
    assert!(upgraded.format == 2 && upgraded.version > old.version);
    assert_eq!(upgraded.ranges, old.ranges);
    let serving = disk.map.contents().await.unwrap().serving;
    let served = upgraded.specs().next().unwrap();
    let expected = ServingRecord::new(&served, old.version);
    assert_eq!(serving[0].record.as_ref().unwrap(), &expected);
    stop(&disk, cluster).await;
    disk.objects.delete(&path).await.unwrap();
    let cluster = disk.open().await;
    assert_eq!(rows(&cluster).await, rows_before);
}

/// A rebuilt map serves the same rows.
#[tokio::test]
async fn a_lost_map_is_rebuilt_from_the_serving_records() {
    let (disk, rows_before) = changed().await;
    for path in objects(&disk, "map").await.keys() {
        disk.objects.delete(path).await.unwrap();
    }
    let findings = refused(&disk).await;
    assert!(matches!(
        findings[0].fault,
        Fault::NoMap(Trace::Served(_, _))
    ));
    let contents = StoreContents {
        map: disk.map.contents().await.unwrap(),
        ranges: disk.engines.stored().await.unwrap(),
    };
    let record = rebuild(&contents).unwrap();
    assert!(record.next_epoch > Epoch(3) && record.next_range == 5);
    disk.map.save(&record).await.unwrap();
    let contents = StoreContents {
        map: disk.map.contents().await.unwrap(),
        ..contents
    };
    assert_eq!(check(&contents).findings, []);
    let cluster = disk.open().await;
    assert_eq!(rows(&cluster).await, rows_before);
    assert_eq!(ids(&cluster), [4]);
}

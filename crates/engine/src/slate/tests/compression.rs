//! What is compressed.

use slatedb::config::CompressionCodec;

use super::*;
use crate::Batch;

/// The codecs of the files of level 0, and of the sorted runs.
fn codecs(one: &One) -> [Vec<Option<CompressionCodec>>; 2] {
    let database = one.set.core.open_range(conformance::FIRST).unwrap();
    let manifest = database.database().unwrap().db.manifest();
    let level0 = manifest.l0().iter();
    let runs = manifest.compacted().iter().flat_map(|run| run.sst_views());
    [level0.collect::<Vec<_>>(), runs.collect()].map(|views| {
        let codecs = views.iter().map(|view| view.sst.info.compression_codec);
        codecs.collect()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sorted_runs_are_compressed_and_level_0_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let one = open_in(directory.path()).await;
    for start in [0_u32, 1_000] {
        let mut batch = Batch::new();
        for number in start..start + 1_000 {
            let value = format!("text of row {number} ").repeat(50);
            batch.put(number.to_be_bytes().to_vec().into(), value.into());
        }
        commit(&*one, batch).await.unwrap();
        one.flush().await.unwrap();
    }
    assert_eq!(codecs(&one), [vec![None; 2], vec![]]);
    let before = one.file_layout().bytes;
    one.engine.detach().await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while one.file_layout().files > 1 {
        assert!(Instant::now() < deadline, "{:?}", one.file_layout());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(codecs(&one), [vec![], vec![Some(CompressionCodec::Lz4)]]);
    let after = one.file_layout().bytes;
    assert!(after < before / 4, "{before} bytes became {after}");
    assert_eq!(rows(&*one, KeyRange::all(), 10_000).await.len(), 2_000);
    one.close().await;
}

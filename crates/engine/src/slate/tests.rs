use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::conformance;
use crate::conformance::strategy::steps;

async fn open_in(directory: &std::path::Path) -> SlateEngine {
    let data = Arc::new(DataDir::open(directory).unwrap());
    SlateEngine::open(data, Settings::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    let parent = tempfile::tempdir().unwrap();
    let mut count = 0;
    conformance::run(async || {
        count += 1;
        Arc::new(open_in(&parent.path().join(count.to_string())).await) as Arc<dyn Engine>
    })
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn does_what_an_ordered_map_does(lives in proptest::collection::vec(steps(20), 1..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        runtime.block_on(async {
            let mut model = BTreeMap::new();
            for steps in lives {
                let engine = open_in(directory.path()).await;
                conformance::check_script(&engine, &mut model, &steps).await;
                engine.close().await;
            }
        });
    }
}

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::conformance::strategy::steps;
use crate::{EngineSet, conformance};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    conformance::run(async || Arc::new(MemoryEngineSet::new()) as Arc<dyn EngineSet>).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn behaves_like_an_ordered_map(steps in steps(40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let engine = MemoryEngine::new();
            conformance::check_script(&engine, &mut BTreeMap::new(), &steps).await;
        });
    }
}

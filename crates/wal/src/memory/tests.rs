use proptest::prelude::*;

use super::*;
use crate::conformance::{self, Subject, script};

fn subject() -> MemoryStorage {
    MemoryStorage::new(Options {
        segment_bytes: conformance::SEGMENT_BYTES,
        flush_after_segments: conformance::FLUSH_AFTER_SEGMENTS,
        live_segments_max: conformance::LIVE_SEGMENTS_MAX,
    })
}

impl Subject for MemoryStorage {
    fn storage(&self) -> &dyn WalStorage {
        self
    }

    fn fail_next_append(&self, fault: AppendFault) {
        Self::fail_next_append(self, fault);
    }

    fn set_full(&self, full: bool) {
        Self::set_full(self, full);
    }
}

#[tokio::test]
async fn conforms() {
    conformance::run(|| Box::new(subject())).await;
}

proptest! {
    #[test]
    fn keeps_acknowledged_records(steps in script::steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(script::play(&subject(), &steps));
    }
}

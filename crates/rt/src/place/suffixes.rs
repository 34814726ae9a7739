//! Reads of the end of an object, for stores that do not have them.

use std::sync::Arc;

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt as _, Result};

use crate::store_layer::Layer;

/// A layer over Azure Blob storage, which has no ranges that count from the end of an object: it asks for the size first.
/// Objects must not change.
#[derive(Debug)]
pub(super) struct Suffixes(pub(super) Arc<dyn ObjectStore>);

#[async_trait]
impl Layer for Suffixes {
    fn below(&self) -> &dyn ObjectStore {
        &*self.0
    }

    async fn get(&self, location: &Path, mut options: GetOptions) -> Result<GetResult> {
        if let Some(GetRange::Suffix(length)) = options.range {
            let size = self.0.head(location).await?.size;
            let start = size.saturating_sub(length);
            // An empty object has no range.
            options.range = (size > 0).then_some(GetRange::Bounded(start..size));
        }
        self.0.get_opts(location, options).await
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;
    use crate::store_layer::Layered;

    /// A store without reads of the end, as Azure's.
    #[derive(Debug)]
    struct NoSuffixes(InMemory);

    #[async_trait]
    impl Layer for NoSuffixes {
        fn below(&self) -> &dyn ObjectStore {
            &self.0
        }

        async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
            assert!(!matches!(options.range, Some(GetRange::Suffix(_))));
            self.0.get_opts(location, options).await
        }
    }

    #[tokio::test]
    async fn the_end_of_an_object_is_read() {
        let store = Layered(Suffixes(Arc::new(Layered(NoSuffixes(InMemory::new())))));
        let (object, empty) = (Path::from("object"), Path::from("empty"));
        store.put(&object, "0123456789".into()).await.unwrap();
        store.put(&empty, "".into()).await.unwrap();
        let end = async |location: &Path, length| {
            let options = GetOptions {
                range: Some(GetRange::Suffix(length)),
                ..GetOptions::default()
            };
            let found = store.get_opts(location, options).await.unwrap();
            found.bytes().await.unwrap()
        };
        assert_eq!(end(&object, 2).await, "89");
        assert_eq!(end(&object, 10).await, "0123456789");
        assert_eq!(end(&object, 11).await, "0123456789");
        assert_eq!(end(&empty, 2).await, "");
    }
}

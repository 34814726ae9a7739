use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use futures::StreamExt as _;
use partita_rt::ManualClock;
use partita_rt::store_layer::Layered;
use proptest::prelude::*;
use slatedb::object_store::memory::InMemory;
use slatedb::object_store::{ObjectStoreExt as _, PutMode, PutPayload};

use super::*;
use crate::slate::manifest_store::manifest_path;

const AGE: Duration = Duration::from_secs(60);

const FOLDER: &str = "range-7";

/// A store that counts its reads.
#[derive(Debug)]
struct Counted {
    store: Arc<InMemory>,
    reads: Arc<AtomicUsize>,
}

#[async_trait]
impl Layer for Counted {
    fn below(&self) -> &dyn ObjectStore {
        &*self.store
    }

    async fn get(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.store.get_opts(location, options).await
    }
}

/// A database that a process has open.
struct World {
    /// What all processes write to.
    shared: Arc<InMemory>,
    reads: Arc<AtomicUsize>,
    clock: ManualClock,
    polls: Arc<Polls>,
    /// The store of the process.
    own: Arc<dyn ObjectStore>,
    /// The store of the open database.
    polled: Layered<PolledStore>,
}

impl World {
    fn new() -> Self {
        let (shared, reads) = (Arc::new(InMemory::new()), Arc::default());
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
        let polls = Arc::new(Polls::new(Arc::new(clock.clone())));
        let counted = Layered(Counted {
            store: Arc::clone(&shared),
            reads: Arc::clone(&reads),
        });
        let own = OwnWrites::new(Arc::new(counted), Arc::clone(&polls));
        let own: Arc<dyn ObjectStore> = Arc::new(Layered(own));
        Self {
            shared,
            reads,
            clock,
            polled: Layered(PolledStore {
                store: Arc::clone(&own),
                polls: Arc::clone(&polls),
                manifest_age: AGE,
                compactions_age: AGE,
            }),
            polls,
            own,
        }
    }

    fn begin(&self) -> Polled {
        self.polls.begin(FOLDER.to_owned())
    }

    async fn write(&self, number: u64) -> Result<PutResult> {
        put_new(&*self.own, number).await
    }

    /// Looks for a manifest as the database does. Returns whether it was found, and whether the store was read.
    async fn look(&self, number: u64) -> (bool, bool) {
        let before = self.reads.load(Ordering::Relaxed);
        let found = match self.polled.get(&manifest_path(FOLDER, number)).await {
            Ok(_) => true,
            Err(Error::NotFound { .. }) => false,
            Err(error) => panic!("{error}"),
        };
        (found, self.reads.load(Ordering::Relaxed) > before)
    }
}

async fn put_new(store: &dyn ObjectStore, number: u64) -> Result<PutResult> {
    let (path, content) = (manifest_path(FOLDER, number), PutPayload::from("manifest"));
    store.put_opts(&path, content, PutMode::Create.into()).await
}

const FOUND: (bool, bool) = (true, true);
const MISSING: (bool, bool) = (false, true);
const MISSING_UNREAD: (bool, bool) = (false, false);

#[tokio::test]
async fn only_a_look_in_a_minute_reads_the_store() {
    let world = World::new();
    let _polled = world.begin();
    world.write(1).await.unwrap();
    assert_eq!(world.look(1).await, FOUND);
    assert_eq!(world.look(2).await, MISSING_UNREAD);
    world.clock.advance(AGE);
    assert_eq!(world.look(2).await, MISSING);
    assert_eq!(world.look(2).await, MISSING_UNREAD);
    // The states of compactions are other objects.
    let compactions = Path::from("range-7/compactions/00000000000000000002.compactions");
    world.polled.get(&compactions).await.unwrap_err();
    assert_eq!(world.reads.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn nothing_is_known_before_the_first_write_and_after_the_close() {
    let world = World::new();
    world.write(1).await.unwrap();
    assert_eq!(world.look(2).await, MISSING);
    let polled = world.begin();
    assert_eq!(world.look(2).await, MISSING);
    world.write(2).await.unwrap();
    assert_eq!(world.look(3).await, MISSING_UNREAD);
    let again = world.begin();
    assert_eq!(world.look(3).await, MISSING);
    world.write(3).await.unwrap();
    drop(polled);
    assert_eq!(world.look(4).await, MISSING_UNREAD, "of the later opening");
    drop(again);
    assert_eq!(world.look(4).await, MISSING);
}

/// Another process has locked this one out, or has removed a pin.
#[tokio::test]
async fn a_manifest_of_another_process_is_found_after_a_minute() {
    let world = World::new();
    let _polled = world.begin();
    world.write(1).await.unwrap();
    put_new(&*world.shared, 2).await.unwrap();
    assert_eq!(world.look(2).await, MISSING_UNREAD);
    world.clock.advance(AGE);
    assert_eq!(world.look(2).await, FOUND);
    assert_eq!(world.look(3).await, MISSING);
    assert_eq!(world.look(3).await, MISSING, "until the next own write");
    world.write(3).await.unwrap();
    assert_eq!(world.look(4).await, MISSING_UNREAD);
}

/// A compactor of an earlier owner, before the own one has locked it out.
#[tokio::test]
async fn a_manifest_before_the_newest_own_one_is_read() {
    let world = World::new();
    let _polled = world.begin();
    world.write(1).await.unwrap();
    put_new(&*world.shared, 2).await.unwrap();
    assert_eq!(world.look(2).await, MISSING_UNREAD);
    world.write(3).await.unwrap();
    assert_eq!(world.look(2).await, FOUND);
    assert_eq!(world.look(3).await, FOUND);
    assert_eq!(world.look(4).await, MISSING_UNREAD);
}

#[tokio::test]
async fn a_refused_write_makes_looks_read_the_store() {
    let world = World::new();
    let _polled = world.begin();
    world.write(1).await.unwrap();
    put_new(&*world.shared, 2).await.unwrap();
    world.write(2).await.unwrap_err();
    assert_eq!(world.look(2).await, FOUND);
    assert_eq!(world.look(3).await, MISSING);
    world.write(3).await.unwrap();
    assert_eq!(world.look(4).await, MISSING_UNREAD);
}

/// Else the reader of a list would ask for a listed manifest in vain.
#[tokio::test]
async fn a_look_after_a_list_reads_the_store() {
    let world = World::new();
    let _polled = world.begin();
    world.write(1).await.unwrap();
    put_new(&*world.shared, 2).await.unwrap();
    let folder = Path::from("range-7/manifest");
    assert_eq!(world.polled.list(Some(&folder)).count().await, 2);
    assert_eq!(world.look(2).await, FOUND);
    world.write(3).await.unwrap();
    world.polled.list(Some(&folder)).count().await;
    assert_eq!(world.look(4).await, MISSING);
    assert_eq!(world.look(4).await, MISSING_UNREAD);
}

#[tokio::test]
async fn no_boundary_is_read() {
    let world = World::new();
    let boundary = Path::from("range-7/gc/manifest.boundary");
    let read = world.own.get(&boundary).await;
    assert!(matches!(read, Err(Error::NotFound { .. })), "{read:?}");
    assert_eq!(world.reads.load(Ordering::Relaxed), 0);
}

/// What becomes of a write.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Written,
    /// It fails after it was executed, or is executed later, or never.
    Failed {
        at_once: bool,
        later: bool,
    },
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A write of the number after the greatest in the store.
    Begin,
    /// The oldest write under way ends.
    End(Fate),
    /// A failed write is executed.
    Late,
    Look(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let fate = prop_oneof![
        3 => Just(Fate::Written),
        1 => (any::<bool>(), any::<bool>())
            .prop_map(|(at_once, later)| Fate::Failed { at_once, later }),
    ];
    let step = prop_oneof![
        Just(Step::Begin),
        fate.prop_map(Step::End),
        Just(Step::Late),
        (1_u64..4).prop_map(Step::Look),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    /// Whatever writes of this process overlap, fail and are executed late, none of its objects is said to be missing. Put-if-absent
    /// lets one of two writes of a number win, and a late write of a number that exists does nothing.
    #[test]
    fn no_object_of_this_process_is_called_missing(steps in steps()) {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
        let polls = Arc::new(Polls::new(Arc::new(clock)));
        let _polled = polls.begin(FOLDER.to_owned());
        let objects: Vec<Sealed> = (0..200)
            .map(|number| Sealed { folder: FOLDER.to_owned(), kind: Kind::Manifest, number })
            .collect();
        let mut stored = std::collections::BTreeSet::from([0_u64]);
        let mut writing = std::collections::VecDeque::new();
        let mut late = Vec::new();
        for step in steps {
            let newest = *stored.last().unwrap();
            match step {
                Step::Begin => {
                    let object = &objects[usize::try_from(newest).unwrap() + 1];
                    writing.push_back((object.number, polls.begin_write(object)));
                }
                Step::End(fate) => {
                    let Some((number, write)) = writing.pop_front() else { continue };
                    match fate {
                        // Refused, because it exists.
                        Fate::Written if stored.contains(&number) => drop(write),
                        Fate::Written => {
                            stored.insert(number);
                            write.written();
                        }
                        Fate::Failed { at_once, later } => {
                            if at_once {
                                stored.insert(number);
                            } else if later {
                                late.push(number);
                            }
                            drop(write);
                        }
                    }
                }
                Step::Late => stored.extend(late.pop()),
                Step::Look(ahead) => {
                    let object = &objects[usize::try_from(newest + ahead - 1).unwrap()];
                    let is_there = stored.contains(&object.number);
                    prop_assert!(!(polls.is_missing(object, AGE) && is_there));
                    polls.note_look(object, is_there);
                }
            }
        }
    }
}

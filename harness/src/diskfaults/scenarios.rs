//! The faults that the test injects.

use partita_load::Random;

use crate::preload::{EDQUOT, EIO, EMFILE, ENOSPC, Extent, Fault};

/// One kind of disk failure: which calls fail, for which files and with which error.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    operations: &'static str,
    errno: i32,
    extent: Extent,
    part: &'static str,
}

const fn scenario(
    name: &'static str,
    operations: &'static str,
    errno: i32,
    part: &'static str,
) -> Scenario {
    Scenario {
        name,
        operations,
        errno,
        extent: Extent::Whole,
        part,
    }
}

/// Writes that end after half of their bytes.
const fn half(name: &'static str, errno: i32, part: &'static str) -> Scenario {
    Scenario {
        extent: Extent::Half,
        ..scenario(name, "write", errno, part)
    }
}

/// The calls that need space.
const GROWING: &str = "write,create,truncate,link,rename";

/// All calls.
const EVERYTHING: &str = "open,create,read,write,truncate,sync,rename,link,unlink";

/// All scenarios. `data/log` is the WAL, `data/store` the object store with the databases and the map.
pub(super) const ALL: [Scenario; 22] = [
    scenario("sync of the WAL: EIO", "sync", EIO, "data/log"),
    scenario("sync of the store: EIO", "sync", EIO, "data/store"),
    scenario("every sync: EIO", "sync", EIO, "data"),
    scenario("every sync: ENOSPC", "sync", ENOSPC, "data"),
    scenario("write of the WAL: EIO", "write", EIO, "data/log"),
    scenario("write of the WAL: ENOSPC", "write", ENOSPC, "data/log"),
    scenario("write of the WAL: EDQUOT", "write", EDQUOT, "data/log"),
    half("half a write of the WAL: EIO", EIO, "data/log"),
    half("half a write of the WAL: ENOSPC", ENOSPC, "data/log"),
    scenario("write of the store: EIO", "write", EIO, "data/store"),
    scenario("write of the store: ENOSPC", "write", ENOSPC, "data/store"),
    scenario("write of the store: EDQUOT", "write", EDQUOT, "data/store"),
    half("half a write of the store: ENOSPC", ENOSPC, "data/store"),
    scenario("full disk", GROWING, ENOSPC, "data"),
    scenario("full quota", GROWING, EDQUOT, "data"),
    scenario("new file: ENOSPC", "create", ENOSPC, "data"),
    scenario("rename and link: EIO", "rename,link", EIO, "data"),
    scenario("removal: EIO", "unlink", EIO, "data"),
    scenario("read of the store: EIO", "read", EIO, "data/store"),
    scenario("open: EIO", "open", EIO, "data/store"),
    scenario("open: EMFILE", "open,create", EMFILE, "data/store"),
    scenario("everything: EIO", EVERYTHING, EIO, "data"),
];

impl Scenario {
    /// The fault of this scenario; at random, all of its calls fail or a share of them.
    pub(super) fn fault(&self, random: &mut Random) -> Fault {
        Fault {
            operations: self.operations,
            errno: self.errno,
            permille: [1_000, 1_000, 300, 30][random.below(4) as usize],
            extent: self.extent,
            part: self.part,
        }
    }
}

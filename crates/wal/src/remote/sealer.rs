//! Seals the log of a process that may be dead or alive: after that, its writer acknowledges nothing more.
//!
//! A log is *sealed* if there is a seal at or above the floor, and every number from the floor up to the seal is a
//! group. The floor is in the header of the highest group: the writer may have deleted everything below. So seals below
//! the floor mean nothing; they are of sealers that were slower than the writer. The floor never passes a number that
//! is not acknowledged, and a number with a seal never is.
//!
//! ```text
//!  number      3     4     5     6     7     8
//!            seal  group group group  seal  group
//!              ▲     ▲                  ▲     └ a late PUT, never acknowledged; its floor is 4
//!              │     └ the floor        └ the end of the log
//!              └ means nothing
//! ```
//!
//! - A seal is put at the lowest number from the floor on that has no object, by put-if-absent.
//! - Then the sealer lists again, until the list shows the log sealed: the writer may have put further groups and
//!   deleted those that the first list showed.
//! - A missing number is a hole that a PUT in flight may still fill, unless a header proves that a group existed there.
//!   Such a proof must be seen by two lists in a row, because a list of several pages is not of one instant. Then a
//!   group was lost, which is an error.

use super::fault;
use super::life::Life;
use super::listing::{self, Listing};
use super::object::{self, GROUP_BYTES_MIN, Header, Kind, SEAL_BYTES};
use super::planted::{Rule, keeps};
use super::requests::{Created, Requests};
use crate::OpenWalError;

/// The maximum number of lists of one sealing. A writer that is alive can win a race for a number, but not each time.
const LISTS_MAX: usize = 1_000;

/// A log that takes no more groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedLog {
    /// The log.
    pub life: Life,
    /// The lowest number that may be needed. Earlier groups were released by the writer.
    pub floor: u64,
    /// The number of the seal, after the last group.
    pub end: u64,
    /// Whether the log was collected: all its records are in the files of the databases, and its groups are deleted.
    pub is_collected: bool,
    /// The lengths of the groups from the floor to the end.
    pub(super) lengths: Vec<u64>,
}

impl SealedLog {
    /// A log that was collected.
    fn collected(life: Life) -> Self {
        Self {
            life,
            floor: 0,
            end: 0,
            is_collected: true,
            lengths: Vec::new(),
        }
    }

    /// Bytes of its groups.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lengths.iter().sum()
    }
}

/// The newest state that a list and the header of the highest group show.
struct Shown {
    floor: u64,
    /// Every number below was created.
    created_below: u64,
}

/// Seals the log of `life`, and puts `note` into the seal.
pub(super) async fn seal(
    requests: &Requests,
    life: Life,
    note: &str,
) -> Result<SealedLog, OpenWalError> {
    let listing = list(requests, life).await?;
    seal_listed(requests, life, note, listing).await
}

/// As [`seal`], for a caller that has listed the log.
pub(super) async fn seal_listed(
    requests: &Requests,
    life: Life,
    note: &str,
    listing: Listing,
) -> Result<SealedLog, OpenWalError> {
    let (mut lost, mut first_listing): (Option<u64>, _) = (None, Some(listing));
    for _ in 0..LISTS_MAX {
        let listing = match first_listing.take() {
            Some(listing) => listing,
            None => list(requests, life).await?,
        };
        if listing.is_collected {
            return Ok(SealedLog::collected(life));
        }
        let Some(shown) = highest_group(requests, life, &listing).await? else {
            continue;
        };
        let floor = search_start(&shown);
        let first = end_of_groups(&listing, floor);
        let sealed = SealedLog {
            life,
            floor,
            end: first,
            is_collected: false,
            lengths: listing.lengths(floor, first),
        };
        if !keeps(Rule::SealedBeforeReplay) {
            return Ok(sealed);
        }
        if listing.is_seal(first) == Some(true) {
            if read_seal(requests, life, first).await?.is_some() {
                return Ok(sealed);
            }
            continue;
        }
        if was_created(requests, life, &listing, &shown, first).await? {
            if lost == Some(first) {
                return Err(fault::missing(
                    &life.path(first),
                    "it held a group of records that were not released",
                ));
            }
            lost = Some(first);
            continue;
        }
        lost = None;
        put_seal(requests, &sealed, note).await?;
        if !keeps(Rule::ListedAfterSeal) {
            return Ok(sealed);
        }
    }
    Err(OpenWalError::Io(std::io::Error::other(format!(
        "failed to seal the log {life}: its writer was faster {LISTS_MAX} times"
    ))))
}

/// What the seal that ends the log of `life` says; `None` if the log is not sealed. For the process that began the log:
/// a log that was deleted counts as sealed.
pub(super) async fn note_of_seal(
    requests: &Requests,
    life: Life,
) -> Result<Option<String>, OpenWalError> {
    let mut listing = list(requests, life).await?;
    while listing.has_objects() {
        let number = if listing.is_collected {
            listing.seals().next_back()
        } else {
            match highest_group(requests, life, &listing).await? {
                Some(shown) => {
                    let end = listing.first_not_group(shown.floor);
                    Some(end).filter(|end| listing.is_seal(*end) == Some(true))
                }
                None => {
                    listing = list(requests, life).await?;
                    continue;
                }
            }
        };
        let Some(number) = number else {
            return Ok(None);
        };
        if let Some((_, note)) = read_seal(requests, life, number).await? {
            return Ok(Some(note));
        }
        listing = list(requests, life).await?;
    }
    Ok(Some("a server that has deleted the log since".to_owned()))
}

/// Where the search for the seal starts.
fn search_start(shown: &Shown) -> u64 {
    if keeps(Rule::SealAboveFloor) {
        shown.floor
    } else {
        0
    }
}

/// The first number at or above the floor that is not a group.
fn end_of_groups(listing: &Listing, floor: u64) -> u64 {
    let lowest_seal = listing.seals().next();
    match lowest_seal {
        Some(seal) if !keeps(Rule::LowSealsIgnored) => seal,
        _ => listing.first_not_group(floor),
    }
}

/// Lists one log.
pub(super) async fn list(requests: &Requests, life: Life) -> Result<Listing, OpenWalError> {
    let objects = requests.list(&life.folder()).await;
    let objects = objects.map_err(fault::store_failed)?;
    let mut logs = listing::by_life(&objects);
    Ok(logs.remove(&life).unwrap_or_default())
}

/// What the highest group of the list says; `None` if the writer deleted it meanwhile, after it put a higher one.
async fn highest_group(
    requests: &Requests,
    life: Life,
    listing: &Listing,
) -> Result<Option<Shown>, OpenWalError> {
    let Some(number) = listing.groups().next_back() else {
        return Ok(Some(Shown {
            floor: 0,
            created_below: 0,
        }));
    };
    let path = life.path(number);
    if listing.bytes(number).is_some_and(|it| it < GROUP_BYTES_MIN) {
        return Err(fault::damaged(&path, "the object is too short for a group"));
    }
    let Some(header) = requests
        .get_header(&path)
        .await
        .map_err(fault::store_failed)?
    else {
        return Ok(None);
    };
    let unreadable = |fault| fault::unreadable(&path, fault);
    let header = Header::decode(&header).map_err(unreadable)?;
    header.check_name(life, number).map_err(unreadable)?;
    if header.kind != Kind::Group {
        return Err(fault::damaged(&path, "the object is not a group"));
    }
    Ok(Some(Shown {
        floor: header.floor,
        created_below: header.created_below,
    }))
}

/// Whether a header proves that a group with `number` existed: of the highest group, or of a seal above it, whose
/// sealer had seen all groups from its floor on.
async fn was_created(
    requests: &Requests,
    life: Life,
    listing: &Listing,
    shown: &Shown,
    number: u64,
) -> Result<bool, OpenWalError> {
    if number < shown.created_below {
        return Ok(true);
    }
    for seal in listing.seals().filter(|seal| *seal > number) {
        if let Some((header, _)) = read_seal(requests, life, seal).await?
            && header.floor <= number
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads a seal and its note; `None` if it is missing.
async fn read_seal(
    requests: &Requests,
    life: Life,
    number: u64,
) -> Result<Option<(Header, String)>, OpenWalError> {
    let path = life.path(number);
    let found = requests.get(&path, SEAL_BYTES).await;
    let Some(found) = found.map_err(fault::store_failed)? else {
        return Ok(None);
    };
    let unreadable = |fault| fault::unreadable(&path, fault);
    let (header, note) = object::decode_seal(&found).map_err(unreadable)?;
    header.check_name(life, number).map_err(unreadable)?;
    tracing::debug!(%life, number, note, "found a seal");
    Ok(Some((header, note)))
}

/// Puts a seal at the end of `sealed`, unless an object is there.
async fn put_seal(requests: &Requests, sealed: &SealedLog, note: &str) -> Result<(), OpenWalError> {
    let header = Header {
        kind: Kind::Seal,
        life: sealed.life,
        number: sealed.end,
        nonce: partita_rt::random::u64(),
        floor: sealed.floor,
        created_below: sealed.end,
        parts: 0,
    };
    let path = sealed.life.path(sealed.end);
    let object = object::encode_seal(&header, note);
    let created = requests.create(&path, object.into(), header.nonce).await;
    match created.map_err(|error| error.into_open_error(&path))? {
        Created::Own => {
            tracing::info!(life = %sealed.life, number = sealed.end, note, "sealed a log")
        }
        Created::Other(_) => {
            tracing::debug!(life = %sealed.life, number = sealed.end, "a group was faster")
        }
    }
    Ok(())
}

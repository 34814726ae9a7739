//! The messages of etcd's v3 API that this crate sends and receives. Field numbers are those of etcd's `rpc.proto` and
//! `kv.proto`; fields that are not needed are skipped.

use std::time::Duration;

use bytes::Bytes;

use super::protobuf::{Invalid, Value, Writer, fields};
use crate::registry::{
    Change, Compare, Entry, Granted, LeaseId, Listing, Operation, Outcome, Revision, Transaction,
};

/// Keys of the registry begin with a prefix in etcd, so that clusters can share an etcd.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) prefix: String,
}

impl Keys {
    fn full(&self, key: &str) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_bytes()].concat()
    }

    fn short(&self, key: &[u8]) -> Result<String, Invalid> {
        let short = key.strip_prefix(self.prefix.as_bytes()).ok_or(Invalid)?;
        String::from_utf8(short.to_vec()).map_err(|_| Invalid)
    }

    fn range(&self, key: &str) -> Writer {
        Writer::default().bytes(1, &self.full(key))
    }

    /// The fields `key` and `range_end` of all keys with this prefix.
    fn prefix(&self, prefix: &str) -> Writer {
        let start = self.full(prefix);
        let mut end = start.clone();
        // Text never ends with the byte 0xff.
        match end.last_mut() {
            Some(last) => *last += 1,
            // All keys.
            None => return Writer::default().bytes(1, &[0]).bytes(2, &[0]),
        }
        Writer::default().bytes(1, &start).bytes(2, &end)
    }

    pub(super) fn get(&self, key: &str) -> Vec<u8> {
        self.range(key).finish()
    }

    pub(super) fn list(&self, prefix: &str) -> Vec<u8> {
        self.prefix(prefix).finish()
    }

    pub(super) fn watch(&self, prefix: &str, from: Revision) -> Vec<u8> {
        let create = self.prefix(prefix).number(3, from.0);
        Writer::default().message(1, create).finish()
    }

    pub(super) fn transaction(&self, transaction: &Transaction) -> Vec<u8> {
        let mut writer = Writer::default();
        for compare in &transaction.compares {
            writer = writer.message(1, self.compare(compare));
        }
        for change in &transaction.changes {
            let request = match change {
                Operation::Put(key, value, lease) => {
                    let put = self.range(key).bytes(2, value);
                    Writer::default().message(2, put.number(3, lease.map_or(0, |lease| lease.0)))
                }
                Operation::Delete(key) => Writer::default().message(3, self.range(key)),
            };
            writer = writer.message(2, request);
        }
        for key in &transaction.otherwise {
            writer = writer.message(3, Writer::default().message(1, self.range(key)));
        }
        writer.finish()
    }

    fn compare(&self, compare: &Compare) -> Writer {
        const EQUAL: u64 = 0;
        const NOT_EQUAL: u64 = 3;
        const CREATE: u64 = 1;
        const MOD: u64 = 2;
        const LEASE: u64 = 4;
        // The result, the target, the key, the field of the value and the value.
        let (result, target, key, field, value) = match compare {
            Compare::CreatedAt(key, revision) => (EQUAL, CREATE, key, 5, revision.0),
            Compare::ModifiedAt(key, revision) => (EQUAL, MOD, key, 6, revision.0),
            Compare::HasLease(key, lease) => (EQUAL, LEASE, key, 8, lease.0),
            Compare::LacksLease(key, lease) => (NOT_EQUAL, LEASE, key, 8, lease.0),
        };
        Writer::default()
            .number(1, result)
            .number(2, target)
            .bytes(3, &self.full(key))
            .explicit_number(field, value)
    }

    fn entry(&self, message: Bytes) -> Result<Entry, Invalid> {
        let mut key = Bytes::new();
        let mut entry = Entry {
            key: String::new(),
            value: Bytes::new(),
            create_revision: Revision(0),
            mod_revision: Revision(0),
            lease: None,
        };
        fields(message, |field, value| {
            match field {
                1 => key = value.bytes()?,
                2 => entry.create_revision = Revision(value.number()?),
                3 => entry.mod_revision = Revision(value.number()?),
                5 => entry.value = value.bytes()?,
                6 => entry.lease = lease(value)?,
                _ => {}
            }
            Ok(())
        })?;
        entry.key = self.short(&key)?;
        Ok(entry)
    }

    pub(super) fn listing(&self, message: Bytes) -> Result<Listing, Invalid> {
        let mut listing = Listing {
            revision: Revision(0),
            entries: Vec::new(),
        };
        fields(message, |field, value| {
            match field {
                1 => listing.revision = revision(value)?,
                2 => listing.entries.push(self.entry(value.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(listing)
    }

    pub(super) fn outcome(&self, message: Bytes) -> Result<Outcome, Invalid> {
        let (mut committed, mut made) = (false, Revision(0));
        let mut read = Vec::new();
        fields(message, |field, value| {
            match field {
                1 => made = revision(value)?,
                2 => committed = value.number()? != 0,
                3 => fields(value.bytes()?, |field, value| {
                    // The answer to a read.
                    if field == 1 {
                        let listing = self.listing(value.bytes()?)?;
                        read.push(listing.entries.into_iter().next());
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(if committed {
            Outcome::Committed(made)
        } else {
            Outcome::Refused(read)
        })
    }

    pub(super) fn watched(&self, message: Bytes) -> Result<Watched, Invalid> {
        let mut watched = Watched::default();
        fields(message, |field, value| {
            match field {
                1 => watched.revision = revision(value)?,
                4 => watched.canceled = value.number()? != 0,
                5 => watched.compacted = value.number()? != 0,
                11 => watched.changes.push(self.change(value.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(watched)
    }

    fn change(&self, message: Bytes) -> Result<Change, Invalid> {
        let (mut deleted, mut entry) = (false, None);
        fields(message, |field, value| {
            match field {
                1 => deleted = value.number()? != 0,
                2 => entry = Some(self.entry(value.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        let entry = entry.ok_or(Invalid)?;
        Ok(if deleted {
            Change::Deleted(entry.key)
        } else {
            Change::Put(entry)
        })
    }
}

/// A message of a watch.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) revision: Revision,
    pub(super) canceled: bool,
    pub(super) compacted: bool,
    pub(super) changes: Vec<Change>,
}

fn lease(value: Value) -> Result<Option<LeaseId>, Invalid> {
    Ok(Some(value.number()?).filter(|id| *id != 0).map(LeaseId))
}

/// The revision in the header of an answer.
fn revision(header: Value) -> Result<Revision, Invalid> {
    let mut revision = Revision(0);
    fields(header.bytes()?, |field, value| {
        if field == 3 {
            revision = Revision(value.number()?);
        }
        Ok(())
    })?;
    Ok(revision)
}

pub(super) fn grant(ttl: Duration) -> Vec<u8> {
    // Whole seconds, rounded up.
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    Writer::default().number(1, seconds).finish()
}

/// The message that names a lease, to keep it alive or to revoke it.
pub(super) fn of_lease(lease: LeaseId) -> Vec<u8> {
    Writer::default().number(1, lease.0).finish()
}

/// The answer to a grant or a keepalive. A TTL of 0 says that the lease has ended.
pub(super) fn granted(message: Bytes) -> Result<Granted, Invalid> {
    let (mut id, mut seconds) = (None, 0);
    fields(message, |field, value| {
        match field {
            2 => id = lease(value)?,
            3 => seconds = value.number()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Granted {
        lease: id.ok_or(Invalid)?,
        // Negative numbers are large ones here.
        ttl: Duration::from_secs(u64::try_from(seconds.cast_signed()).unwrap_or(0)),
    })
}

pub(super) fn credentials(user: &str, password: &str) -> Vec<u8> {
    Writer::default()
        .bytes(1, user.as_bytes())
        .bytes(2, password.as_bytes())
        .finish()
}

/// The text in field 2: the token of an authentication, or the version of a status.
pub(super) fn text(message: Bytes) -> Result<String, Invalid> {
    let mut text = String::new();
    fields(message, |field, value| {
        if field == 2 {
            text = value.text()?;
        }
        Ok(())
    })?;
    Ok(text)
}

/// The number of messages in field 2: the members of a list of members.
pub(super) fn members(message: Bytes) -> Result<usize, Invalid> {
    let mut members = 0;
    fields(message, |field, _| {
        members += usize::from(field == 2);
        Ok(())
    })?;
    Ok(members)
}

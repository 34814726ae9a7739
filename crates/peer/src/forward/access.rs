//! The rights of a verified caller.

use super::limits::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
use super::reader::{DecodeError, Reader};
use super::writer::Writer;

/// The rights of a verified caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access<'a> {
    /// What the credentials grant.
    pub grant: Grant<'a>,
    /// When they expire, in milliseconds since 1970. A request can be held until after that.
    pub expires_ms: Option<u64>,
}

/// What credentials grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant<'a> {
    /// Everything: a key of the account.
    Owner,
    /// An account SAS. Letters are bits: bit 0 is `a`.
    AccountSas {
        /// The letters of `srt`.
        resource_types: u32,
        /// The letters of `sp`.
        permissions: u32,
    },
    /// A SAS of a table or queue.
    ContainerSas {
        /// The name of the table or queue.
        container: &'a str,
        /// The letters of `sp`.
        permissions: u32,
        /// The first key; `None` for the whole container.
        from: Option<KeyBound<'a>>,
        /// The last key; `None` for the whole container.
        to: Option<KeyBound<'a>>,
    },
    /// A bearer token. Roles are bits, which each service numbers.
    Roles(u32),
    /// Not known to the front: terms of the SAS are in a stored access policy. The owner verifies the SAS in the target
    /// and answers with the rights.
    Unresolved,
    /// None, and none are needed: a preflight.
    Anonymous,
}

/// A bound between the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyBound<'a> {
    /// Before every row of the partition.
    BeforePartition(&'a str),
    /// After every row of the partition.
    AfterPartition(&'a str),
    /// Before the row.
    Before(&'a str, &'a str),
    /// After the row.
    After(&'a str, &'a str),
}

impl<'a> Access<'a> {
    pub(super) fn write(&self, out: &mut Writer) {
        let Self { grant, expires_ms } = self;
        grant.write(out);
        out.optional_u64(*expires_ms);
    }

    pub(super) fn read(input: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            grant: Grant::read(input)?,
            expires_ms: input.optional_u64("expiry")?,
        })
    }
}

impl<'a> Grant<'a> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Owner => out.byte(0),
            Self::AccountSas {
                resource_types,
                permissions,
            } => {
                out.byte(1);
                out.u32(*resource_types);
                out.u32(*permissions);
            }
            Self::ContainerSas {
                container,
                permissions,
                from,
                to,
            } => {
                out.byte(2);
                out.text(container);
                out.u32(*permissions);
                KeyBound::write(from.as_ref(), out);
                KeyBound::write(to.as_ref(), out);
            }
            Self::Roles(roles) => {
                out.byte(3);
                out.u32(*roles);
            }
            Self::Unresolved => out.byte(4),
            Self::Anonymous => out.byte(5),
        }
    }

    fn read(input: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match input.byte("kind of rights")? {
            0 => Self::Owner,
            1 => Self::AccountSas {
                resource_types: input.u32("resource types")?,
                permissions: input.u32("permissions")?,
            },
            2 => Self::ContainerSas {
                container: input.text("container", NAME_BYTES_MAX)?,
                permissions: input.u32("permissions")?,
                from: KeyBound::read(input)?,
                to: KeyBound::read(input)?,
            },
            3 => Self::Roles(input.u32("roles")?),
            4 => Self::Unresolved,
            5 => Self::Anonymous,
            other => return Err(DecodeError::Unknown("kind of rights", other)),
        })
    }
}

impl<'a> KeyBound<'a> {
    fn write(bound: Option<&Self>, out: &mut Writer) {
        match bound {
            None => out.byte(0),
            Some(Self::BeforePartition(partition)) => {
                out.byte(1);
                out.text(partition);
            }
            Some(Self::AfterPartition(partition)) => {
                out.byte(2);
                out.text(partition);
            }
            Some(Self::Before(partition, row)) => {
                out.byte(3);
                out.text(partition);
                out.text(row);
            }
            Some(Self::After(partition, row)) => {
                out.byte(4);
                out.text(partition);
                out.text(row);
            }
        }
    }

    fn read(input: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        let kind = input.byte("kind of bound")?;
        if kind == 0 {
            return Ok(None);
        }
        let partition = input.text("partition of a bound", TEXT_BYTES_MAX)?;
        Ok(Some(match kind {
            1 => Self::BeforePartition(partition),
            2 => Self::AfterPartition(partition),
            3 => Self::Before(partition, input.text("row of a bound", TEXT_BYTES_MAX)?),
            4 => Self::After(partition, input.text("row of a bound", TEXT_BYTES_MAX)?),
            other => return Err(DecodeError::Unknown("kind of bound", other)),
        }))
    }
}

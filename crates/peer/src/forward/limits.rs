//! The limits of the parts of a message. `server` accepts less from its clients, so only a faulty peer exceeds them.

/// Account, method, names of containers and headers, scheme and reason, in bytes.
pub(crate) const NAME_BYTES_MAX: usize = 1 << 10;

/// A base URL, a key of a bound, in bytes. A key has up to 1,024 UTF-16 units.
pub(crate) const TEXT_BYTES_MAX: usize = 4 << 10;

/// A request target, a header's value and the row of a table or queue, in bytes.
pub(crate) const LONG_BYTES_MAX: usize = 128 << 10;

/// The number of headers.
pub(crate) const HEADERS_MAX: usize = 256;

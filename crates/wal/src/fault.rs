//! Faults that tests inject into appends.

/// What happens to the group whose append fails. The caller sees the same error in each case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendFault {
    /// The whole group is durable, although the append reports an error.
    Durable,
    /// The group is lost, as when the kernel drops dirty pages.
    Lost,
    /// Only the first part of the group is durable.
    Torn,
}

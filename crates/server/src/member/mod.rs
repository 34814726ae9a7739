//! A server as a member of a cluster: it takes over the ranges that it is assigned, forwards requests for others, and
//! manages the ranges of all servers while it is elected.

mod client_urls;
mod clock_check;
mod hosting;
pub(crate) mod join_error;
pub(crate) mod life;
pub(crate) mod parts;
mod process;
mod shared_settings;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use start::start;

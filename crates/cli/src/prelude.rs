//! The names that most commands use.

pub(crate) use crate::args::{ConfirmArgs, SelectArgs};
pub(crate) use crate::command::{
    AccountCommand, AdminPortCommand, Command, CommandError, CommandResult, Connection, OnAccount,
    OnAdminPort, OnQueues, Outcome, Progress, QueueAccountCommand, QueueConnection, block_on,
    commands,
};
pub(crate) use crate::error::Because as _;
pub(crate) use crate::output::{self, Field, Output, OutputArgs, OutputRow, Shape, to_json};
pub(crate) use crate::progress::message;
pub(crate) use crate::units::{bytes, count, many};

//! `partita admin split|merge|move|flush|checkpoint|compact|collect|freeze RANGE`: actions on a range, while it serves;
//! `partita admin drain|undrain|expel SERVER`: actions on a server of a cluster; `partita admin balance on|off`;
//! `partita admin finalize`.

/// Implements [`RangeAction`] for a command: its name in the admin API, the type of its answer, and the fields to copy
/// into the parameters of the request.
macro_rules! range_action {
    ($command:ty, $name:literal, $answer:ty $(; $($parameter:ident),+)?) => {
        impl super::RangeAction for $command {
            const NAME: &str = $name;
            type Answer = $answer;
            $(fn set(self, params: &mut partita_wire::admin::RangeActionParams) {
                $(params.$parameter = self.$parameter;)+
            })?
        }
    };
}

mod balance;
mod checkpoint;
mod finalize;
mod freeze;
mod maintenance;
mod merge;
mod move_range;
mod server;
mod split;

use crate::args::AdminPortArgs;
use crate::command::{Command, CommandError, CommandResult, Outcome, With, block_on, commands};
use crate::output::{Field, Output, OutputArgs, Shape};
use partita_client::ValueRef;
use partita_tools::admin::Page;
use partita_wire::admin::{ActionDone, RangeActionParams};
use serde::de::DeserializeOwned;

commands! {
    pub(crate) enum AdminCommand {
        Split(OnRange<split::SplitCommand>), Merge(OnRange<merge::MergeCommand>), Flush(OnRange<maintenance::FlushCommand>),
        Checkpoint(OnRange<checkpoint::CheckpointCommand>), Compact(OnRange<maintenance::CompactCommand>),
        Collect(OnRange<maintenance::CollectCommand>), Freeze(OnRange<freeze::FreezeCommand>),
        Move(OnRange<move_range::MoveCommand>), Drain(server::OnServer<server::DrainCommand>),
        Undrain(server::OnServer<server::UndrainCommand>), Expel(server::OnServer<server::ExpelCommand>),
        Balance(balance::BalanceCommand), Finalize(finalize::FinalizeCommand),
    }
}

/// An action on a range.
pub(crate) trait RangeAction: clap::Args {
    /// The name of the action in the admin API.
    const NAME: &str;
    /// The document that the server returns.
    type Answer: Answer;

    /// Copies the values of the flags into the parameters of the request.
    fn set(self, _params: &mut RangeActionParams) {}
}

/// The answer to an action.
pub(crate) trait Answer: DeserializeOwned {
    /// Writes the answer in a format other than JSON.
    fn write(&self, output: &mut Output) -> Result<(), CommandError>;
}

/// The answer to actions without a result.
impl Answer for ActionDone {
    fn write(&self, output: &mut Output) -> Result<(), CommandError> {
        let done = ValueRef::Boolean(self.done);
        output.record(&[("done", Field::Plain(done))])
    }
}

/// A range, and the server that serves it.
#[derive(clap::Args)]
pub(crate) struct RangeArgs {
    /// Number of the range, as `partita ranges` shows it
    range: u64,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    admin: AdminPortArgs,
}

/// An action with the flags that all actions share.
type OnRange<A> = With<A, RangeArgs>;

impl<A: RangeAction> Command for OnRange<A> {
    fn run(self) -> CommandResult {
        let RangeArgs {
            range,
            output,
            admin,
        } = self.flags;
        let (port, progress) = admin.open()?;
        let mut params = RangeActionParams::default();
        self.command.set(&mut params);
        block_on(async move {
            let Page { document, text } = port
                .range_action::<A::Answer>(range, A::NAME, &params)
                .await?;
            output.write_document(&text, Shape::Single, |output| document.write(output))?;
            progress.finish(&format!("{} of range {range} done", A::NAME), Outcome::Done)
        })
    }
}

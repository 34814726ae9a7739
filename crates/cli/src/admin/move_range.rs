//! `partita admin move RANGE --to SERVER`: moves a range to another server of the cluster.

use partita_wire::admin::ActionDone;

/// Move a range to another server of the cluster
#[derive(clap::Args)]
pub(crate) struct MoveCommand {
    /// Name of the server, as `partita servers` shows it
    #[arg(long, value_name = "SERVER", required = true)]
    to: Option<String>,
}

range_action!(MoveCommand, "move", ActionDone; to);

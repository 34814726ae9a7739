//! `partita queue show QUEUE`: its message count, metadata and access policies.

use crate::prelude::*;
use crate::table::policy_text;

/// Show a queue: message count, metadata and access policies
#[derive(clap::Args)]
#[command(after_help = "The count includes hidden messages, and can include expired ones.")]
pub(crate) struct ShowCommand {
    /// Queue name
    queue: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl QueueAccountCommand for ShowCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let name = &self.queue;
        let queue = connection.service.queue_client(name);
        let properties = match queue.get_properties().await {
            Ok(properties) => properties,
            Err(error) if error.is_not_found() => {
                message(&format!("there is no queue {name}"));
                return progress.finish("0 queues", Outcome::NothingFound);
            }
            Err(error) => return Err(error.into()),
        };
        let mut texts = Vec::new();
        for (name, value) in properties.metadata.iter() {
            texts.push((format!("metadata.{name}"), value.to_owned()));
        }
        match queue.get_access_policy().await {
            Ok(policies) => {
                for (identifier, number) in policies.iter().zip(1..) {
                    let text = policy_text(&identifier.id, &identifier.policy);
                    texts.push((format!("policy{number}"), text));
                }
            }
            // Reading policies needs a shared key.
            Err(error) if error.status() == Some(403) => {
                message("access policies are not shown: they need an account key");
            }
            Err(error) => return Err(error.into()),
        }
        let count = Field::count(properties.message_count_max);
        let mut fields = vec![("name", Field::text(name)), ("messages", count)];
        let texts = texts
            .iter()
            .map(|(name, text)| (&**name, Field::text(text)));
        fields.extend(texts);
        self.output
            .write(Shape::Single, |output| output.record(&fields))?;
        progress.finish("1 queue", Outcome::Done)
    }
}

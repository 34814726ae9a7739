//! `partita queue create QUEUE…`: one queue after the other, until one fails.

use crate::prelude::*;
use partita_client::{ErrorCode, Metadata, QueueCreated};

/// Create queues
#[derive(clap::Args)]
#[command(after_help = "Example: partita queue create jobs jobs-poison --metadata team=ops")]
pub(crate) struct CreateCommand {
    /// Queue names: 3 to 63 small letters, digits and single hyphens
    #[arg(value_name = "QUEUE", required = true, num_args = 1..)]
    queue: Vec<String>,
    /// Metadata of the queues; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<String>,
    /// Accept a queue that exists already with other metadata
    #[arg(long)]
    if_not_exists: bool,
}

impl QueueAccountCommand for CreateCommand {
    async fn run(self, connection: QueueConnection, progress: Progress) -> CommandResult {
        let metadata = parse_metadata(&self.metadata)?;
        let mut created = 0;
        for name in self.queue.iter().map(|name| name.trim()) {
            let queue = connection.service.queue_client(name);
            let exists = match queue.create(&metadata).await {
                Ok(QueueCreated::New) => false,
                Ok(QueueCreated::Existed) => true,
                Err(error)
                    if self.if_not_exists
                        && error.code() == Some(ErrorCode::QueueAlreadyExists) =>
                {
                    true
                }
                Err(error) => return Err(error.into()),
            };
            if exists {
                message(&format!("queue {name} exists already"));
            } else {
                created += 1;
            }
        }
        let end = format!("{} created", many(created, "queue", "queues"));
        progress.finish(&end, Outcome::Done)
    }
}

/// Metadata from `NAME=VALUE` words.
fn parse_metadata(words: &[String]) -> Result<Metadata, CommandError> {
    let mut metadata = Metadata::default();
    for word in words {
        let invalid = |why: String| CommandError::usage(format!("--metadata {word}: {why}"));
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| invalid("not NAME=VALUE".to_owned()))?;
        metadata
            .add(name.trim(), value.trim())
            .map_err(|error| invalid(error.to_string()))?;
    }
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Metadata, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        parse_metadata(&words).map_err(|error| error.chain())
    }

    #[test]
    fn metadata_is_pairs() {
        let metadata = parse(&["a=1", "b = x=y "]).unwrap();
        let pairs: Vec<_> = metadata.iter().collect();
        assert_eq!(pairs, [("a", "1"), ("b", "x=y")]);
        assert_eq!(parse(&["a"]).unwrap_err(), "--metadata a: not NAME=VALUE");
        for words in [&["=1"][..], &["a-b=1"], &["a=1", "A=2"]] {
            let refused = parse(words).unwrap_err();
            assert!(refused.starts_with("--metadata "), "{refused}");
        }
    }
}

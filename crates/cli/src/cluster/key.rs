//! `partita cluster key`: creates a cluster key.

use crate::prelude::*;
use partita_peer::ClusterKey;
use std::path::PathBuf;

/// Create a cluster key: the file by which the servers of a cluster recognise each other
#[derive(clap::Args)]
#[command(
    after_help = "Create one key for a cluster, and copy its file to every server. Keep it secret: with it, any process can \
                  join the cluster. Without --file the key is printed; a file that others can read is refused, so protect \
                  it with chmod 600."
)]
pub(crate) struct KeyCommand {
    /// New file for the key, which only its owner can read
    #[arg(long, short = 'o', value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Command for KeyCommand {
    fn run(self) -> CommandResult {
        let key = ClusterKey::create().because("cannot create a cluster key")?;
        let fingerprint = key.fingerprint();
        if let Some(file) = &self.file {
            key.write(file).because("no cluster key was written")?;
            let file = file.display();
            message(&format!(
                "wrote {file}: a new cluster key, fingerprint {fingerprint}"
            ));
        } else {
            output::print(key.text().trim_end())?;
            message(&format!("a new cluster key, fingerprint {fingerprint}"));
        }
        Ok(Outcome::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(file: &std::path::Path) -> CommandResult {
        let file = Some(file.to_owned());
        KeyCommand { file }.run()
    }

    #[test]
    fn a_key_is_written_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("cluster.key");
        assert_eq!(create(&file).unwrap(), Outcome::Done);
        let key = ClusterKey::read(&file).unwrap();
        let error = create(&file).unwrap_err().chain();
        assert!(error.contains("a cluster key is never replaced"), "{error}");
        assert_eq!(
            ClusterKey::read(&file).unwrap().fingerprint(),
            key.fingerprint()
        );
        let error = create(&home.path().join("missing/cluster.key")).unwrap_err();
        let error = error.chain();
        assert!(
            error.contains("cannot create cluster key") && error.contains("missing"),
            "{error}"
        );
    }
}

//! Elections of managers.

use super::Term;
use crate::member::Member;
use crate::record::{MANAGER, ManagerRecord, encode};
use crate::registry::{Compare, Operation, Outcome, RegistryError, Revision, Transaction};

/// What became of an election.
#[derive(Debug)]
pub enum Election {
    /// This life is the manager.
    Elected(Term),
    /// Another life is, in this term.
    Held(Revision),
}

impl Member {
    /// Stands for election: becomes the manager if there is none. To wait for the end of a term, watch
    /// [`Table::manager`](crate::Table::manager).
    ///
    /// # Errors
    /// [`RegistryError`]; can be repeated, and [`RegistryError::LeaseEnded`] if the life is over.
    pub async fn stand(&self) -> Result<Election, RegistryError> {
        let record = ManagerRecord {
            owner: self.owner.clone(),
        };
        let lease = Some(self.owner.life.0);
        let transaction = Transaction {
            compares: vec![
                Compare::CreatedAt(MANAGER.to_owned(), Revision(0)),
                self.alive(),
            ],
            changes: vec![Operation::Put(MANAGER.to_owned(), encode(&record), lease)],
            otherwise: vec![MANAGER.to_owned()],
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(term) => Ok(Election::Elected(Term::new(self, term))),
            Outcome::Refused(read) => match read.into_iter().next().flatten() {
                // An earlier attempt succeeded, whose answer was lost.
                Some(holder) if holder.lease == lease => {
                    Ok(Election::Elected(Term::new(self, holder.create_revision)))
                }
                Some(holder) => Ok(Election::Held(holder.create_revision)),
                None => Err(RegistryError::LeaseEnded),
            },
        }
    }
}

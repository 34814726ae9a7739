//! A credential that can be replaced while clients use it.

use super::Credential;
use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;

/// A credential that can be replaced while clients use it: an account's key before it is regenerated, or a shared access
/// signature before it ends. Clones are the same credential.
///
/// ```
/// use partita_client::{Credential, Rotating};
///
/// let rotating = Rotating::new(Credential::sas("sv=2019-02-02&sig=old"));
/// let credential = Credential::Rotating(rotating.clone());
/// // Give `credential` to a client. Its attempts from now on, also those of running requests, have the new signature:
/// rotating.set(Credential::sas("sv=2019-02-02&sig=new"));
/// # drop(credential);
/// ```
#[derive(Clone)]
pub struct Rotating(Arc<RwLock<Credential>>);

impl Rotating {
    /// Begins with this credential.
    #[must_use]
    pub fn new(credential: Credential) -> Self {
        Self(Arc::new(RwLock::new(credential.current().into_owned())))
    }

    /// Replaces the credential.
    pub fn set(&self, credential: Credential) {
        let credential = credential.current().into_owned();
        *self.0.write() = credential;
    }

    /// The current credential.
    #[must_use]
    pub fn get(&self) -> Credential {
        self.0.read().clone()
    }
}

impl fmt::Debug for Rotating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rotating({:?})", self.0.read())
    }
}

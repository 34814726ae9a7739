//! One life of a process in the cluster: from its join until its lease ends.

use std::sync::Arc;
use std::time::Duration;

use partita_rt::{Clock, Tasks};

use crate::lease::{Gate, Timing, keep};
use crate::record::{
    Expulsion, Life, Owner, RecordError, ServerInfo, ServerRecord, VERSION, VersionRecord, decode,
    encode, expelled_key, server_key,
};
use crate::registry::{
    Compare, Operation, Outcome, Registry, RegistryError, Revision, Transaction,
};
use crate::state_dir::{StateDir, StateDirError};
use crate::version::{VersionRefused, Versions};

/// What a life is made of.
#[derive(Debug)]
pub struct MemberParts {
    /// The registry.
    pub registry: Arc<dyn Registry>,
    /// The clock of the machine.
    pub clock: Arc<dyn Clock>,
    /// Owns the task that keeps the lease alive, which ends with the life.
    pub tasks: Tasks,
    /// The name of the server, which no other server has.
    pub name: String,
    /// What the server says about itself.
    pub info: ServerInfo,
    /// The requested TTL. The registry may grant more.
    pub ttl: Duration,
    /// The state directory of the server.
    pub state_dir: StateDir,
}

/// Why a process cannot join.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// Another life has the name: another process, or a predecessor on another machine whose lease has not expired.
    #[error(
        "server {name} is already a member, as life {life:?}: choose another --server-name, or wait until its lease has expired"
    )]
    NameTaken {
        /// The name.
        name: String,
        /// The life that has it.
        life: Option<Life>,
    },
    /// The cluster has a version that the program does not support.
    #[error(transparent)]
    Version(#[from] VersionRefused),
    /// The version of the cluster was changed meanwhile. Join again.
    #[error("the version of the cluster was changed meanwhile")]
    VersionChanged,
    /// The version of the cluster cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The state directory failed.
    #[error(transparent)]
    StateDir(#[from] StateDirError),
    /// The registry failed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// A process that has joined. Dropping it closes its gate for ever, but leaves the lease to expire.
#[derive(Debug)]
pub struct Member {
    pub(crate) registry: Arc<dyn Registry>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) owner: Owner,
    /// What the server said about itself when it joined.
    pub(crate) info: ServerInfo,
    timing: Timing,
    gate: Gate,
    /// Only [`Self::end`] takes it.
    state_dir: Option<StateDir>,
}

impl Member {
    /// Joins the cluster: ends the lease of the predecessor that the state directory names, takes a lease, and registers
    /// the server under it, if [`ServerInfo::versions`] include the version of the cluster. Needs a tokio runtime. When dropped half-way, a lease may remain until it expires.
    ///
    /// # Errors
    /// [`JoinError`].
    pub async fn join(parts: MemberParts) -> Result<Self, JoinError> {
        let MemberParts {
            registry,
            clock,
            tasks,
            name,
            info,
            ttl,
            state_dir,
        } = parts;
        // A refused program leaves the lease of its predecessor alone, and takes none.
        let version = admitted(&*registry, info.versions()).await?;
        if let Some(predecessor) = state_dir.last_life()? {
            registry.revoke(predecessor.0).await?;
        }
        let gate = Gate::new(Arc::clone(&clock));
        let sent = gate.sent();
        let granted = registry.grant(ttl).await?;
        let (life, timing) = (Life(granted.lease), Timing { ttl: granted.ttl });
        // Before the server's key exists: its successor must find the life that has the key.
        state_dir.begin(life)?;
        let record = record(life, timing, info.clone());
        register(&*registry, &name, &record, version).await?;
        gate.answered(sent, timing);
        let keeping = keep(
            Arc::clone(&registry),
            gate.clone(),
            name.clone(),
            life,
            timing,
        );
        tasks.spawn("lease", keeping);
        Ok(Self {
            registry,
            clock,
            owner: Owner { name, life },
            info,
            timing,
            gate,
            state_dir: Some(state_dir),
        })
    }

    /// The name and the life.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The gate of this life.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The granted TTL and what follows from it.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Says that the server takes no more ranges, or takes them again. What else it says about itself stays as it was when it
    /// joined. A copy of the registry's keys may be older than this life, and name the log of an earlier one.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::LeaseEnded`] if the life is over.
    pub async fn set_draining(&self, draining: bool) -> Result<(), RegistryError> {
        let info = ServerInfo {
            draining,
            ..self.info.clone()
        };
        let record = record(self.owner.life, self.timing, info);
        let transaction = Transaction {
            compares: vec![self.alive()],
            changes: vec![put_server(&self.owner.name, &record)],
            otherwise: Vec::new(),
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(_) => Ok(()),
            Outcome::Refused(_) => Err(RegistryError::LeaseEnded),
        }
    }

    /// The comparison that this life has its lease.
    pub(crate) fn alive(&self) -> Compare {
        Compare::HasLease(server_key(&self.owner.name), self.owner.life.0)
    }

    /// Expels another server: ends its lease although it may be alive. The manager assigns its ranges after it has waited
    /// until the server's gate is surely closed ([`Term::settle`]). Returns whether the life was a member. Can be
    /// repeated.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::LeaseEnded`] if this life is over.
    pub async fn expel(&self, server: &Owner, lease_ms: u64) -> Result<bool, RegistryError> {
        let record = Expulsion {
            name: server.name.clone(),
            lease_ms,
        };
        let (key, own_key) = (server_key(&server.name), server_key(&self.owner.name));
        let transaction = Transaction {
            compares: vec![self.alive(), Compare::HasLease(key, server.life.0)],
            // Before the revoke: from then on, nothing that the life served is assigned.
            changes: vec![Operation::Put(
                expelled_key(server.life),
                encode(&record),
                None,
            )],
            otherwise: vec![own_key],
        };
        match self.registry.commit(transaction).await? {
            Outcome::Committed(_) => self.registry.revoke(server.life.0).await.map(|()| true),
            Outcome::Refused(read) => match read.into_iter().next().flatten() {
                Some(own) if own.lease == Some(self.owner.life.0) => Ok(false),
                _ => Err(RegistryError::LeaseEnded),
            },
        }
    }

    /// Leaves the cluster: closes the gate, then ends the lease, so that everything else can be assigned at once. The
    /// host has released its ranges before. Returns the state directory.
    ///
    /// # Errors
    /// [`JoinError`]: the lease expires by itself.
    pub async fn leave(self) -> Result<StateDir, JoinError> {
        let (registry, life) = (Arc::clone(&self.registry), self.owner.life);
        let state_dir = self.end();
        registry.revoke(life.0).await?;
        state_dir.left()?;
        Ok(state_dir)
    }

    /// Leaves the cluster like [`Self::leave`], while others still have this member: closes the gate, then ends the lease.
    ///
    /// # Errors
    /// [`RegistryError`]: the lease expires by itself.
    pub async fn close(&self) -> Result<(), RegistryError> {
        self.gate.end();
        self.registry.revoke(self.owner.life.0).await
    }

    /// Ends the life without the registry, to join again: closes the gate for ever and returns the state directory, with
    /// which the next [`Self::join`] ends the lease.
    ///
    /// # Panics
    /// Never: the state directory is there until this call.
    #[must_use]
    pub fn end(mut self) -> StateDir {
        self.gate.end();
        self.state_dir
            .take()
            .expect("only this function takes the state directory")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // The lock of the state directory is released, which says that the life is over.
        self.gate.end();
    }
}

/// What the registry has of a life.
fn record(life: Life, timing: Timing, info: ServerInfo) -> ServerRecord {
    ServerRecord {
        life,
        lease_ms: u64::try_from(timing.ttl.as_millis()).unwrap_or(u64::MAX),
        info,
    }
}

fn put_server(name: &str, record: &ServerRecord) -> Operation {
    Operation::Put(server_key(name), encode(record), Some(record.life.0))
}

/// Refuses a program that does not support the version of the cluster, or the one that is about to replace it. Returns the
/// revision of the version. A registry that says nothing refuses no program: the caller has asked the store.
async fn admitted(registry: &dyn Registry, program: Versions) -> Result<Revision, JoinError> {
    let found = registry.get(VERSION).await?;
    let Some(found) = found else {
        return Ok(Revision(0));
    };
    let version: VersionRecord = decode(VERSION, &found.value)?;
    program.check(version.active)?;
    match version.next.filter(|next| !program.include(*next)) {
        Some(next) => Err(VersionRefused::Finalizing { program, next }.into()),
        None => Ok(found.mod_revision),
    }
}

/// Creates the key of a server, if the version of the cluster has this revision: a manager that changes the version lists
/// the servers afterwards, so it sees this one, or this one is refused.
async fn register(
    registry: &dyn Registry,
    name: &str,
    record: &ServerRecord,
    version: Revision,
) -> Result<(), JoinError> {
    let key = server_key(name);
    let transaction = Transaction {
        compares: vec![
            Compare::CreatedAt(key.clone(), Revision(0)),
            Compare::ModifiedAt(VERSION.to_owned(), version),
        ],
        changes: vec![put_server(name, record)],
        otherwise: vec![key],
    };
    match registry.commit(transaction).await? {
        Outcome::Committed(_) => Ok(()),
        Outcome::Refused(read) => match read.into_iter().next().flatten() {
            Some(holder) => Err(JoinError::NameTaken {
                name: name.to_owned(),
                life: holder.lease.map(Life),
            }),
            None => Err(JoinError::VersionChanged),
        },
    }
}

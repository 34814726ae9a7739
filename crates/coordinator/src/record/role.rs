//! What a server does in a cluster.

use super::ServerInfo;

/// What a server does in a cluster. A server without a role leaves that work to others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Has ports for clients.
    Front,
    /// Serves ranges.
    Ranges,
    /// Can be elected as the manager.
    Manager,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Front, Self::Ranges, Self::Manager];

    /// The word of settings and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Ranges => "ranges",
            Self::Manager => "manager",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

impl ServerInfo {
    /// The same, with these roles.
    #[must_use]
    pub fn with_roles(mut self, roles: &[Role]) -> Self {
        self.roles = roles.iter().map(|role| role.name().to_owned()).collect();
        self
    }

    /// Whether the server has a role. One that names none, such as a server of an earlier version, has all.
    #[must_use]
    pub fn has_role(&self, role: Role) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|name| name == role.name())
    }

    /// Whether the server may get ranges.
    #[must_use]
    pub fn takes_ranges(&self) -> bool {
        self.log.is_some() && self.has_role(Role::Ranges)
    }
}

//! Declares the operations of a service.

/// An operation of a service.
pub trait ServiceOperation: Copy + Send + Sync {
    /// Whether the operation can change data.
    fn is_write(self) -> bool;
}

/// Declares the enum `Operation` of a service, each operation with its name in metrics and logs.
macro_rules! operations {
    (
        $(#[$meta:meta])*
        pub enum Operation { $($(#[$variant_meta:meta])+ $variant:ident = $name:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Operation {
            $($(#[$variant_meta])+ $variant,)+
        }

        impl Operation {
            /// All operations.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in metrics and logs: the name in the service's analytics logs, if there is one (service document
            /// "Storage Analytics Logged Operations and Status Messages"). Names never change.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The position in [`Self::ALL`], for arrays indexed by operation.
            pub const fn index(self) -> usize {
                self as usize
            }
        }

        impl $crate::ServiceOperation for Operation {
            fn is_write(self) -> bool {
                Self::is_write(self)
            }
        }

        impl std::fmt::Display for Operation {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use operations;

#[cfg(test)]
mod tests {
    use crate::{queue, table};
    use std::collections::HashSet;

    #[test]
    fn all_is_in_order_and_names_differ() {
        let tables = table::Operation::ALL.iter().map(|o| (o.index(), o.name()));
        let queues = queue::Operation::ALL.iter().map(|o| (o.index(), o.name()));
        for service in [tables.collect::<Vec<_>>(), queues.collect()] {
            let mut names = HashSet::new();
            for (place, (index, name)) in service.into_iter().enumerate() {
                assert_eq!(index, place, "{name}");
                assert!(names.insert(name), "{name}");
            }
        }
    }
}

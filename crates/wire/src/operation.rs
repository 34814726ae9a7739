//! Declares the operations of a service.

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

        impl std::fmt::Display for Operation {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use operations;

//! Whether a thread runs in the real world or in a simulated world.
//!
//! In the real world, [`crate::threads`] starts threads. In a simulated world all work runs on one thread, in an order
//! that a seed determines: work for other threads runs as a task of the current runtime. A thread is in the real world
//! until it calls [`simulate`].

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static SIMULATED: Cell<bool> = const { Cell::new(false) };
}

/// The simulated world of this thread; dropping it ends the simulation.
#[derive(Debug)]
pub struct Simulated {
    /// Makes it `!Send`, because it belongs to its thread.
    thread: PhantomData<*const ()>,
}

/// Moves this thread into a simulated world.
///
/// # Panics
/// When the thread is already in a simulated world.
#[must_use]
pub fn simulate() -> Simulated {
    let before = SIMULATED.replace(true);
    assert!(!before, "this thread already simulates a world");
    Simulated {
        thread: PhantomData,
    }
}

/// Whether this thread is in a simulated world.
#[must_use]
pub fn is_simulated() -> bool {
    SIMULATED.get()
}

impl Drop for Simulated {
    fn drop(&mut self) {
        SIMULATED.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the test needs real threads")]
    fn a_simulated_world_covers_one_thread_until_its_drop() {
        assert!(!is_simulated());
        let world = simulate();
        assert!(is_simulated());
        let elsewhere = std::thread::scope(|scope| scope.spawn(is_simulated).join().unwrap());
        assert!(!elsewhere);
        drop(world);
        assert!(!is_simulated());
    }
}

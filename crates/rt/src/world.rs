//! Which world a thread lives in: the machine's, or a simulated one.
//!
//! In the machine's world, [`crate::threads`] starts threads. In a simulated world everything runs on one thread, in an order that a
//! seed decides: work for other threads runs as a task of the current runtime. A thread lives in the machine's world until it calls
//! [`simulate`].

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static SIMULATED: Cell<bool> = const { Cell::new(false) };
}

/// The simulated world of this thread; dropping it ends the simulation.
#[derive(Debug)]
pub struct Simulated {
    /// Keeps it on the thread that made it.
    thread: PhantomData<*const ()>,
}

/// Moves this thread into a simulated world.
///
/// # Panics
/// When it is in one already.
#[must_use]
pub fn simulate() -> Simulated {
    let before = SIMULATED.replace(true);
    assert!(!before, "this thread already simulates a world");
    Simulated {
        thread: PhantomData,
    }
}

/// Whether this thread lives in a simulated world.
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
    #[allow(clippy::disallowed_methods, reason = "it is about threads")]
    fn a_simulated_world_is_one_threads_and_ends() {
        assert!(!is_simulated());
        let world = simulate();
        assert!(is_simulated());
        let elsewhere = std::thread::scope(|scope| scope.spawn(is_simulated).join().unwrap());
        assert!(!elsewhere);
        drop(world);
        assert!(!is_simulated());
    }
}

//! How many retries a client may make: a bucket of tokens.
//!
//! A service that is down for a moment gets every retry that the policy allows. One that answers most requests with errors
//! would get five times its load from clients that all try again; the bucket is empty soon then, and the client asks once.

use parking_lot::Mutex;

/// The bounds of a client's retries, over all of its requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryBudget {
    /// Retries that may be made at once, without any success between. Zero forbids them, infinity allows all.
    pub tokens_max: f64,
    /// What a request that succeeds at its first attempt gives back: a tenth allows one retry for each ten of them.
    pub tokens_per_success: f64,
}

impl RetryBudget {
    /// Every retry that the policy allows.
    pub const UNBOUNDED: Self = Self {
        tokens_max: f64::INFINITY,
        tokens_per_success: 0.0,
    };
}

impl Default for RetryBudget {
    /// 500 at once (a hundred requests under way, all their retries), then one in five.
    fn default() -> Self {
        Self {
            tokens_max: 500.0,
            tokens_per_success: 0.2,
        }
    }
}

/// The bucket of a client.
#[derive(Debug)]
pub(crate) struct Bucket {
    budget: RetryBudget,
    tokens: Mutex<f64>,
}

impl Bucket {
    /// A full one.
    pub(crate) const fn new(budget: RetryBudget) -> Self {
        Self {
            tokens: Mutex::new(budget.tokens_max),
            budget,
        }
    }

    /// Takes a token for a retry, if there is one.
    pub(crate) fn take(&self) -> bool {
        let mut tokens = self.tokens.lock();
        let there = *tokens >= 1.0;
        if there {
            *tokens -= 1.0;
        }
        there
    }

    /// A request has succeeded at once.
    pub(crate) fn refill(&self) {
        let mut tokens = self.tokens.lock();
        *tokens = (*tokens + self.budget.tokens_per_success).min(self.budget.tokens_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successes_pay_for_retries() {
        let bucket = Bucket::new(RetryBudget {
            tokens_max: 2.0,
            tokens_per_success: 0.5,
        });
        assert!(bucket.take() && bucket.take());
        assert!(!bucket.take());
        bucket.refill();
        assert!(!bucket.take());
        bucket.refill();
        assert!(bucket.take() && !bucket.take());
        for _ in 0..100 {
            bucket.refill();
        }
        assert!(bucket.take() && bucket.take() && !bucket.take());
    }

    #[test]
    fn the_ends() {
        let none = Bucket::new(RetryBudget {
            tokens_max: 0.0,
            tokens_per_success: 1.0,
        });
        none.refill();
        assert!(!none.take());
        let all = Bucket::new(RetryBudget::UNBOUNDED);
        assert!((0..10_000).all(|_| all.take()));
    }
}

//! Bounds the retries of a client by a token bucket.
//!
//! During a short outage, the bucket allows every retry of the policy. During a long one, retries would multiply the
//! load of a service that is already in trouble: the bucket empties soon, and each request is sent once.

use parking_lot::Mutex;

/// The retry budget of a client, shared by all of its requests. Each retry costs one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryBudget {
    /// The maximum and initial number of tokens. 0 forbids retries; infinity allows all. At least 0.
    pub tokens_max: f64,
    /// Tokens that a request adds when its first attempt succeeds, at least 0: 0.1 allows one retry for each ten
    /// requests.
    pub tokens_per_success: f64,
}

impl RetryBudget {
    /// Allows every retry of the policy.
    pub const UNBOUNDED: Self = Self {
        tokens_max: f64::INFINITY,
        tokens_per_success: 0.0,
    };
}

impl Default for RetryBudget {
    /// 500 tokens, enough for all retries of a hundred concurrent requests, and 0.2 tokens per success.
    fn default() -> Self {
        Self {
            tokens_max: 500.0,
            tokens_per_success: 0.2,
        }
    }
}

/// The token bucket of a client.
#[derive(Debug)]
pub(crate) struct Bucket {
    budget: RetryBudget,
    tokens: Mutex<f64>,
}

impl Bucket {
    /// A full bucket.
    pub(crate) const fn new(budget: RetryBudget) -> Self {
        Self {
            tokens: Mutex::new(budget.tokens_max),
            budget,
        }
    }

    /// Takes a token for a retry. Returns false if the bucket is empty.
    pub(crate) fn take(&self) -> bool {
        let mut tokens = self.tokens.lock();
        let has_token = *tokens >= 1.0;
        if has_token {
            *tokens -= 1.0;
        }
        has_token
    }

    /// Adds the tokens of a request whose first attempt succeeded.
    pub(crate) fn refill(&self) {
        let mut tokens = self.tokens.lock();
        *tokens = (*tokens + self.budget.tokens_per_success).min(self.budget.tokens_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successes_add_tokens_for_retries() {
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
    fn zero_forbids_retries_and_infinity_allows_all() {
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

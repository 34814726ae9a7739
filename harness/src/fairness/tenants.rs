//! Modest tenants: each sends one request at a time, 50 a second, and records the latency.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use partita_bench::client::Client;
use partita_bench::{Account, create_table, entity, park_for};
use partita_load::{LatencyHistogram, Stage, StageCell};

/// The table of each tenant.
const TABLE: &str = "modest";

/// Time between two requests of a tenant: 50 a second.
const PERIOD: Duration = Duration::from_millis(20);

/// Latencies and refusals of tenants.
#[derive(Debug, Default)]
pub(super) struct TenantResults {
    /// Latencies of inserts.
    pub(super) inserts: LatencyHistogram,
    /// Latencies of point reads.
    pub(super) gets: LatencyHistogram,
    /// Number of requests that were answered with 503.
    pub(super) refused: u64,
}

/// One tenant: an account, and a partition that only it uses.
pub(super) struct Tenant {
    client: Client,
    partition_key: String,
    rows: u64,
}

impl Tenant {
    pub(super) fn new(addr: SocketAddr, account: Account, number: u64) -> anyhow::Result<Self> {
        let mut client = Client::connect(addr, account)?;
        create_table(&mut client, TABLE)?;
        Ok(Self {
            client,
            partition_key: entity::key('t', number),
            rows: 0,
        })
    }

    /// Inserts and reads in turn until the measurement stops.
    pub(super) fn work(&mut self, stage: &StageCell) -> anyhow::Result<TenantResults> {
        let mut results = TenantResults::default();
        let mut next = Instant::now();
        for turn in 0_u64.. {
            if stage.get() == Stage::Stopped {
                break;
            }
            let insert = turn.is_multiple_of(2);
            let sent = Instant::now();
            let status = if insert { self.insert()? } else { self.get()? };
            let latency = sent.elapsed();
            ensure!(
                matches!(status, 200 | 204 | 503),
                "a tenant was answered {status}"
            );
            if stage.get() == Stage::Measuring {
                match (status, insert) {
                    (503, _) => results.refused += 1,
                    (_, true) => results.inserts.record(latency),
                    (_, false) => results.gets.record(latency),
                }
            }
            next = (next + PERIOD).max(Instant::now());
            park_for(next.saturating_duration_since(Instant::now()));
        }
        Ok(results)
    }

    fn insert(&mut self) -> anyhow::Result<u16> {
        self.rows += 1;
        let row_key = entity::key('r', self.rows);
        let body = entity::body(&self.partition_key, &row_key, self.rows);
        let answer = self.client.post(&format!("/{TABLE}"), &body);
        Ok(answer.context("sending the insert of a tenant")?.status)
    }

    fn get(&mut self) -> anyhow::Result<u16> {
        let row_key = entity::key('r', 1);
        let path = format!(
            "/{TABLE}(PartitionKey='{}',RowKey='{row_key}')",
            self.partition_key
        );
        let answer = self.client.get(&path);
        Ok(answer.context("sending the read of a tenant")?.status)
    }
}

impl TenantResults {
    pub(super) fn add(&mut self, other: &Self) {
        self.inserts.merge(&other.inserts);
        self.gets.merge(&other.gets);
        self.refused += other.refused;
    }
}

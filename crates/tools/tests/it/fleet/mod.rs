//! Tests fleets on a real server: workers are killed at any point, and the result is exact.

mod import;
mod killed;
mod killer;
mod kinds;
mod life;
mod memory_queue;
mod service_queue;

use crate::server;
use partita_client::{TableClient, TableServiceClient};
use partita_server::Server;
use partita_tools::fleet::{
    Access, Ended, FLEET_TABLE, FleetTable, Job, JobKind, JobSpec, JobState, StepQueue, TablePlace,
    Worker, WorkerOptions, plan, start, verify,
};
use partita_tools::scan::Bounds;
use partita_tools::transfer::{Mode, Source};

/// Rows per page.
const PAGE_ROWS: usize = 7;

fn spec(source: &TableClient, kind: JobKind) -> JobSpec {
    JobSpec {
        kind,
        source: Source {
            endpoint: source.endpoint().to_string(),
            table: source.name().to_owned(),
            filter: None,
            select: Vec::new(),
            bounds: Bounds::default(),
        },
        page_rows: PAGE_ROWS,
        step_rows: 20,
        tries: 1000,
        visibility_seconds: 30,
        rows_expected: None,
    }
}

fn copy_to(target: &TableClient) -> JobKind {
    JobKind::Copy {
        to: TablePlace {
            endpoint: target.endpoint().to_string(),
            table: target.name().to_owned(),
        },
        mode: Mode::Replace,
    }
}

fn fleet_table(client: &TableServiceClient) -> FleetTable {
    FleetTable(client.table_client(FLEET_TABLE))
}

fn access(client: &TableServiceClient) -> Access {
    Access {
        source: client.clone(),
        destination: None,
        queues: None,
        directory: None,
        commands: true,
    }
}

async fn started_job(client: &TableServiceClient, spec: JobSpec) -> Job {
    let steps = plan(&spec, &[]);
    start(&fleet_table(client), spec, &steps).await.unwrap()
}

fn worker<Q: StepQueue>(
    client: &TableServiceClient,
    queue: Q,
    job: &Job,
    loops: usize,
) -> Worker<Q> {
    let options = WorkerOptions {
        loops,
        name: "test".to_owned(),
    };
    Worker::new(fleet_table(client), queue, &job.id, access(client), options)
}

/// Works until the job is done, and checks that it has found every row once.
async fn assert_exact<Q: StepQueue>(client: &TableServiceClient, queue: Q, job: &Job, rows: u64) {
    let ended = worker(client, queue, job, 1).run().await.unwrap();
    assert_eq!(ended, Ended::Job(JobState::Done));
    let job = fleet_table(client).job(&job.id).await.unwrap();
    assert_eq!(job.totals.unwrap().rows, rows);
    let found = verify(&access(client), &job).await.unwrap();
    assert!(found.is_equal(), "{found:?}");
}

fn connection_string(server: &Server) -> String {
    server::connection_string(server)
}

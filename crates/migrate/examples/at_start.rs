//! A program that runs its migrations when it starts, also if several instances of it start at the same time.
//!
//! `cargo run -p partita-migrate --example at_start`, with a server on this machine, or with its connection string in
//! `CONNECTION_STRING`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use partita_client::{Entity, TableClient, TableServiceClient};
use partita_migrate::{
    InvalidMigration, MigrateError, Migration, Migrations, Migrator, MigratorOptions,
};
use std::time::Duration;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// All migrations of the program. One that ran is never changed: a later change is a further migration.
fn migrations() -> Result<Migrations, InvalidMigration> {
    let mut keiko = Entity::new("O'Brien", "Keiko");
    keiko.insert("Age", 39);
    Migrations::new([
        Migration::new(1, "crew")
            .create_and_insert("crew", [keiko])
            .down(|down| down.delete_table("crew")),
        Migration::new(2, "staff").rename_table("crew", "staff"),
    ])
}

/// Runs the migrations that have not run.
async fn migrate(service: &TableServiceClient) -> Result<(), Failure> {
    let options = MigratorOptions {
        who: "the shop".to_owned(),
        ..MigratorOptions::default()
    };
    let migrator = Migrator::new(service.clone(), options);
    let migrations = migrations()?;
    loop {
        match migrator.up(&migrations, None).await {
            // Another instance of the program runs them.
            Err(MigrateError::Held { who, .. }) => {
                println!("waiting for the migrations of {who}");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => return Err(error.into()),
            Ok(done) => {
                println!("{} migrations applied", done.len());
                return Ok(());
            }
        }
    }
}

/// Starts the program: its tables have their newest form from here on.
pub(crate) async fn start(connection_string: &str) -> Result<TableClient, Failure> {
    let service = TableServiceClient::from_connection_string(connection_string)?;
    migrate(&service).await?;
    Ok(service.table_client("staff"))
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let text = std::env::var("CONNECTION_STRING");
    let text = text.unwrap_or("UseDevelopmentStorage=true".to_owned());
    let staff = start(&text).await?;
    println!("{:?}", staff.get_entity("O'Brien", "Keiko").await?);
    Ok(())
}

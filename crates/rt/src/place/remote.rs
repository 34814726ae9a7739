//! Remote object stores: S3 and compatible stores, and Azure Blob storage.
//!
//! - Credentials and options come from environment variables that begin with `AWS_` or `AZURE_`, like those of the
//!   stores' command-line tools. Variables without a prefix (`TOKEN`, `ENDPOINT`) are ignored, because they may belong
//!   to another program.
//! - Missing credentials are an immediate error. The library would fall back to the cloud metadata service, which takes
//!   minutes to time out outside a cloud. `AWS_METADATA_ENDPOINT` or `AZURE_MSI_ENDPOINT` enables that service.
//! - TLS is rustls over ring, as in the rest of the program.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreScheme};
use url::Url;

use super::PlaceError;
use super::client::Client;
use super::suffixes::Suffixes;
use crate::store_layer::Layered;

const AWS_CREDENTIALS: &str = "credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; or AWS_WEB_IDENTITY_TOKEN_FILE and \
     AWS_ROLE_ARN; or, for the role of a machine, AWS_METADATA_ENDPOINT=http://169.254.169.254";
const AZURE_CREDENTIALS: &str = "credentials: AZURE_STORAGE_ACCOUNT_KEY; or AZURE_STORAGE_SAS_TOKEN; or AZURE_TENANT_ID, \
     AZURE_CLIENT_ID and AZURE_CLIENT_SECRET; or, for the identity of a machine, AZURE_MSI_ENDPOINT";

/// Environment variables by their names in lower case.
pub(super) type Environment = BTreeMap<String, String>;

/// The environment of the process.
pub(super) fn environment() -> Environment {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?.to_ascii_lowercase();
        Some((name, value.into_string().ok()?))
    });
    variables.collect()
}

/// Opens the store of a URL. Does not connect yet.
pub(super) fn open(
    url: &Url,
    environment: &Environment,
    client: &Client,
) -> Result<Arc<dyn ObjectStore>, PlaceError> {
    let unreachable = |error| PlaceError::Unreachable(url.to_string(), error);
    let (scheme, path) =
        ObjectStoreScheme::parse(url).map_err(|error| unreachable(error.into()))?;
    let prefix = Path::parse(path).map_err(|error| unreachable(error.into()))?;
    // Fails if a provider is already installed, which is then the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match scheme {
        ObjectStoreScheme::AmazonS3 => {
            let builder = amazon_s3(url, environment, client)?;
            let builder = match client.connector() {
                Some(connector) => builder.with_http_connector(connector),
                None => builder,
            };
            let store = builder.build().map_err(unreachable)?;
            Ok(Arc::new(PrefixStore::new(store, prefix)))
        }
        ObjectStoreScheme::MicrosoftAzure => {
            let builder = azure(url, environment, client)?;
            let builder = match client.connector() {
                Some(connector) => builder.with_http_connector(connector),
                None => builder,
            };
            let store = builder.build().map_err(unreachable)?;
            let store = Layered(Suffixes(Arc::new(store)));
            Ok(Arc::new(PrefixStore::new(store, prefix)))
        }
        _ => Err(PlaceError::NoSuchStore(url.to_string())),
    }
}

/// The first of these variables that is set and not empty.
fn first_set<'e>(environment: &'e Environment, names: &[&str]) -> Option<&'e str> {
    let values = names.iter().filter_map(|name| environment.get(*name));
    values.map(String::as_str).find(|value| !value.is_empty())
}

fn needs(url: &Url, what: &str) -> PlaceError {
    PlaceError::Incomplete(url.to_string(), what.to_owned())
}

/// Refuses an endpoint without TLS, unless the variable `allow` permits it.
fn check_tls(
    url: &Url,
    environment: &Environment,
    endpoints: &[&str],
    allow: &str,
) -> Result<(), PlaceError> {
    let is_plain = |endpoint: &str| endpoint.starts_with("http://");
    let is_true = |value: &str| matches!(value, "true" | "TRUE" | "True" | "1");
    if first_set(environment, endpoints).is_some_and(is_plain)
        && !first_set(environment, &[allow]).is_some_and(is_true)
    {
        let allow = allow.to_ascii_uppercase();
        let what = format!("{allow}=true, because its endpoint has no TLS");
        return Err(needs(url, &what));
    }
    Ok(())
}

/// Sets the options whose variables begin with `prefix`. Skips options unknown to the library.
fn configured<B, K: FromStr>(
    builder: B,
    environment: &Environment,
    prefix: &str,
    set: impl Fn(B, K, &str) -> B,
) -> B {
    let named = environment
        .iter()
        .filter(|(name, _)| name.starts_with(prefix));
    named
        .filter_map(|(name, value)| Some((name.parse().ok()?, value)))
        .fold(builder, |builder, (key, value)| set(builder, key, value))
}

fn amazon_s3(
    url: &Url,
    environment: &Environment,
    client: &Client,
) -> Result<AmazonS3Builder, PlaceError> {
    let is_set = |name| first_set(environment, &[name]).is_some();
    let others = [
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_metadata_endpoint",
        "aws_skip_signature",
    ];
    match (is_set("aws_access_key_id"), is_set("aws_secret_access_key")) {
        (true, true) => {}
        (true, false) => return Err(needs(url, "AWS_SECRET_ACCESS_KEY")),
        (false, true) => return Err(needs(url, "AWS_ACCESS_KEY_ID")),
        (false, false) if first_set(environment, &others).is_some() => {}
        (false, false) => return Err(needs(url, AWS_CREDENTIALS)),
    }
    let endpoints = ["aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint"];
    check_tls(url, environment, &endpoints, "aws_allow_http")?;
    let timeout = AmazonS3ConfigKey::Client(ClientConfigKey::Timeout);
    let set = |builder: AmazonS3Builder, key, value: &str| builder.with_config(key, value);
    let builder = AmazonS3Builder::new().with_url(url.as_str());
    let builder = set(
        builder.with_retry(client.retries()),
        timeout,
        client.timeout(),
    );
    Ok(configured(builder, environment, "aws_", set))
}

fn azure(
    url: &Url,
    environment: &Environment,
    client: &Client,
) -> Result<MicrosoftAzureBuilder, PlaceError> {
    let emulator = first_set(environment, &["azure_storage_use_emulator"])
        .is_some_and(|value| !matches!(value, "false" | "0"));
    let credentials = [
        "azure_storage_account_key",
        "azure_storage_access_key",
        "azure_storage_sas_token",
        "azure_storage_sas_key",
        "azure_storage_token",
        "azure_client_id",
        "azure_storage_client_id",
        "azure_msi_endpoint",
        "azure_identity_endpoint",
        "azure_federated_token_file",
        "azure_use_azure_cli",
        "azure_skip_signature",
    ];
    if !emulator {
        // A URL such as abfss://container@account... contains the account.
        let names_account = url.host_str().is_some_and(|host| host.contains('.'));
        let account = first_set(environment, &["azure_storage_account_name"]);
        if !names_account && account.is_none() {
            return Err(needs(url, "AZURE_STORAGE_ACCOUNT_NAME"));
        }
        if first_set(environment, &credentials).is_none() {
            return Err(needs(url, AZURE_CREDENTIALS));
        }
        let endpoints = ["azure_storage_endpoint", "azure_endpoint"];
        check_tls(url, environment, &endpoints, "azure_allow_http")?;
    }
    let timeout = AzureConfigKey::Client(ClientConfigKey::Timeout);
    let builder = MicrosoftAzureBuilder::new()
        .with_config(timeout, client.timeout())
        .with_retry(client.retries())
        .with_url(url.as_str());
    let set = |builder: MicrosoftAzureBuilder, key, value: &str| builder.with_config(key, value);
    Ok(configured(builder, environment, "azure_", set))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use object_store::ObjectStoreExt as _;

    use super::*;
    use crate::net::{Listener, MachineNetwork, Network as _};

    fn opened(url: &str, variables: &[(&str, &str)]) -> Result<Arc<dyn ObjectStore>, String> {
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        open(&Url::parse(url).unwrap(), &environment, &Client::Copies)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_error_names_the_missing_variable() {
        let key = ("aws_access_key_id", "k");
        let secret = ("aws_secret_access_key", "s");
        let plain = ("aws_endpoint_url", "http://127.0.0.1:9000");
        let account = ("azure_storage_account_name", "a");
        // A variable that belongs to another program.
        let foreign = ("access_key_id", "x");
        type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str);
        let cases: [Case<'_>; 9] = [
            ("s3://b/p", &[], "AWS_ACCESS_KEY_ID and"),
            ("s3://b/p", &[foreign], "AWS_ACCESS_KEY_ID and"),
            ("s3://b/p", &[key], "needs AWS_SECRET_ACCESS_KEY"),
            (
                "s3://b/p",
                &[key, ("aws_secret_access_key", "")],
                "AWS_SECRET",
            ),
            ("s3://b/p", &[secret], "needs AWS_ACCESS_KEY_ID"),
            ("s3://b/p", &[key, secret, plain], "AWS_ALLOW_HTTP"),
            ("az://c/p", &[], "needs AZURE_STORAGE_ACCOUNT_NAME"),
            ("az://c/p", &[account], "AZURE_STORAGE_ACCOUNT_KEY"),
            ("gs://b/p", &[], "unknown object store"),
        ];
        for (url, variables, expected) in cases {
            let refused = opened(url, variables).unwrap_err();
            assert!(
                refused.contains(expected) && refused.contains(url),
                "{refused}"
            );
        }
    }

    #[test]
    fn complete_environments_are_accepted() {
        let key = [("aws_access_key_id", "k"), ("aws_secret_access_key", "s")];
        opened("s3://b/p/q", &key).unwrap();
        let own = [
            ("aws_endpoint_url", "http://[::1]:9"),
            ("aws_allow_http", "true"),
        ];
        opened("s3://b", &[key, own].concat()).unwrap();
        opened(
            "s3://b",
            &[("aws_metadata_endpoint", "http://169.254.169.254")],
        )
        .unwrap();
        opened("az://c/p", &[("azure_storage_use_emulator", "true")]).unwrap();
        let account = [
            ("azure_storage_account_name", "a"),
            ("azure_storage_account_key", "a2V5"),
        ];
        opened("az://c/p", &account).unwrap();
    }

    /// A store that answers each request with the same object.
    async fn answer_all(listener: Box<dyn Listener>) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"1\"\r\n\
                Last-Modified: Fri, 27 Nov 2026 00:00:00 GMT\r\nConnection: close\r\n\r\nhello";
            stream.write_all(answer).await.unwrap();
        }
    }

    /// The thread of the log has a runtime without I/O.
    #[test]
    fn a_client_is_used_by_threads_without_io() {
        let io = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = io.block_on(MachineNetwork.listen("127.0.0.1", 0)).unwrap();
        let endpoint = format!("http://{}", listener.address().unwrap());
        io.spawn(answer_all(listener));
        let variables = [
            ("aws_access_key_id", "k"),
            ("aws_secret_access_key", "s"),
            ("aws_endpoint_url", &*endpoint),
            ("aws_allow_http", "true"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let url = Url::parse("s3://b/p").unwrap();
        let store = open(&url, &variables.into(), &Client::Log(io.handle().clone())).unwrap();
        let without_io = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let read = without_io.block_on(async {
            let found = store.get(&Path::from("a")).await.unwrap();
            found.bytes().await.unwrap()
        });
        assert_eq!(&*read, b"hello");
    }
}

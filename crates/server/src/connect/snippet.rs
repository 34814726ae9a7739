//! Text to paste: into a shell, a program, a configuration.

use super::Endpoint;
use crate::tls::TRUST_VARIABLES;

/// The client of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// The connection string alone.
    Plain,
    /// A POSIX shell, to be evaluated.
    Env,
    /// Python, package `azure-data-tables`.
    Python,
    /// JavaScript, package `@azure/data-tables`.
    Js,
    /// C#, package `Azure.Data.Tables`.
    Dotnet,
    /// The command line `az`.
    Az,
    /// The section of a configuration file of `rclone`.
    Rclone,
}

impl Tool {
    /// All clients, by their words on the command line.
    pub const ALL: [(&'static str, Tool); 7] = [
        ("string", Tool::Plain),
        ("env", Tool::Env),
        ("python", Tool::Python),
        ("js", Tool::Js),
        ("dotnet", Tool::Dotnet),
        ("az", Tool::Az),
        ("rclone", Tool::Rclone),
    ];
}

/// The snippet, ending in a line feed.
pub fn snippet(tool: Tool, endpoint: &Endpoint) -> String {
    let string = endpoint.connection_string();
    match tool {
        Tool::Plain => format!("{string}\n"),
        Tool::Env => env(endpoint, &string),
        Tool::Az => format!(
            "{}az storage table list --output table\n",
            env(endpoint, &string)
        ),
        Tool::Python => python(endpoint, &string),
        Tool::Js => js(endpoint, &string),
        Tool::Dotnet => dotnet(endpoint, &string),
        Tool::Rclone => rclone(endpoint),
    }
}

/// Shell lines that make clients trust the server's certificate; empty where none are needed.
pub fn trust_lines(endpoint: &Endpoint) -> String {
    trust(endpoint, "export", &TRUST_VARIABLES)
}

/// One line for each variable that makes clients trust the server's certificate; `prefix` starts the line.
fn trust(endpoint: &Endpoint, prefix: &str, variables: &[&str]) -> String {
    let Some(authority) = &endpoint.authority else {
        return String::new();
    };
    let path = shell_quoted(&authority.to_string_lossy());
    let line = |variable| format!("{prefix} {variable}={path}\n");
    variables.iter().map(line).collect()
}

fn env(endpoint: &Endpoint, string: &str) -> String {
    format!(
        "export AZURE_STORAGE_CONNECTION_STRING={}\n{}",
        shell_quoted(string),
        trust_lines(endpoint)
    )
}

fn python(endpoint: &Endpoint, string: &str) -> String {
    format!(
        "# pip install azure-data-tables\n\
         {}from azure.data.tables import TableServiceClient\n\
         \n\
         service = TableServiceClient.from_connection_string({string:?})\n\
         table = service.create_table_if_not_exists(\"people\")\n\
         table.upsert_entity({{\"PartitionKey\": \"a\", \"RowKey\": \"1\", \"Name\": \"Ada\"}})\n\
         print(table.get_entity(\"a\", \"1\"))\n",
        trust(endpoint, "# start with", &["REQUESTS_CA_BUNDLE"])
    )
}

fn js(endpoint: &Endpoint, string: &str) -> String {
    // The client refuses plain HTTP by default.
    let options = if endpoint.scheme == "http" {
        ", { allowInsecureConnection: true }"
    } else {
        ""
    };
    format!(
        "// npm install @azure/data-tables\n\
         {}import {{ TableClient }} from \"@azure/data-tables\";\n\
         \n\
         const table = TableClient.fromConnectionString({string:?}, \"people\"{options});\n\
         await table.createTable();\n\
         await table.upsertEntity({{ partitionKey: \"a\", rowKey: \"1\", name: \"Ada\" }});\n\
         console.log(await table.getEntity(\"a\", \"1\"));\n",
        trust(endpoint, "// start with", &["NODE_EXTRA_CA_CERTS"])
    )
}

fn dotnet(endpoint: &Endpoint, string: &str) -> String {
    format!(
        "// dotnet add package Azure.Data.Tables\n\
         {}using Azure.Data.Tables;\n\
         \n\
         var table = new TableClient({string:?}, \"people\");\n\
         table.CreateIfNotExists();\n\
         table.UpsertEntity(new TableEntity(\"a\", \"1\") {{ [\"Name\"] = \"Ada\" }});\n\
         Console.WriteLine(table.GetEntity<TableEntity>(\"a\", \"1\").Value[\"Name\"]);\n",
        trust(endpoint, "// start with", &["SSL_CERT_FILE"])
    )
}

fn rclone(endpoint: &Endpoint) -> String {
    format!(
        "# rclone copies blobs; this server has none, so the remote holds nothing for now.\n\
         [partita]\n\
         type = azureblob\n\
         account = {}\n\
         key = {}\n",
        endpoint.account.name,
        endpoint.key()
    )
}

/// In single quotes, so that a shell does not interpret any character.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

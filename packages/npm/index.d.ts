/** A running server. */
export interface PartitaServer {
  /** What the clients of Azure Storage take. */
  readonly connectionString: string;
  readonly accountName: string;
  readonly accountKey: string;
  readonly tableEndpoint: string;
  readonly queueEndpoint: string;
  /** The process id of the server. */
  readonly pid: number;
  /** Stops the server and removes its data. Does nothing if it has stopped. */
  stop(): Promise<void>;
}

export interface PartitaOptions {
  /** Further arguments of `partita serve`, such as `["--targets", "azure"]`. */
  arguments?: readonly string[];
  /** How long to wait for the start, in milliseconds; 30,000 by default. */
  timeout?: number;
}

/**
 * Starts a server on free ports, with a folder of its own. It ends with `stop()` or with this process.
 *
 * @throws Error if the server does not start; the message has its output.
 */
export function startPartita(options?: PartitaOptions): Promise<PartitaServer>;

/** The path of the program. The variable PARTITA_PROGRAM names another one. */
export function programPath(): string;

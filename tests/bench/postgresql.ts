// A PostgreSQL of its own for a measured server: a new cluster that listens on a socket in its directory.

import { endChild, endingWithParent, runProgram } from "../support/child.ts";
import { endAll } from "./process_figures.ts";

/** A running cluster. */
export interface Postgresql {
  /** The directory with its socket. */
  readonly host: string;
  readonly database: string;
  readonly user: string;
  readonly pid: number;
  /** Kills all its processes at once. */
  kill(): Promise<void>;
  /** Starts it again with what it stored. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const MODULE = "/usr/lib/freeradius/rlm_sql_postgresql.so";
const VERSIONS = "/usr/lib/postgresql";
/** Debian's account of the server, which refuses to run as root. */
const ACCOUNT = "postgres";
const [USER, DATABASE] = ["radius", "postgres"];
/** The defaults, so that no other setting of this host applies: a commit is on the disk before it is answered. */
const DURABLE = { fsync: "on", synchronous_commit: "on", full_page_writes: "on" };
const UP_WITHIN_MS = 30_000;

/** Why FreeRADIUS cannot use it here, or `null`. Its packages are not in PEERS, because no test needs them. */
export function lackingPostgresql(): string | null {
  try {
    Deno.statSync(MODULE);
    Deno.statSync(VERSIONS);
    return null;
  } catch (fault) {
    if (fault instanceof Deno.errors.NotFound) {
      return "apt-get install --no-install-recommends postgresql freeradius-postgresql";
    }
    throw fault;
  }
}

/** Creates a cluster below `directory`, starts it, and runs `schema`. The directory can then be entered by its account. */
export async function startPostgresql(directory: string, schema: string): Promise<Postgresql> {
  const host = `${directory}/postgresql`;
  await Deno.mkdir(host, { mode: 0o700 });
  if (Deno.uid() === 0) {
    await Deno.chmod(directory, 0o711);
    await run("chown", [`${ACCOUNT}:`, host]);
  }
  const programs = await newestPrograms();
  await run(
    ...asAccount(`${programs}/initdb`, ["-D", `${host}/data`, "-U", USER, "-A", "trust", "--no-locale"]),
  );
  const settings = { ...DURABLE, listen_addresses: "", unix_socket_directories: host };
  const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const [command, args] = asAccount(
    ...endingWithParent(`${programs}/postgres`, ["-D", `${host}/data`, ...words]),
  );
  const launch = async () => {
    const child = new Deno.Command(command, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();
    await untilUp(child, { programs, host });
    return child;
  };
  let child = await launch();
  await run(`${programs}/psql`, psqlWords(host), schema);
  return {
    host,
    database: DATABASE,
    user: USER,
    get pid() {
      return child.pid;
    },
    async kill() {
      await endAll([child.pid]);
      await child.status;
    },
    async restart() {
      child = await launch();
    },
    // SIGTERM would wait for its clients, so the clients end first.
    stop: async () => void await endChild(child, 10_000),
  };
}

const psqlWords = (host: string) => ["-h", host, "-U", USER, "-d", DATABASE, "-q", "-v", "ON_ERROR_STOP=1"];

async function newestPrograms(): Promise<string> {
  const versions = await Array.fromAsync(Deno.readDir(VERSIONS), ({ name }) => Number(name));
  return `${VERSIONS}/${Math.max(...versions)}/bin`;
}

function asAccount(program: string, args: string[]): [program: string, args: string[]] {
  if (Deno.uid() !== 0) return [program, args];
  return ["setpriv", ["--reuid", ACCOUNT, "--regid", ACCOUNT, "--init-groups", program, ...args]];
}

async function run(program: string, args: readonly string[], stdin?: string): Promise<void> {
  // The account may not enter the directory of this process.
  const { code, stderr } = await runProgram(program, { args, stdin, cwd: "/" });
  if (code !== 0) throw new Error(`Cannot prepare PostgreSQL: ${program} ended with code ${code}: ${stderr}`);
}

async function untilUp(
  child: Deno.ChildProcess,
  { programs, host }: { programs: string; host: string },
): Promise<void> {
  let hasEnded = false;
  void child.status.then(() => hasEnded = true);
  for (const end = performance.now() + UP_WITHIN_MS; performance.now() < end && !hasEnded;) {
    const { code } = await runProgram(`${programs}/psql`, { args: [...psqlWords(host), "-c", "select 1"] });
    if (code === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await endChild(child, 0);
  throw new Error(`PostgreSQL did not come up in ${host}`);
}

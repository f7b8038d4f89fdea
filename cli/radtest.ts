// `deno task try`: runs a RADIUS login in the terminal, against any server.

import { createSystemRandom } from "../platform/runtime.ts";
import { createTerminal, isHelpRequested, parseCommandArgs, processStreams } from "./terminal.ts";
import { type ExitCode, type RadtestOptions, runLogin } from "./radtest/run_login.ts";
import { openRadiusSocket } from "./radtest/udp_exchange.ts";

const USAGE = `Run a RADIUS login in the terminal, against this gateway or any other server.

Usage:
  deno task try <host[:port]> [options]  Send an Access-Request, and prompt for the answer to each challenge.

Options:
  --secret <text>              Set the shared secret (default: COUNTERSIGN_TRY_SECRET, or prompt).
  --user <name>                Set the User-Name (default: prompt).
  --password <text>            Set the first password, which may be empty (default: prompt).
  --nas-identifier <name>      Set the NAS-Identifier (default: countersign-try).
  --nas-port <n>               Set the NAS-Port, 0 to 4294967295. Use none to omit it (default: random).
  --calling-station-id <text>  Set the Calling-Station-Id (default: none).
  --timeout-ms <ms>            Wait this long for a reply before the packet is sent again (default: 3000).
  --retries <n>                Send the packet again this many times (default: 2).
  --status                     Check the server with Status-Server (RFC 5997), without a login.
  --help                       Show this help.

Other users of this host can see the command line. To hide the secret and the password, leave them out.
Exit codes: 0 if accepted, 1 if rejected, 2 for no usable reply or wrong usage.
`;

type ParsedRadtestArgs =
  | { readonly kind: "run"; readonly options: RadtestOptions }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly problem: string };

const DEFAULT_PORT = 1812;
const DEFAULT_NAS_IDENTIFIER = "countersign-try";
const SECRET_VARIABLE = "COUNTERSIGN_TRY_SECRET";

/** Reads the arguments and the environment. A problem is a sentence. */
export function parseRadtestArgs(
  args: readonly string[],
  env: { get(name: string): string | undefined },
): ParsedRadtestArgs {
  if (isHelpRequested(args)) return { kind: "help" };
  try {
    return { kind: "run", options: optionsOf(args, env) };
  } catch (fault) {
    return { kind: "usage", problem: fault instanceof Error ? fault.message : String(fault) };
  }
}

function optionsOf(
  args: readonly string[],
  env: { get(name: string): string | undefined },
): RadtestOptions {
  const parsed = parseCommandArgs(args, {
    secret: { type: "string" },
    user: { type: "string" },
    password: { type: "string" },
    "nas-port": { type: "string" },
    "nas-identifier": { type: "string" },
    "calling-station-id": { type: "string" },
    "timeout-ms": { type: "string" },
    retries: { type: "string" },
    status: { type: "boolean" },
  });
  if (!parsed.ok) throw new Error(`Cannot use the arguments: ${parsed.problem}.`);
  const { values, words: [address, ...rest] } = parsed;
  if (address === undefined || rest.length > 0) {
    throw new Error("Enter one address: <host[:port]>. For help, use --help.");
  }
  const nasPort = values["nas-port"];
  return {
    ...parseAddress(address),
    secret: values.secret ?? env.get(SECRET_VARIABLE) ?? null,
    user: values.user ?? null,
    password: values.password ?? null,
    nasPort: nasPort === "none"
      ? null
      : nasPort === undefined
      ? randomPort()
      : parseWhole(nasPort, { name: "--nas-port", min: 0, max: 0xffffffff }),
    nasIdentifier: values["nas-identifier"] ?? DEFAULT_NAS_IDENTIFIER,
    callingStationId: values["calling-station-id"] ?? null,
    timeoutMs: parseWhole(values["timeout-ms"] ?? "3000", { name: "--timeout-ms", min: 1, max: 600_000 }),
    tries: 1 + parseWhole(values.retries ?? "2", { name: "--retries", min: 0, max: 100 }),
    status: values.status === true,
  };
}

/** With the same NAS-Port, the gateway could take a second login for a retransmission of the first. */
function randomPort(): number {
  return 1 + Math.floor(Math.random() * 0x7ffffffe);
}

/** `host`, `host:port`, `[v6]`, `[v6]:port`, or a bare IPv6 address. */
function parseAddress(address: string): { hostname: string; port: number } {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?$/.exec(address);
  const plain = /^([^:[\]\s]+)(?::(\d{1,5}))?$/.exec(address);
  const bareV6 = /^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(address);
  const [, hostname, port] = bracketed ?? plain ?? (bareV6 ? [address, address, undefined] : []);
  if (hostname === undefined) {
    throw new Error(`"${address}" is not an address. Use <host[:port]>, with [ ] around an IPv6 address.`);
  }
  return {
    hostname,
    port: port === undefined ? DEFAULT_PORT : parseWhole(port, { name: "The port", min: 1, max: 65535 }),
  };
}

function parseWhole(text: string, { name, min, max }: { name: string; min: number; max: number }): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}".`);
}

async function main(args: readonly string[]): Promise<ExitCode> {
  const read = parseRadtestArgs(args, Deno.env);
  if (read.kind === "help") {
    console.log(USAGE);
    return 0;
  }
  if (read.kind === "usage") {
    console.error(read.problem);
    return 2;
  }
  const socket = openRadiusSocket(read.options);
  try {
    return await runLogin(read.options, {
      terminal: createTerminal(processStreams()),
      socket,
      random: createSystemRandom(),
      nowMs: () => performance.now(),
    });
  } catch (fault) {
    console.error(
      `Cannot reach ${read.options.hostname}: ${fault instanceof Error ? fault.message : String(fault)}`,
    );
    return 2;
  } finally {
    socket.close();
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));

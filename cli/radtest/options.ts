// The words on the command line of `deno task try`.

import { asksHelp, parseCommandArgs } from "../parse_args.ts";

/** What a try needs; what is `null` is asked for in the terminal. */
export interface TryOptions {
  readonly hostname: string;
  readonly port: number;
  readonly secret: string | null;
  readonly user: string | null;
  readonly password: string | null;
  readonly nasPort: number | null;
  readonly callingStationId: string | null;
  readonly timeoutMs: number;
  /** Sends of one packet: the first and its repetitions. */
  readonly tries: number;
  readonly status: boolean;
}

export type ReadOptions =
  | { readonly kind: "run"; readonly options: TryOptions }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly problem: string };

export const HELP = `Play a RADIUS login in the terminal, against this gateway or any other server.

  deno task try <host[:port]> [options]          e.g. deno task try 127.0.0.1 --user alice

  --secret <text>              the shared secret; else COUNTERSIGN_TRY_SECRET, else it is asked for
  --user <name>                the User-Name; else it is asked for
  --password <text>            the first password, may be empty; else it is asked for
  --nas-port <n>               NAS-Port, 0 to 4294967295 (a random one; "none" sends none)
  --calling-station-id <text>  Calling-Station-Id (none)
  --timeout-ms <ms>            how long to wait for an answer before the same packet is sent again (3000)
  --retries <n>                how often it is sent again (2)
  --status                     ask with Status-Server (RFC 5997) whether the server is there, without a login
  --help                       this text

What is given on the command line can be seen by others on this host: leave the secret and the password away to be asked.
Exit code 0: accepted; 1: rejected; 2: no answer, an answer that cannot be used, or wrong use.
`;

const DEFAULT_PORT = 1812;
const SECRET_VARIABLE = "COUNTERSIGN_TRY_SECRET";

/** Reads the words and the environment; every fault is a sentence. */
export function readOptions(
  args: readonly string[],
  env: { get(name: string): string | undefined },
): ReadOptions {
  if (asksHelp(args)) return { kind: "help" };
  try {
    return { kind: "run", options: optionsOf(args, env) };
  } catch (fault) {
    return { kind: "usage", problem: fault instanceof Error ? fault.message : String(fault) };
  }
}

function optionsOf(
  args: readonly string[],
  env: { get(name: string): string | undefined },
): TryOptions {
  const parsed = parseCommandArgs(args, {
    secret: { type: "string" },
    user: { type: "string" },
    password: { type: "string" },
    "nas-port": { type: "string" },
    "calling-station-id": { type: "string" },
    "timeout-ms": { type: "string" },
    retries: { type: "string" },
    status: { type: "boolean" },
  });
  if (!parsed.ok) throw new Error(`Cannot use the arguments: ${parsed.problem}`);
  const { values, words: [address, ...rest] } = parsed;
  if (address === undefined || rest.length > 0) {
    throw new Error("Give one address: <host[:port]>; --help says more");
  }
  const nasPort = values["nas-port"];
  return {
    ...readAddress(address),
    secret: values.secret ?? env.get(SECRET_VARIABLE) ?? null,
    user: values.user ?? null,
    password: values.password ?? null,
    nasPort: nasPort === "none"
      ? null
      : nasPort === undefined
      ? randomPort()
      : whole(nasPort, { name: "--nas-port", min: 0, max: 0xffffffff }),
    callingStationId: values["calling-station-id"] ?? null,
    timeoutMs: whole(values["timeout-ms"] ?? "3000", { name: "--timeout-ms", min: 1, max: 600_000 }),
    tries: 1 + whole(values.retries ?? "2", { name: "--retries", min: 0, max: 100 }),
    status: values.status === true,
  };
}

/** Two logins must differ in it, or the gateway takes the second for a repetition of the first. */
function randomPort(): number {
  return 1 + Math.floor(Math.random() * 0x7ffffffe);
}

/** `host`, `host:port`, `[v6]`, `[v6]:port`, or a bare IPv6 address. */
export function readAddress(address: string): { hostname: string; port: number } {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?$/.exec(address);
  const plain = /^([^:[\]\s]+)(?::(\d{1,5}))?$/.exec(address);
  const bareV6 = /^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(address);
  const [, hostname, port] = bracketed ?? plain ?? (bareV6 ? [address, address, undefined] : []);
  if (hostname === undefined) {
    throw new Error(`"${address}" is no address: <host[:port]>, with [ ] around IPv6`);
  }
  return {
    hostname,
    port: port === undefined ? DEFAULT_PORT : whole(port, { name: "The port", min: 1, max: 65535 }),
  };
}

function whole(text: string, { name, min, max }: { name: string; min: number; max: number }): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new Error(`${name} must be a whole number from ${min} to ${max}, not "${text}"`);
}

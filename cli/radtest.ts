// `deno task try`: runs a RADIUS login in the terminal, against any server.

import { COMMAND } from "../platform/command_name.ts";
import {
  createRequests,
  type RadtestReply,
  type RadtestRequest,
  type ReplyFault,
  type Requests,
} from "./radtest_packets.ts";
import {
  createLoginMethod,
  LOGIN_METHODS,
  type LoginMethod,
  type LoginMethodName,
} from "./radtest_methods.ts";
import { exchange, type Exchanged, openRadiusSocket, type RadiusSocket } from "./radtest_packets.ts";
import { openTlsSocket, type RadtestTls, UnreadableFile } from "./radtest_tls.ts";
import type { SharedSecret } from "../radius/protocol/authenticity.ts";
import type { RadiusProtocol } from "../radius/protocol/radius_tls.ts";
import {
  createTerminal,
  isHelpRequested,
  parseCommandArgs,
  processStreams,
  type Terminal,
} from "./terminal.ts";
import { escapeLines } from "../platform/control_characters.ts";
import { createSystemRandom, type Random } from "../platform/runtime.ts";

const USAGE = `Run a RADIUS login in the terminal, against this gateway or any other server.

Usage:
  ${COMMAND} try <host[:port]> [options]  Send an Access-Request, and prompt for the answer to each challenge.

Options:
  --secret <text>              Set the shared secret (default: COUNTERSIGN_TRY_SECRET, or prompt).
  --user <name>                Set the User-Name (default: prompt).
  --password <text>            Set the first password, which may be empty (default: prompt).
  --method <name>              Prove the password with pap, chap, mschapv2 or eap-gtc (default: pap).
  --nas-identifier <name>      Set the NAS-Identifier (default: countersign-try).
  --nas-port <n>               Set the NAS-Port, 0 to 4294967295. Use none to omit it (default: random).
  --calling-station-id <text>  Set the Calling-Station-Id (default: none).
  --timeout-ms <ms>            Wait this long for a reply before the packet is sent again (default: 3000).
  --retries <n>                Send the packet again this many times (default: 2).
  --status                     Check the server with Status-Server (RFC 5997), without a login.
  --tls                        Use TLS (RadSec), on port 2083 unless given, without a shared secret.
  --tls-cert <file>            Set the PEM file with the certificate of this client.
  --tls-key <file>             Set the PEM file with its key.
  --tls-ca <file>              Set the PEM file with the authority of the server's certificate.
  --tls-name <name>            Expect this name in the server's certificate (default: the host).
  --radius-version <version>   Offer only 1.0 or 1.1 (default: both).
  --help                       Show this help.

Other users of this host can see the command line. To hide the secret and the password, leave them out.
Exit codes: 0 if accepted, 1 if rejected, 2 for no usable reply or wrong usage.
`;

type ParsedRadtestArgs =
  | { readonly kind: "run"; readonly options: RadtestOptions }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly problem: string };

const DEFAULT_PORT = 1812;
const DEFAULT_TLS_PORT = 2083;
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
    method: { type: "string" },
    "nas-port": { type: "string" },
    "nas-identifier": { type: "string" },
    "calling-station-id": { type: "string" },
    "timeout-ms": { type: "string" },
    retries: { type: "string" },
    status: { type: "boolean" },
    tls: { type: "boolean" },
    "tls-cert": { type: "string" },
    "tls-key": { type: "string" },
    "tls-ca": { type: "string" },
    "tls-name": { type: "string" },
    "radius-version": { type: "string" },
  });
  if (!parsed.ok) throw new Error(`Cannot use the arguments: ${parsed.problem}.`);
  const { values, words: [address, ...rest] } = parsed;
  if (address === undefined || rest.length > 0) {
    throw new Error("Enter one address: <host[:port]>. For help, use --help.");
  }
  const nasPort = values["nas-port"];
  const ofTls = tlsOf(values);
  return {
    ...parseAddress(address, ofTls === null ? DEFAULT_PORT : DEFAULT_TLS_PORT),
    tls: ofTls,
    secret: values.secret ?? env.get(SECRET_VARIABLE) ?? null,
    user: values.user ?? null,
    password: values.password ?? null,
    method: parseMethod(values.method ?? "pap"),
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

const VERSIONS: Readonly<Record<string, readonly RadiusProtocol[]>> = {
  "": ["radius/1.1", "radius/1.0"],
  "1.0": ["radius/1.0"],
  "1.1": ["radius/1.1"],
};

function tlsOf(
  values:
    & Readonly<Partial<Record<"tls-cert" | "tls-key" | "tls-ca" | "tls-name" | "radius-version", string>>>
    & {
      readonly tls?: boolean | undefined;
    },
): RadtestTls | null {
  if (values.tls !== true) {
    const other = Object.keys(values).find((name) => name.startsWith("tls-") || name === "radius-version");
    if (other !== undefined) throw new Error(`--${other} needs --tls.`);
    return null;
  }
  const file = (name: "tls-cert" | "tls-key" | "tls-ca"): string => {
    const path = values[name];
    if (path === undefined) throw new Error(`--tls needs --${name}.`);
    return path;
  };
  const version = values["radius-version"] ?? "";
  const protocols = VERSIONS[version];
  if (protocols === undefined) throw new Error(`--radius-version must be 1.0 or 1.1, not "${version}".`);
  return {
    ...{ cert: file("tls-cert"), key: file("tls-key"), ca: file("tls-ca") },
    ...{ name: values["tls-name"] ?? null, protocols },
  };
}

function parseMethod(name: string): LoginMethodName {
  const method = LOGIN_METHODS.find((one) => one === name);
  if (method === undefined) {
    throw new Error(`"${name}" is not a method. Use ${LOGIN_METHODS.join(", ")}.`);
  }
  return method;
}

/** With the same NAS-Port, the gateway could take a second login for a retransmission of the first. */
function randomPort(): number {
  return 1 + Math.floor(Math.random() * 0x7ffffffe);
}

/** `host`, `host:port`, `[v6]`, `[v6]:port`, or a bare IPv6 address. */
function parseAddress(address: string, defaultPort: number): { hostname: string; port: number } {
  const bracketed = /^\[([0-9a-fA-F:.]+)\](?::(\d{1,5}))?$/.exec(address);
  const plain = /^([^:[\]\s]+)(?::(\d{1,5}))?$/.exec(address);
  const bareV6 = /^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$/.test(address);
  const [, hostname, port] = bracketed ?? plain ?? (bareV6 ? [address, address, undefined] : []);
  if (hostname === undefined) {
    throw new Error(`"${address}" is not an address. Use <host[:port]>, with [ ] around an IPv6 address.`);
  }
  return {
    hostname,
    port: port === undefined ? defaultPort : parseWhole(port, { name: "The port", min: 1, max: 65535 }),
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
  const { tls } = read.options;
  const terminal = createTerminal(processStreams());
  const parts = { terminal, random: createSystemRandom(), nowMs: () => performance.now() };
  let socket: RadiusSocket | null = null;
  try {
    if (tls === null) {
      socket = openRadiusSocket(read.options);
      return await runLogin(read.options, { ...parts, socket });
    }
    const { protocol, secret, ...connection } = await openTlsSocket(read.options, tls);
    socket = connection;
    terminal.show(`Connected with TLS, ${protocol}`);
    return await runLogin(read.options, { ...parts, socket, secret });
  } catch (fault) {
    const problem = fault instanceof Error ? fault.message : String(fault);
    console.error(
      fault instanceof UnreadableFile ? problem : `Cannot reach ${read.options.hostname}: ${problem}`,
    );
    return 2;
  } finally {
    socket?.close();
  }
}

/** The options of a login. The terminal prompts for a secret, user or password that is `null`. */
export interface RadtestOptions {
  readonly hostname: string;
  readonly port: number;
  readonly secret: string | null;
  readonly user: string | null;
  readonly password: string | null;
  readonly method: LoginMethodName;
  readonly nasIdentifier: string;
  readonly nasPort: number | null;
  readonly callingStationId: string | null;
  readonly timeoutMs: number;
  /** How often one packet is sent, including the first time. */
  readonly tries: number;
  readonly status: boolean;
  /** `null`: UDP. */
  readonly tls: RadtestTls | null;
}

/** 0: accepted; 1: rejected; 2: no usable reply. */
type ExitCode = 0 | 1 | 2;

interface RadtestDeps {
  readonly terminal: Terminal;
  readonly socket: RadiusSocket;
  /** What protects packets instead of the shared secret: on a TLS connection. */
  readonly secret?: SharedSecret;
  readonly random: Random;
  readonly nowMs: () => number;
}

/** Limits a server that never stops sending challenges. */
const MAX_ROUNDS = 50;

const FAULTS = {
  malformed: "The server replied, but the packet is malformed.",
  wrong_response_authenticator:
    "The server replied, but the Response Authenticator is wrong: the server has another secret for this address, or the reply is forged.",
  wrong_message_authenticator:
    "The server replied, but the Message-Authenticator is wrong and the Response Authenticator is right: a device on the way changes packets.",
  malformed_hidden_value:
    "The server replied, but a hidden value is malformed: the server hides it with another secret or another request.",
  no_reply_code: "The server replied, but the packet code is not a reply to a login.",
} as const satisfies Record<ReplyFault, string>;

/** Runs the login, or the Status-Server check. Throws only network errors. */
export async function runLogin(options: RadtestOptions, deps: RadtestDeps): Promise<ExitCode> {
  const { terminal } = deps;
  const given = await complete(options, deps);
  if (given === null) return endOfInput(terminal);
  const requests = createRequests(given.secret, deps.random);
  const method = createLoginMethod(options.method, { ...given, random: deps.random });
  const send = (request: RadtestRequest) => sendOne(request, { requests, options, method, deps });
  if (options.status) return await runStatusCheck(send, { requests, terminal });

  let proof = method.begin(given.password ?? "");
  let state: Uint8Array | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { nasIdentifier, nasPort, callingStationId } = options;
    const reply: RadtestReply | null = await send(
      requests.login({ user: given.user, proof, state, nasIdentifier, nasPort, callingStationId }),
    );
    if (reply === null) return 2;
    if (reply.name === "Access-Accept") return method.describe(reply).isRefused === true ? 2 : 0;
    if (reply.name === "Access-Reject") return 1;
    if (reply.name !== "Access-Challenge") return unexpected(terminal, reply);
    const answer = await answerTo(reply, { method, terminal });
    if (answer === null) return 2;
    [proof, state] = [answer, reply.state];
  }
  terminal.show(`Stopped after ${MAX_ROUNDS} challenges.`);
  return 2;
}

/** The attributes that answer a challenge; `null`: it cannot be answered, and the terminal shows why. */
async function answerTo(
  challenge: RadtestReply,
  { method, terminal }: { method: LoginMethod; terminal: Terminal },
): Promise<ReturnType<LoginMethod["begin"]> | null> {
  if (challenge.state === null) {
    terminal.show("The challenge contains no State, so it cannot be answered.");
    return null;
  }
  const next = method.next(challenge);
  if (next.kind === "send") return next.attributes;
  if (next.kind === "fault") {
    terminal.show(next.problem);
    return null;
  }
  const typed = await terminal.ask("> ", { hidden: next.hidden });
  if (typed !== null) return next.answer(typed);
  endOfInput(terminal);
  return null;
}

async function runStatusCheck(
  send: (request: RadtestRequest) => Promise<RadtestReply | null>,
  { requests, terminal }: { requests: Requests; terminal: Terminal },
): Promise<ExitCode> {
  const reply = await send(requests.status());
  if (reply === null) return 2;
  return reply.name === "Access-Accept" ? 0 : unexpected(terminal, reply);
}

/** Prompts for missing options. */
async function complete(
  options: RadtestOptions,
  { terminal, secret: ofTls }: RadtestDeps,
): Promise<{ secret: string | SharedSecret; user: string; password: string | null } | null> {
  const secret = ofTls ?? options.secret ?? await terminal.ask("Shared secret: ", { hidden: true });
  if (secret === null) return null;
  if (options.status) return { secret, user: "", password: "" };
  const user = options.user ?? await terminal.ask("User-Name: ");
  if (user === null) return null;
  // With EAP, the server asks for the password.
  if (options.password !== null || options.method === "eap-gtc") {
    return { secret, user, password: options.password };
  }
  const password = await terminal.ask("Password: ", { hidden: true });
  return password === null ? null : { secret, user, password };
}

async function sendOne(
  request: RadtestRequest,
  { requests, options, method, deps }: {
    requests: Requests;
    options: RadtestOptions;
    method: LoginMethod;
    deps: RadtestDeps;
  },
): Promise<RadtestReply | null> {
  // RFC 6614 §2.5: TCP repeats what is lost.
  const isTls = deps.secret !== undefined;
  const tries = isTls ? 1 : options.tries;
  const timeoutMs = isTls ? options.timeoutMs * options.tries : options.timeoutMs;
  const exchanged = await exchange(deps.socket, {
    request,
    read: requests.read,
    limits: { timeoutMs, tries, nowMs: deps.nowMs },
  });
  if (exchanged.kind === "silence") {
    for (const line of silenceLines(exchanged.fault, { timeoutMs, tries, isTls })) deps.terminal.show(line);
    return null;
  }
  const report = options.status ? [] : method.describe(exchanged.reply).lines;
  for (const line of replyLines(exchanged, report)) deps.terminal.show(line);
  return exchanged.reply;
}

function silenceLines(
  fault: ReplyFault | null,
  { timeoutMs, tries, isTls }: Pick<RadtestOptions, "timeoutMs" | "tries"> & { isTls: boolean },
): string[] {
  const seconds = Number((timeoutMs / 1000).toFixed(3));
  if (fault !== null) return [FAULTS[fault]];
  if (isTls) {
    return [`No reply within ${seconds} s. The connection is open, and the server's log has the reason.`];
  }
  return [
    `No reply after ${tries} ${tries === 1 ? "attempt" : "attempts"} of ${seconds} s. Possible causes:`,
    "  The server does not know this host as a client.",
    "  The server has another shared secret. It drops signed requests that do not match.",
    "  No server listens on this address and port, or a firewall blocks the packets.",
    "  The server holds the request until a user approves it. Wait longer, with --timeout-ms.",
  ];
}

/** @param report what the method says of the reply */
function replyLines(
  { reply, elapsedMs, sends }: Exchanged & { kind: "reply" },
  report: readonly string[],
): string[] {
  const again = sends > 1 ? `, sent ${sends} times` : "";
  const lines = [`${reply.name} (${elapsedMs.toFixed(1)} ms${again})${stateText(reply.state)}`];
  if (!reply.signed) {
    lines.push("  No Message-Authenticator (RFC 3579 §3.2): the reply could be forged");
  }
  for (const text of [reply.message, ...report]) {
    if (text !== "") lines.push(...escapeLines(text).split("\n").map((line) => `  ${line}`));
  }
  for (const attribute of reply.attributes) lines.push(`  ${escapeLines(attribute)}`);
  return lines;
}

/** The name of the step in State. The part after the first dot may be a token, so it is not shown. */
function stateText(state: Uint8Array | null): string {
  if (state === null) return "";
  const [name = ""] = new TextDecoder().decode(state).split(".");
  return /^[A-Za-z0-9_-]{1,64}$/.test(name) ? ` at ${name}` : "";
}

function unexpected(terminal: Terminal, reply: RadtestReply): ExitCode {
  terminal.show(`${reply.name} is not a reply to this request.`);
  return 2;
}

function endOfInput(terminal: Terminal): ExitCode {
  terminal.show("The input ended before the login.");
  return 2;
}

if (import.meta.main) Deno.exit(await main(Deno.args));

// Runs one RADIUS login: sends requests, shows the replies, and prompts for answers until the login ends.

import {
  createRequests,
  type RadtestReply,
  type RadtestRequest,
  type ReplyFault,
  type Requests,
} from "./packets.ts";
import { exchange, type Exchanged, type RadiusSocket } from "./udp_exchange.ts";
import { escapeLines } from "../../platform/control_characters.ts";
import type { Random } from "../../platform/runtime.ts";
import type { Terminal } from "../terminal.ts";

/** The options of a login. The terminal prompts for a secret, user or password that is `null`. */
export interface RadtestOptions {
  readonly hostname: string;
  readonly port: number;
  readonly secret: string | null;
  readonly user: string | null;
  readonly password: string | null;
  readonly nasIdentifier: string;
  readonly nasPort: number | null;
  readonly callingStationId: string | null;
  readonly timeoutMs: number;
  /** How often one packet is sent, including the first time. */
  readonly tries: number;
  readonly status: boolean;
}

/** 0: accepted; 1: rejected; 2: no usable reply. */
export type ExitCode = 0 | 1 | 2;

export interface RadtestDeps {
  readonly terminal: Terminal;
  readonly socket: RadiusSocket;
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
  no_reply_code: "The server replied, but the packet code is not a reply to a login.",
} as const satisfies Record<ReplyFault, string>;

/** Runs the login, or the Status-Server check. Throws only network errors. */
export async function runLogin(options: RadtestOptions, deps: RadtestDeps): Promise<ExitCode> {
  const { terminal } = deps;
  const given = await complete(options, terminal);
  if (given === null) return endOfInput(terminal);
  const requests = createRequests(given.secret, deps.random);
  const send = (request: RadtestRequest) => sendOne(request, { requests, options, deps });
  if (options.status) return await runStatusCheck(send, { requests, terminal });

  let answer: string = given.password;
  let state: Uint8Array | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { nasIdentifier, nasPort, callingStationId } = options;
    const reply: RadtestReply | null = await send(
      requests.login({ user: given.user, password: answer, state, nasIdentifier, nasPort, callingStationId }),
    );
    if (reply === null) return 2;
    if (reply.name === "Access-Accept") return 0;
    if (reply.name === "Access-Reject") return 1;
    if (reply.name !== "Access-Challenge") return unexpected(terminal, reply);
    if (reply.state === null) {
      terminal.show("The challenge contains no State, so it cannot be answered.");
      return 2;
    }
    const typed = await terminal.ask("> ");
    if (typed === null) return endOfInput(terminal);
    [answer, state] = [typed, reply.state];
  }
  terminal.show(`Stopped after ${MAX_ROUNDS} challenges.`);
  return 2;
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
  terminal: Terminal,
): Promise<{ secret: string; user: string; password: string } | null> {
  const secret = options.secret ?? await terminal.ask("Shared secret: ", { hidden: true });
  if (secret === null) return null;
  if (options.status) return { secret, user: "", password: "" };
  const user = options.user ?? await terminal.ask("User-Name: ");
  if (user === null) return null;
  const password = options.password ?? await terminal.ask("Password: ", { hidden: true });
  return password === null ? null : { secret, user, password };
}

async function sendOne(
  request: RadtestRequest,
  { requests, options, deps }: { requests: Requests; options: RadtestOptions; deps: RadtestDeps },
): Promise<RadtestReply | null> {
  const { timeoutMs, tries } = options;
  const exchanged = await exchange(deps.socket, {
    request,
    read: requests.read,
    limits: { timeoutMs, tries, nowMs: deps.nowMs },
  });
  if (exchanged.kind === "silence") {
    for (const line of silenceLines(exchanged.fault, options)) deps.terminal.show(line);
    return null;
  }
  for (const line of replyLines(exchanged)) deps.terminal.show(line);
  return exchanged.reply;
}

function silenceLines(fault: ReplyFault | null, { timeoutMs, tries }: RadtestOptions): string[] {
  const seconds = Number((timeoutMs / 1000).toFixed(3));
  if (fault !== null) return [FAULTS[fault]];
  return [
    `No reply after ${tries} ${tries === 1 ? "attempt" : "attempts"} of ${seconds} s. Possible causes:`,
    "  The server does not know this host as a client.",
    "  The server has another shared secret. It drops signed requests that do not match.",
    "  No server listens on this address and port, or a firewall blocks the packets.",
  ];
}

function replyLines({ reply, elapsedMs, sends }: Exchanged & { kind: "reply" }): string[] {
  const again = sends > 1 ? `, sent ${sends} times` : "";
  const lines = [`${reply.name} (${elapsedMs.toFixed(1)} ms${again})${stateText(reply.state)}`];
  if (!reply.signed) {
    lines.push("  No Message-Authenticator (RFC 3579 §3.2): the reply could be forged");
  }
  if (reply.message !== "") {
    lines.push(...escapeLines(reply.message).split("\n").map((line) => `  ${line}`));
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

// Plays one login: sends, shows what comes back, asks, answers, until it is accepted or rejected or there is silence.

import type { TryOptions } from "./options.ts";
import { createRequests, type ReplyFault, type Requests, type TryReply, type TryRequest } from "./packets.ts";
import { printable, type Terminal } from "./terminal.ts";
import { exchange, type Exchanged, type Wire } from "./udp_exchange.ts";
import type { Random } from "../../platform/runtime.ts";

/** 0: accepted; 1: rejected; 2: no answer, or none that can be used. */
export type ExitCode = 0 | 1 | 2;

/** What a try touches of the world. */
export interface TryWorld {
  readonly terminal: Terminal;
  readonly wire: Wire;
  readonly random: Random;
  readonly nowMs: () => number;
}

/** A login that asks more often than this is a server that never ends. */
const MAX_ROUNDS = 50;

const FAULTS = {
  broken: "An answer came, but its structure is broken.",
  wrong_response_authenticator:
    "An answer came, but its Response Authenticator is wrong: the server has another secret for this address (or the answer is forged).",
  wrong_message_authenticator:
    "An answer came, but its Message-Authenticator is wrong, though its Response Authenticator is right: something between here and the server changes packets.",
  no_reply_code: "An answer came, but its code is none that answers a login.",
} as const satisfies Record<ReplyFault, string>;

/** Plays the login, or asks with Status-Server. Throws only what the network throws. */
export async function play(options: TryOptions, world: TryWorld): Promise<ExitCode> {
  const { terminal } = world;
  const given = await complete(options, terminal);
  if (given === null) return endOfInput(terminal);
  const requests = createRequests(given.secret, world.random);
  const send = (request: TryRequest) => sendOne(request, { requests, options, world });
  if (options.status) return await playStatus(send, { requests, terminal });

  let answer: string = given.password;
  let state: Uint8Array | null = null;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { nasPort, callingStationId } = options;
    const reply: TryReply | null = await send(
      requests.login({ user: given.user, password: answer, state, nasPort, callingStationId }),
    );
    if (reply === null) return 2;
    if (reply.name === "Access-Accept") return 0;
    if (reply.name === "Access-Reject") return 1;
    if (reply.name !== "Access-Challenge") return unexpected(terminal, reply);
    if (reply.state === null) {
      terminal.show("The challenge carries no State, so it cannot be answered.");
      return 2;
    }
    const typed = await terminal.ask("> ");
    if (typed === null) return endOfInput(terminal);
    [answer, state] = [typed, reply.state];
  }
  terminal.show(`Given up after ${MAX_ROUNDS} rounds.`);
  return 2;
}

async function playStatus(
  send: (request: TryRequest) => Promise<TryReply | null>,
  { requests, terminal }: { requests: Requests; terminal: Terminal },
): Promise<ExitCode> {
  const reply = await send(requests.status());
  if (reply === null) return 2;
  return reply.name === "Access-Accept" ? 0 : unexpected(terminal, reply);
}

/** Asks for what was not given. */
async function complete(
  options: TryOptions,
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
  request: TryRequest,
  { requests, options, world }: { requests: Requests; options: TryOptions; world: TryWorld },
): Promise<TryReply | null> {
  const { timeoutMs, tries } = options;
  const exchanged = await exchange(world.wire, {
    request,
    read: requests.read,
    patience: { timeoutMs, tries, nowMs: world.nowMs },
  });
  if (exchanged.kind === "silence") {
    for (const line of silenceLines(exchanged.fault, options)) world.terminal.show(line);
    return null;
  }
  for (const line of replyLines(exchanged)) world.terminal.show(line);
  return exchanged.reply;
}

function silenceLines(fault: ReplyFault | null, { timeoutMs, tries }: TryOptions): string[] {
  const seconds = Number((timeoutMs / 1000).toFixed(3));
  if (fault !== null) return [FAULTS[fault]];
  return [
    `No answer after ${tries} ${
      tries === 1 ? "try" : "tries"
    } of ${seconds} s. A RADIUS server is silent when`,
    "  it does not know this host as a client,",
    "  the secret is another one there (this request was signed),",
    "  or nothing listens on that address and port, or a firewall is in between.",
  ];
}

function replyLines({ reply, elapsedMs, sends }: Exchanged & { kind: "reply" }): string[] {
  const again = sends > 1 ? `, sent ${sends} times` : "";
  const lines = [`${reply.name} (${elapsedMs.toFixed(1)} ms${again})${stateText(reply.state)}`];
  if (!reply.signed) {
    lines.push("  carries no Message-Authenticator (RFC 3579 §3.2): a forger could have made it");
  }
  if (reply.message !== "") lines.push(...printable(reply.message).split("\n").map((line) => `  ${line}`));
  for (const attribute of reply.attributes) lines.push(`  ${printable(attribute)}`);
  return lines;
}

/** The readable part of State: a step's name. What follows the first dot may be a token and is not shown. */
function stateText(state: Uint8Array | null): string {
  if (state === null) return "";
  const [name = ""] = new TextDecoder().decode(state).split(".");
  return /^[A-Za-z0-9_-]{1,64}$/.test(name) ? ` at ${name}` : "";
}

function unexpected(terminal: Terminal, reply: TryReply): ExitCode {
  terminal.show(`${reply.name} does not answer what was asked.`);
  return 2;
}

function endOfInput(terminal: Terminal): ExitCode {
  terminal.show("The input ended.");
  return 2;
}

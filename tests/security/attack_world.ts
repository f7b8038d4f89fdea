// Shared by the attack tests: sessions of a NAS, floods of datagrams, users of the directory, and half-open connections.

import { assertEquals } from "@std/assert";
import type { RunningProgram } from "../support/program.ts";
import { CODES, type Reply, type RequestParts } from "../support/radius_packets.ts";
import { totpCode } from "../support/totp.ts";

// Shared by the attack tests: metrics of the running program, wrong TOTP codes, users of the directory, and datagram
// floods.

/** The seed of every TOTP pairing of the attack tests. */
export const SEED = new TextEncoder().encode("12345678901234567890");

const SCIM_NAME = "attack-test";
const SCIM_PASSWORD = "password-of-the-attack-tests";
/** Settings that {@link addUser} needs. */
export const SCIM_TOML = `
[[scim.credential]]
name = "${SCIM_NAME}"
password = "${SCIM_PASSWORD}"
targets = ["default"]
access = "write"
`;

/** The code that is valid now. */
export function rightCode(): string {
  return totpCode(SEED, Date.now());
}

/** Six digits that are not valid in any present time step. */
export function wrongCode(): string {
  const near = [-60_000, -30_000, 0, 30_000, 60_000].map((offMs) => totpCode(SEED, Date.now() + offMs));
  for (let digit = 0; digit < 10; digit++) {
    const code = String(digit).repeat(6);
    if (!near.includes(code)) return code;
  }
  throw new Error("Cannot find a wrong code");
}

/** Creates a user over SCIM. */
export async function addUser(gateway: RunningProgram, user: Record<string, unknown>): Promise<void> {
  const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
    method: "POST",
    headers: {
      "content-type": "application/scim+json",
      authorization: `Basic ${btoa(`${SCIM_NAME}:${SCIM_PASSWORD}`)}`,
    },
    body: JSON.stringify(user),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`Cannot create a user: ${response.status} ${text}`);
}

/** Datagrams between two barriers: fewer than a socket buffers. */
const WAVE = 50;

/** Sends one login for each name without waiting for its reply; returns when the program has received all of them. */
export async function floodLogins(
  gateway: RunningProgram,
  { names, password }: { names: readonly string[]; password: string },
): Promise<void> {
  using attacker = gateway.client();
  // Of another socket, because a late reply to the flood can have the Identifier of the Status-Server.
  using monitor = gateway.client();
  for (const [at, userName] of names.entries()) {
    await attacker.sendRaw(attacker.build({ userName, password, nasPort: 10_000 + at }).bytes);
    // The program reads datagrams in order, so the answer to a Status-Server follows the datagrams before it.
    if (at % WAVE === WAVE - 1) await monitor.ask({ code: CODES.statusServer });
  }
  await monitor.ask({ code: CODES.statusServer });
}

// Login sessions of a NAS with the real program: the requests and replies of a user and of an attacker.

/** A short form of a reply: `accept`, `reject`, or the step in State. */
export interface Said {
  readonly kind: "accept" | "reject" | "challenge";
  /** The name of the step; "" without State. */
  readonly step: string;
  /** The text after the name in State; "" without a token. */
  readonly token: string;
  readonly message: string;
}

/** One login session with its own socket. It returns the State of its last challenge, like a NAS. */
export interface NasSession extends Disposable {
  login(password?: string | Uint8Array, more?: RequestParts): Promise<Said>;
  answer(text: string | Uint8Array, more?: RequestParts): Promise<Said>;
  /** Answers with a State of the caller's choice. */
  forge(state: string, text?: string): Promise<Said>;
}

const KINDS: Readonly<Record<number, Said["kind"]>> = {
  [CODES.accessAccept]: "accept",
  [CODES.accessReject]: "reject",
  [CODES.accessChallenge]: "challenge",
};
const encoder = new TextEncoder();
/** A Reject takes a second, and the machine may be busy. */
const PATIENCE = { timeoutMs: 30_000, tries: 1 } as const;

/**
 * Opens a session. @param parts the attributes that the NAS sends with each packet: the user, and optionally a port.
 */
export function openSession(gateway: RunningProgram, parts: RequestParts): NasSession {
  const client = gateway.client();
  let state: Uint8Array | undefined;
  const ask = async (more: RequestParts): Promise<Said> => {
    const reply = await client.ask({ ...parts, ...more }, PATIENCE);
    assertEquals(reply.problems, []);
    if (reply.state !== null) state = reply.state;
    return said(reply);
  };
  return {
    login: (password = "open sesame", more = {}) => ask({ password, ...more }),
    answer: (text, more = {}) => ask({ password: text, ...(state === undefined ? {} : { state }), ...more }),
    forge: (forged, text = "") => ask({ password: text, state: encoder.encode(forged) }),
    [Symbol.dispose]: () => client.close(),
  };
}

function said({ code, state, message }: Reply): Said {
  const [step = "", token = ""] = state === null ? [] : new TextDecoder().decode(state).split(".");
  return { kind: KINDS[code] ?? "reject", step, token, message };
}

// Raw TCP connections of an attacker who sends an incomplete request, or nothing.

/** Connections that stay open until the test closes them. */
export interface HalfOpen extends Disposable {
  readonly count: number;
  /** The number of connections that the server has closed; waits up to `withinMs` until all are closed. */
  closedByServer(withinMs: number): Promise<number>;
}

/** Opens `count` connections and sends `text` on each. Connections that the server refuses are counted as opened. */
export async function openHalf(
  port: number,
  { count, text }: { count: number; text: string },
): Promise<HalfOpen> {
  const connections: Deno.TcpConn[] = [];
  let closed = 0;
  const watch = async (connection: Deno.TcpConn): Promise<void> => {
    try {
      while (await connection.read(new Uint8Array(4096)) !== null);
    } catch (_reset) {
      // A reset counts as a close.
    }
    closed += 1;
  };
  for (let at = 0; at < count; at++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port });
    connections.push(connection);
    // The server may already have closed it.
    if (text !== "") await connection.write(new TextEncoder().encode(text)).catch(() => 0);
    void watch(connection);
  }
  return {
    count,
    async closedByServer(withinMs) {
      for (const end = performance.now() + withinMs; performance.now() < end && closed < count;) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return closed;
    },
    [Symbol.dispose]() {
      for (const connection of connections) connection.close();
    },
  };
}

/** A request head without its end. */
export const INCOMPLETE_HEAD = "GET / HTTP/1.1\r\nHost: x\r\nX-A: ";

/** Long, for a slow machine: a listener that stopped permanently never answers. */
const HEALTH_MS = 30_000;

/** Requests `/healthz` on new connections until it answers, for a limited time; the last status, or 0. */
export async function waitForHealth(url: string, client?: Deno.HttpClient): Promise<number> {
  let status = 0;
  for (const end = performance.now() + HEALTH_MS; performance.now() < end && status !== 200;) {
    try {
      const init: RequestInit & { client?: Deno.HttpClient } = {
        client,
        headers: { connection: "close" },
        signal: AbortSignal.timeout(2000),
      };
      const answer = await fetch(`${url}/healthz`, init);
      status = answer.status;
      await answer.body?.cancel();
    } catch (_noAnswer) {
      status = 0;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return status;
}

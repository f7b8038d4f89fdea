// Login sessions of a NAS with the real program: the requests and replies of a user and of an attacker.

import { assertEquals } from "@std/assert";
import type { RunningProgram } from "../support/program.ts";
import { CODES, type Reply, type RequestParts } from "../support/radius_packets.ts";

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

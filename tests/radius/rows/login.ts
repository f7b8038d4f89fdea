// A client's login: each packet has a new identifier, each reply is checked, and State is returned with the next
// packet.

import { assertEquals } from "@std/assert";
import type { BuiltRequest, Reply, RequestParts } from "../../support/radius_packets.ts";
import type { RadiusClient } from "../../support/radius_client.ts";
import type { ManualClock } from "../../upstream/manual_clock.ts";
import { whileTimePasses } from "./passing_time.ts";

/** A valid reply, in the terms of the rows. */
export interface Answer extends Reply {
  readonly kind: "accept" | "reject" | "challenge";
  /** The content of State; "" on anything except a challenge. */
  readonly step: string;
  /** The time from sending to the reply, by the gateway's clock. */
  readonly tookMs: number;
}

/** The destination of a login's packets. */
export interface LoginPlace {
  readonly client: RadiusClient;
  readonly clock: ManualClock;
}

/** One login. Its tuple stays the same from packet to packet. */
export interface Login {
  readonly user: string;
  /** The Access-Request without State. */
  start(password?: string, more?: RequestParts): Promise<Answer>;
  /** The answer to the last challenge. */
  answer(text: string, more?: RequestParts): Promise<Answer>;
  /** Builds a packet of this login, with the State of the last challenge if there was one. */
  build(password: string, more?: RequestParts): BuiltRequest;
  /** The same without State. */
  buildStart(password: string, more?: RequestParts): BuiltRequest;
  /** Sends a built packet once, and waits for the reply. */
  exchange(request: BuiltRequest): Promise<Answer>;
  /** Continues at another gateway. */
  moveTo(place: LoginPlace): void;
}

const KINDS: Readonly<Record<number, Answer["kind"]>> = { 2: "accept", 3: "reject", 11: "challenge" };
/**
 * In real time; only reached when no answer comes. A fake clock advances with the event loop, and a busy machine needs
 * 15 ms for a turn.
 */
const PATIENCE = { timeoutMs: 60_000, tries: 1 } as const;

/** @param who `nasPort: undefined` sends none. */
export function createLogin(
  place: LoginPlace,
  who: { user: string } & RequestParts,
): Login {
  const { user, ...given } = who;
  let at = place;
  let state: Uint8Array | null = null;
  const exchange = async (request: BuiltRequest): Promise<Answer> => {
    const answer = await exchangeJudged(at, request);
    if (answer.state !== null) state = answer.state;
    return answer;
  };
  const buildStart: Login["buildStart"] = (password, more = {}) =>
    at.client.build({ userName: user, password, ...given, ...more });
  const build: Login["build"] = (password, more = {}) =>
    buildStart(password, { ...(state === null ? {} : { state }), ...more });
  return {
    user,
    build,
    buildStart,
    exchange,
    start: (password = "open sesame", more = {}) => exchange(buildStart(password, more)),
    answer(text, more = {}) {
      if (state === null && more.state === undefined) throw new Error("There was no challenge to answer");
      return exchange(build(text, more));
    },
    moveTo(next) {
      at = next;
    },
  };
}

/** Sends a packet and waits for its reply, which must be valid. */
export async function exchangeJudged(
  { client, clock }: LoginPlace,
  request: BuiltRequest,
): Promise<Answer> {
  const sentMs = clock.nowMs();
  const reply = await whileTimePasses(clock, client.exchange(request, PATIENCE));
  assertEquals(reply.problems, []);
  const kind = KINDS[reply.code];
  if (kind === undefined) throw new Error(`A reply of code ${reply.code}`);
  const step = reply.state === null ? "" : new TextDecoder().decode(reply.state);
  return { ...reply, kind, step, tookMs: clock.nowMs() - sentMs };
}

/** The name of the step in State, without the token. */
export function stepName({ step }: Answer): string {
  return step.split(".")[0] ?? "";
}

/** A short form of an answer, for comparisons: its step, and the first line of its message. */
export function brief({ kind, step, message }: Answer): [string, string] {
  return [kind === "challenge" ? step : kind, message.split("\n")[0] ?? ""];
}

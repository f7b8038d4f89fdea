// A request to first-factor servers whose answer may wait for a person. Time alone does not show that such a server is dead: a probe does. Only then
// the next server is asked.

import type { CancelTimer, Clock } from "../../platform/runtime.ts";
import type { ClearAttribute } from "../protocol/clear_attributes.ts";
import type { FirstFactorReply } from "../ports.ts";
import type { AuthServer, SentRequest } from "./radius_auth_client.ts";

/** `unavailable`: no server answered in time. `busy`: too many requests are in progress; the client tries again. */
export type ServerOutcome =
  | FirstFactorReply & { readonly kind: "answer" }
  | { readonly kind: "unavailable" | "busy" };

/** How long a request waits for a person. */
export interface PatientWait {
  /** The longest wait, all servers together. */
  readonly waitMs: number;
  /** Called once the request was sent, with a function that sends it again: the client did. */
  readonly onSent: (repeat: () => void) => void;
}

interface PatientExchangeDeps {
  /** At least one, in the order in which they are asked. */
  readonly servers: readonly AuthServer[];
  readonly attributes: readonly ClearAttribute[];
  readonly wait: PatientWait;
  readonly clock: Clock;
}

/** When a server is looked at: first soon, because the client may not wait long. */
const LOOKS_MS = [1500, 3500, 5000] as const;
const LATER_LOOKS_MS = 15_000;
/** A packet may be lost. Later on, only the client repeats it: after an outage, logins that have no client any more would ask users. */
const REPEATING_LOOKS: ReadonlySet<number> = new Set([1, 2]);
/** Copies of the client that come faster are not passed on. */
const MIN_REPEAT_MS = 500;

export class PatientExchange {
  readonly #deps: PatientExchangeDeps;
  readonly #untilMs: number;
  readonly #asked: { readonly server: AuthServer; readonly request: SentRequest }[] = [];
  readonly #outcome = Promise.withResolvers<ServerOutcome>();
  #cancelLook: CancelTimer = () => {};
  #sentMs = 0;
  #isOver = false;

  constructor(deps: PatientExchangeDeps) {
    this.#deps = deps;
    this.#untilMs = deps.clock.nowMs() + deps.wait.waitMs;
  }

  /** Call it once. @throws RangeError if the attributes do not fit into a packet */
  async run(): Promise<ServerOutcome> {
    this.#ask(0);
    this.#deps.wait.onSent(() => this.#repeat());
    return await this.#outcome.promise;
  }

  #settle(outcome: ServerOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLook();
    for (const { request } of this.#asked) request.release();
    this.#outcome.resolve(outcome);
  }

  #ask(at: number): void {
    const { servers, attributes, clock } = this.#deps;
    const server = servers[at];
    if (server === undefined) {
      if (this.#asked.length === 0) this.#settle({ kind: "busy" });
      return;
    }
    this.#sentMs = clock.nowMs();
    const request = server.send({
      ...{ code: "Access-Request", attributes, copies: 1 },
      waitMs: Math.max(1, this.#untilMs - this.#sentMs),
      answered: (answer) =>
        this.#settle(
          answer === null ? { kind: "unavailable" } : { kind: "answer", ...answer, server: server.name },
        ),
      silent: () => this.#settle({ kind: "unavailable" }),
    });
    if (request === null) return this.#ask(at + 1);
    this.#asked.push({ server, request });
    this.#lookLater(at, 0);
  }

  #lookLater(at: number, look: number): void {
    const { clock } = this.#deps;
    const sinceMs = clock.nowMs();
    this.#cancelLook = clock.after(
      LOOKS_MS[look] ?? LATER_LOOKS_MS,
      () => this.#look(at, { look, sinceMs }).catch((fault: unknown) => this.#outcome.reject(fault)),
    );
  }

  /** The answer of a server that was given up counts, too, if it comes. */
  async #look(at: number, { look, sinceMs }: { look: number; sinceMs: number }): Promise<void> {
    const { servers } = this.#deps;
    const server = servers[at];
    if (REPEATING_LOOKS.has(look)) this.#repeat();
    const isLastLook = look + 1 >= LOOKS_MS.length;
    if (server === undefined || (servers.length === 1 && isLastLook)) return;
    const isDead = servers.length > 1 && !await server.answersSince(sinceMs);
    if (this.#isOver) return;
    if (isDead && at + 1 < servers.length) this.#ask(at + 1);
    else if (!isDead || !isLastLook) this.#lookLater(at, look + 1);
  }

  /** Sends again to the server that was asked last, or to all if it is dead. */
  #repeat(): void {
    const last = this.#asked.at(-1);
    const nowMs = this.#deps.clock.nowMs();
    if (this.#isOver || last === undefined || nowMs - this.#sentMs < MIN_REPEAT_MS) return;
    this.#sentMs = nowMs;
    for (const { request } of last.server.isUsable ? [last] : this.#asked) request.repeat();
  }
}

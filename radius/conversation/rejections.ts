// Access-Rejects without a conversation: requests that the gateway refuses, and answers to a login that is over. Also warns about the settings of
// a client, once.

import { MINUTE_MS } from "../../platform/durations.ts";
import type { Clock } from "../../platform/runtime.ts";
import { NOTHING_KNOWN } from "../flow/context.ts";
import { step } from "../flow/flow.ts";
import type { SecondFactorService } from "../ports.ts";
import type { Step } from "../protocol/steps.ts";
import { type Request, REQUEST_REFUSALS, type RequestRefusal } from "../server/request.ts";
import { logRequest, type Responder, type ResponderDeps, senderOf } from "../server/responder.ts";
import type { UnsignedLimits } from "../server/unsigned_requests.ts";

interface RejectionDeps extends Pick<ResponderDeps, "log" | "folded" | "counters"> {
  readonly nullStatusCheck: NullStatusCheck;
  readonly unsignedLimits: UnsignedLimits;
}

export class Rejections {
  readonly #deps: RejectionDeps;
  readonly #responder: Responder;
  /** Clients with a logged warning about CHAP. CHAP is a setting of the client, so one warning is enough. */
  readonly #chapClients = new Set<string>();
  /** Clients whose log line about their encoding was written. */
  readonly #encodedClients = new Set<string>();

  constructor(deps: RejectionDeps, responder: Responder) {
    this.#deps = deps;
    this.#responder = responder;
  }

  /** Rejects an answer if its conversation is gone or at another step. The typed answer is not checked. */
  gone(request: Request, at: Step): void {
    const { unsignedLimits, nullStatusCheck } = this.#deps;
    if (!unsignedLimits.mayReject(request)) return this.#responder.drop(request, "rate_limited");
    const row = step("gone", {
      ...NOTHING_KNOWN,
      stateWasDevice: at === "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
    });
    const reject = () =>
      this.#responder.reject(request, row.prompt ?? "gone", { row: row.name, conversation: null });
    if (row.then.includes("ask_null")) void nullStatusCheck.checkTwice(request.client.name).then(reject);
    else reject();
  }

  /** Logs once for each client that a text of it is not UTF-8. */
  noteEncoding(request: Request): void {
    const { name } = request.client;
    if (this.#encodedClients.has(name)) return;
    this.#encodedClients.add(name);
    this.#deps.log.warn(
      "a name or password is not UTF-8 and is read as Windows-1252: set the client to UTF-8",
      senderOf(request),
    );
  }

  /** @param options.isLogged whether the log already has the lines of the request */
  refuse(
    request: Request,
    refusal: RequestRefusal,
    { isLogged }: { isLogged: boolean },
  ): void {
    const { unsignedLimits, counters, folded } = this.#deps;
    if (!unsignedLimits.mayReject(request)) return this.#responder.drop(request, "rate_limited");
    if (!isLogged) logRequest(this.#deps, request);
    const { sentence, prompt } = REQUEST_REFUSALS[refusal];
    counters.count(`refused_${refusal}`);
    const wasWarned = refusal === "chap" && this.#chapClients.has(request.client.name);
    if (refusal === "chap") this.#chapClients.add(request.client.name);
    folded.write(refusal, {
      // On a host that attackers probe, sshd sends its text all day.
      level: wasWarned ? "debug" : refusal === "sshd_password" ? "info" : "warn",
      message: `request refused: ${sentence}`,
      fields: { reason: refusal, ...senderOf(request) },
    });
    this.#responder.reject(request, prompt, { row: refusal, conversation: null });
  }
}

const MAX_CHECKS_PER_MINUTE = 10;

/**
 * The two status calls with the literal `null` that the specification requires for a State of the device step whose conversation is gone.
 * Limited per client, so that forged States cannot cause many calls.
 */
export class NullStatusCheck {
  readonly #deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService };
  readonly #checked = new Map<string, number[]>();

  constructor(deps: { readonly clock: Clock; readonly secondFactor: SecondFactorService }) {
    this.#deps = deps;
  }

  /** Calls twice, unless the client reached its limit. Never rejects. */
  async checkTwice(client: string): Promise<void> {
    const { clock, secondFactor } = this.#deps;
    const now = clock.nowMs();
    const recent = (this.#checked.get(client) ?? []).filter((atMs) => atMs > now - MINUTE_MS);
    if (recent.length >= MAX_CHECKS_PER_MINUTE) return;
    this.#checked.set(client, [...recent, now]);
    await secondFactor.status("null");
    await secondFactor.status("null");
  }
}

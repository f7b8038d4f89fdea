// Caller verification: a member of the help desk asks a user's phone whether its owner is on the telephone. The user types the two digits that
// the help desk reads out. It is a request of kind `verify`: the gateway does not see it, so it never lets a login in.

import { canonicalName } from "../../../platform/canonical_name.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import type { SecondFactorContext } from "./context.ts";
import type { CallerVerification, CallerVerifications } from "./interfaces.ts";
import type { DevicePairings } from "./pairings.ts";
import { createRateLimit, type RateLimit } from "../../../platform/rate_limit.ts";
import { type ApprovalRecord, byVerified, isVerification, VERIFYING } from "./records.ts";
import type { ApprovalRequests } from "./requests.ts";
import { verificationView } from "./verification_result.ts";

const DEFAULT_PER_HOUR = 5;

export class EmbeddedCallerVerifications implements CallerVerifications {
  readonly #context: SecondFactorContext;
  readonly #requests: ApprovalRequests;
  readonly #pairings: DevicePairings;
  readonly #perUser: RateLimit;

  constructor(context: SecondFactorContext, requests: ApprovalRequests, pairings: DevicePairings) {
    this.#context = context;
    this.#requests = requests;
    this.#pairings = pairings;
    this.#perUser = createRateLimit(context, {
      name: "verify_caller",
      count: () => context.settings.verificationsPerHour ?? DEFAULT_PER_HOUR,
      windowMs: HOUR_MS,
    });
  }

  async start(
    { pairingId, by, also }: Parameters<CallerVerifications["start"]>[0],
  ): ReturnType<CallerVerifications["start"]> {
    const pairing = this.#pairings.find(pairingId);
    if (pairing?.state !== "enabled") return { ok: false, reason: "no_phone" };
    const user = canonicalName(pairing.userName);
    if (this.#waitingOf(user).length > 0) return { ok: false, reason: "waiting" };
    // The limit is taken first. A request that then fails is a try that counts.
    if (!await this.#perUser.take(user)) {
      return { ok: false, reason: "too_many", waitMs: await this.#perUser.waitMs(user) };
    }
    const record = await this.#requests.openVerification(pairing, { by, also });
    if (record === null) return { ok: false, reason: "busy" };
    return { ok: true, verification: verificationView(record), number: record.number ?? "" };
  }

  find(id: string): CallerVerification | null {
    const record = this.#requests.find(id);
    return record !== undefined && isVerification(record) ? verificationView(record) : null;
  }

  verifiedOf(canonical: string): CallerVerification | null {
    const { tables, clock } = this.#context;
    // A phone that was revoked since may be a thief's.
    const views = tables.requests.list(byVerified(canonical))
      .filter(({ value }) => this.#pairings.find(value.pairingId)?.state === "enabled")
      .map(({ value }) => verificationView(value));
    return views.filter(({ shownUntilMs }) => shownUntilMs > clock.nowMs())
      .sort((a, b) => (b.endedMs ?? 0) - (a.endedMs ?? 0))[0] ?? null;
  }

  async cancel(id: string, by: string): Promise<boolean> {
    if (this.find(id) === null) return false;
    return await this.#requests.decide(id, "cancelled_by_administrator", { by }) === "won";
  }

  #waitingOf(canonical: string): ApprovalRecord[] {
    const { tables, clock } = this.#context;
    return tables.requests.list(VERIFYING).map(({ value }) => value).filter(({ userName, deadlineMs }) =>
      deadlineMs > clock.nowMs() && canonicalName(userName) === canonical
    );
  }
}

// What phones run on, and when they were last seen: for the lists of devices. A use is written at most once an hour.

import type { DeviceKind } from "../../../platform/device_label.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import type { SecondFactorContext } from "./context.ts";
import { createRateLimit, type RateLimit } from "../../../platform/rate_limit.ts";
import type { PhoneDeviceRecord } from "./records.ts";

const RENAMES = { count: 10, windowMs: 60_000 } as const;
/** A phone that was not seen for longer is marked. */
const STALE_AFTER_MS = 90 * 24 * HOUR_MS;

/** The last use of a phone, as a list shows it. */
export interface PhoneUse {
  readonly kind: DeviceKind | null;
  /** `null`: not since this version of the gateway records it. */
  readonly lastSeenMs: number | null;
  /** Not seen for 90 days. */
  readonly isStale: boolean;
}

export class PhoneDevices {
  readonly #context: SecondFactorContext;
  readonly #renames: RateLimit;

  constructor(context: SecondFactorContext) {
    this.#context = context;
    this.#renames = createRateLimit(context, { name: "phone_name", ...RENAMES });
  }

  /** Counts a change of the name of a phone; `false` if there were too many. Each one is in the audit log. */
  mayRename(phone: string): Promise<boolean> {
    return this.#renames.take(phone);
  }

  /**
   * Records a use of a phone. Never rejects: a failed write is made up for by the next use.
   *
   * @param kind `null`: unknown. Phones and tablets that request pages for computers call themselves computers, and not in all
   *   their requests, so `computer` replaces no other kind.
   */
  async seen(phone: string, kind: DeviceKind | null): Promise<void> {
    const { tables, clock } = this.#context;
    const nowMs = clock.nowMs();
    const owner = tables.phones.get(phone);
    const read = tables.devices.get(phone);
    const before = read?.value;
    if (owner === undefined || owner.value.deadlineMs !== null) return;
    const known = before?.kind ?? null;
    const next = kind === null || (kind === "computer" && known !== null) ? known : kind;
    const isLearnt = known !== next && (known === null || known === "computer");
    if (before !== undefined && nowMs - before.seenMs < HOUR_MS && !isLearnt) return;
    const record: PhoneDeviceRecord = { phone, kind: next, seenMs: nowMs };
    const change = read === undefined
      ? tables.devices.add(phone, record)
      : tables.devices.replace(read, record);
    await tables.commit([change], { checks: [tables.phones.unchanged(owner)] }).catch(() => undefined);
  }

  /** @param options.sinceMs the later one of the pairing and of the time since uses are recorded. */
  use(phone: string, { sinceMs }: { sinceMs: number }): PhoneUse {
    const { tables, clock } = this.#context;
    const record = tables.devices.get(phone)?.value;
    const lastMs = record?.seenMs ?? sinceMs;
    return {
      kind: record?.kind ?? null,
      lastSeenMs: record?.seenMs ?? null,
      isStale: clock.nowMs() - lastMs > STALE_AFTER_MS,
    };
  }
}

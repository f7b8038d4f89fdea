// A directory with users, the real second-factor service, a fake mail queue, and the enrolment on a clock of the test.

import type { CampaignOptions, EnrolmentDeps } from "../../../console/api/enrolment/campaigns.ts";
import { EnrolmentService } from "../../../console/api/enrolment/enrolment_service.ts";
import type { EnrolmentSettings } from "../../../platform/config/config.ts";
import { createLog } from "../../../platform/log.ts";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import type { Store } from "../../../platform/store.ts";
import { EnrolmentMarks } from "../../../radius/factors/own_factors.ts";
import { matchTotp, totpAt } from "../../../radius/factors/totp.ts";
import { createEmbeddedSecondFactor } from "../../../upstream/embedded/second_factor/second_factor.ts";
import { openPeople } from "../../fakes/console_people.ts";
import { createFakeMailQueue } from "../../fakes/mail_queue.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";

export const DAY_MS = 24 * 3600_000;
export const OPTIONS: CampaignOptions = {
  maximum: 1_000_000,
  perMinute: 60_000,
  deadlineDays: 0,
  reminders: true,
  includesNumbers: true,
  again: false,
};

export type EnrolmentScene = Awaited<ReturnType<typeof openEnrolmentScene>>;

/** @param options.users `[name]` with the address `name@example.com`, or with other attributes */
export async function openEnrolmentScene(
  { users = [], settings = {} }: {
    users?: readonly (string | readonly [name: string, attributes: Record<string, unknown>])[];
    settings?: Partial<EnrolmentSettings>;
  } = {},
) {
  const people = await openPeople({ shape: { local: "store" } });
  const clock = createManualClock(Date.now());
  const enrolment: EnrolmentSettings = {
    ...{ invitationMs: 72 * 3600_000, reminderDays: ["3", "7"], deadlineDays: 0 },
    ...{ helpText: "Call 5555.", perMinute: 60_000, ...settings },
  };
  for (const user of users) {
    const [name, attributes] = typeof user === "string" ? [user, { emails: addressOf(user) }] : user;
    await people.put(name, attributes);
  }
  const nodes: EnrolmentNode[] = [];
  return {
    ...people,
    ...{ clock, enrolment },
    /** Starts a process on the store; with `wrap`, on a store that fails. */
    async start(wrap: (store: Store) => Store = (same) => same): Promise<EnrolmentNode> {
      const node = await startNode(wrap(people.store), { ...people, clock, enrolment });
      nodes.push(node);
      return node;
    },
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.stop();
      await people[Symbol.asyncDispose]();
    },
  };
}

export type EnrolmentNode = Awaited<ReturnType<typeof startNode>>;

async function startNode(
  store: Store,
  { people: shared, clock, enrolment, vault }:
    & Pick<Awaited<ReturnType<typeof openPeople>>, "people" | "vault">
    & { clock: ReturnType<typeof createManualClock>; enrolment: EnrolmentSettings },
) {
  const random = createSystemRandom();
  const marks = new EnrolmentMarks({ store, target: "default" });
  await marks.load();
  const people = { ...shared, enrolment: marks };
  const embedded = createEmbeddedSecondFactor({
    ...{ store, vault, clock, random, findUserRecord: people.findUserRecord },
    totp: { at: totpAt, match: matchTotp },
    settings: { requesterName: "Example", numberMatching: true, requestTtlMs: 60_000 },
  });
  await embedded.load();
  const queue = createFakeMailQueue(store);
  const lines: string[] = [];
  const write = (octets: Uint8Array) => void lines.push(new TextDecoder().decode(octets));
  const deps: EnrolmentDeps = {
    ...{ people, store, clock, random, enrolment },
    log: createLog({ format: "text", level: "warn", clock: systemClock, write }),
    http: { publicUrl: "https://login.example.com" },
    mail: { queue, language: () => "en", perMinute: () => 30 },
    secondFactorAdmin: () => embedded.admin,
  };
  const service = new EnrolmentService(deps);
  return {
    ...{ service, marks, embedded, queue, lines, deps },
    /** Stores a campaign, as the console does. */
    campaign: (names: readonly string[], options: Partial<CampaignOptions> = {}) =>
      service.campaigns.create({
        ...{ name: "Rollout", target: "default", source: { kind: "users" }, by: "owner", address: "" },
        ...{ options: { ...OPTIONS, ...options }, state: "running", wait: null, createdMs: clock.nowMs() },
        ...{ endedMs: null, total: names.length, next: 0, invited: 0, skipped: {} },
      }, { names, random, also: [] }),
    /** Runs what is due in the next milliseconds, slice by slice. */
    async run(forMs = 1000): Promise<void> {
      service.runner.wake();
      for (let passedMs = 0; passedMs < forMs;) {
        const stepMs = Math.min(100, forMs - passedMs);
        clock.advance(stepMs);
        passedMs += stepMs;
        await service.runner.idle();
      }
    },
    async stop(): Promise<void> {
      await service.runner.stop();
      await embedded.close();
    },
  };
}

export function addressOf(name: string): { value: string }[] {
  return [{ value: `${name}@example.com` }];
}

/** `user1`, `user2` and so on. */
export function userNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `user${at + 1}`);
}

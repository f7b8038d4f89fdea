// The mail queue on a store in memory: with the real SMTP transport and the fake server, or on a manual clock with a fake transport.

import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import type { MailSettings } from "../../../platform/config/config.ts";
import { createLog } from "../../../platform/log.ts";
import type { NewMail } from "../../../platform/mail/mail.ts";
import {
  type MailService,
  type MailServiceDeps,
  openMailService,
} from "../../../platform/mail/mail_service.ts";
import { type Clock, createSystemRandom } from "../../../platform/runtime.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import { createVault } from "../../../platform/vault.ts";
import { createFakeTransport, type FakeTransport } from "../../fakes/mail_transport.ts";
import { settle, trackCalls } from "../../support/settle.ts";
import { createManualClock, type ManualClock } from "../../upstream/manual_clock.ts";

export const MAIL_SETTINGS: MailSettings = {
  host: "127.0.0.1",
  port: 0,
  security: "none",
  user: "",
  password: "",
  caPem: "",
  from: { name: "Countersign", address: "no-reply@example.com" },
  replyTo: null,
  language: "en",
  perMinute: 60_000,
  timeoutMs: 5000,
};

export interface MailWorld {
  readonly service: MailService;
  readonly store: Store;
  /** The log so far. */
  logged(): Promise<string>;
  /** Commits a mail with its reason. */
  queue(mail?: Partial<NewMail>): Promise<string>;
  /** All entries below a prefix. */
  entries(prefix: Deno.KvKey): Promise<Deno.KvKey[]>;
  audits(): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export const INVITATION: NewMail = {
  template: "invitation",
  language: "en",
  to: "ada@example.org",
  values: { userName: "ada", displayName: "Ada Lovelace", link: "https://login.example.com/i/secret-token" },
  about: "user:ada",
};

/** Opens the queue; `kv` is kept for another run. */
export async function openMailWorld(
  { kv, clock, mail, status = "active", ...more }:
    & { kv: Deno.Kv; clock: Clock; mail: Partial<MailSettings>; status?: UserRecord["status"] }
    & Partial<Pick<MailServiceDeps, "findUserRecord" | "openTransport" | "cluster" | "store">>,
): Promise<MailWorld> {
  const lines: string[] = [];
  const store = more.store ?? createStore(kv, { nowMs: clock.nowMs });
  const random = createSystemRandom();
  const log = createLog({
    format: "text",
    level: "debug",
    clock,
    write: (octets) => void lines.push(new TextDecoder().decode(octets)),
  });
  const service = await openMailService({
    settings: {
      config: { mail: { ...MAIL_SETTINGS, ...mail }, factors: { requesterName: "Example Ltd" } as never },
      onChange: () => undefined,
    },
    store,
    vault: createVault(new Uint8Array(32).fill(7), random),
    clock,
    random,
    log,
    cluster: {
      openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }),
    },
    findUserRecord: () =>
      Promise.resolve({ id: "1", status, createdMs: 1, check: { key: ["x"], versionstamp: null } }),
    ...more,
  });
  return {
    service,
    store,
    async logged() {
      await log.flush();
      return lines.join("");
    },
    async queue(given = {}) {
      const { id, mutations } = service.prepare({ ...INVITATION, ...given });
      await store.commit({ mutations });
      service.wake();
      return id;
    },
    async entries(prefix) {
      return (await Array.fromAsync(store.list(prefix))).map(({ key }) => key);
    },
    async audits() {
      const found = await Array.fromAsync(store.list<Record<string, unknown>>(["audit"]));
      return found.flatMap(({ value }) => value === null ? [] : [value]);
    },
    close: () => service.close(),
  };
}

export const MINUTE_MS = 60_000;

interface QueueWorld extends MailWorld {
  readonly clock: ManualClock;
  readonly kv: Deno.Kv;
  readonly transport: FakeTransport;
  /** Time passes, in small steps, until all work is done. */
  pass(byMs: number, options?: { stepMs?: number }): Promise<void>;
}

/** Runs a test with a queue, which is closed afterwards. */
export async function inQueue(
  test: (world: QueueWorld) => Promise<void>,
  { mail = {}, ...options }: {
    mail?: Partial<MailSettings>;
    status?: "active" | "inactive" | "deleted" | "unknown";
  } = {},
): Promise<void> {
  const kv = trackCalls(await Deno.openKv(":memory:"));
  const clock = createManualClock();
  const transport = createFakeTransport();
  const world = await openMailWorld({ kv, clock, mail, openTransport: () => transport, ...options });
  const pass = async (byMs: number, { stepMs = MINUTE_MS } = {}): Promise<void> => {
    for (let leftMs = byMs; leftMs > 0; leftMs -= stepMs) {
      clock.advance(Math.min(stepMs, leftMs));
      await settle();
    }
  };
  try {
    await settle();
    await test({ ...world, clock, kv, transport, pass });
  } finally {
    const closing = world.close();
    clock.advance(10_000);
    await closing;
    kv.close();
  }
}

/** The recipients whose mails were accepted. */
export const acceptedOf = ({ accepted }: FakeTransport) => accepted.map((message) => message.to);

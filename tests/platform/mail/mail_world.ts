// The mail queue on a store in memory, with the real SMTP transport and the fake server.

import { createLog } from "../../../platform/log.ts";
import type { MailSettings } from "../../../platform/config/config.ts";
import {
  type MailService,
  type MailServiceDeps,
  openMailService,
} from "../../../platform/mail/mail_service.ts";
import { type Clock, createSystemRandom } from "../../../platform/runtime.ts";
import { createStore, type Store } from "../../../platform/store.ts";
import { createVault } from "../../../platform/vault.ts";
import type { UserRecord } from "../../../platform/user_record.ts";
import { NO_LEASE } from "../../../platform/cluster/lease.ts";
import type { NewMail } from "../../../platform/mail/mail.ts";

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

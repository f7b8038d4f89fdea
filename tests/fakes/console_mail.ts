// The mail queue of a console: its server accepts mails, except those to `refused@` and `later@`.

import { openMailService } from "../../platform/mail/mail_service.ts";
import { createLog } from "../../platform/log.ts";
import { NO_LEASE } from "../../platform/cluster/lease.ts";
import { createSystemRandom, systemClock } from "../../platform/runtime.ts";
import type { Store } from "../../platform/store.ts";
import { createVault } from "../../platform/vault.ts";
import { configOf } from "../platform/config/samples.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { ACCEPTED, createFakeTransport, refusedAs } from "./mail_transport.ts";

const TOML = `[mail]
host = "smtp.example.com"
from = "Countersign <no-reply@example.com>"
per_minute = 60000
`;

export async function openConsoleMail({ store }: { store: Store }) {
  const transport = createFakeTransport();
  transport.answer = ({ to }) => {
    if (to.startsWith("refused@")) return refusedAs("recipient_refused", "550 5.1.1 No such user");
    if (to.startsWith("later@")) return refusedAs("recipient_later", "450 4.2.0 Try again later");
    return ACCEPTED;
  };
  const random = createSystemRandom();
  const service = await openMailService({
    ...{ store, random, clock: systemClock, openTransport: () => transport },
    settings: { config: configOf(TOML), onChange: () => undefined },
    vault: createVault(new Uint8Array(32).fill(7), random),
    log: createLog({ format: "text", level: "error", clock: systemClock, write: () => undefined }),
    cluster: { openLease: () => ({ ...NO_LEASE, claim: () => Promise.resolve(true) }) },
    findUserRecord: () =>
      Promise.resolve({ id: "1", status: "active", createdMs: 1, check: { key: ["x"], versionstamp: null } }),
  });
  /** Queues a mail about a user. */
  const queue = async (to: string, user: string): Promise<string> => {
    const { id, mutations } = service.prepare({
      ...{ template: "invitation", language: "en", to, about: `user:${user}` },
      values: { userName: user, displayName: user, link: "https://login.example.com/i/1" },
    });
    await store.commit({ mutations });
    service.wake();
    return id;
  };
  return { service, transport, queue };
}

/** One mail about a user waits, one failed. */
export async function fillMail(
  { queue, service }: Awaited<ReturnType<typeof openConsoleMail>>,
  { waiting, failed }: { waiting: string; failed: string },
): Promise<void> {
  await queue("later@example.org", waiting);
  await queue("refused@example.org", failed);
  await eventually("a mail waits and one failed", () => {
    const status = service.status();
    return status.waiting === 1 && status.failed === 1;
  });
}

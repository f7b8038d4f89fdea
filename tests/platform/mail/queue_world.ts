// A queue on a manual clock with a fake transport.

import type { MailSettings } from "../../../platform/config/config.ts";
import { settle, trackCalls } from "../../support/settle.ts";
import { createManualClock, type ManualClock } from "../../upstream/manual_clock.ts";
import { createFakeTransport, type FakeTransport } from "../../fakes/mail_transport.ts";
import { type MailWorld, openMailWorld } from "./mail_world.ts";

export const MINUTE_MS = 60_000;

export interface QueueWorld extends MailWorld {
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

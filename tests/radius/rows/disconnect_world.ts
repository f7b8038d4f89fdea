// A NAS client with accounting sessions, for tests of Disconnect-Requests: its settings, reports, and orders.

import { assert, assertEquals } from "@std/assert";
import { buildAccountingRequest } from "../../support/radius_packets.ts";
import type { SessionView } from "../../../radius/accounting/session.ts";
import type { InProcess } from "./in_process.ts";
import { pass } from "./passing_time.ts";

export const SECRET = "the shared secret of the vpn client";
export const OWN_SECRET = "the secret of Disconnect-Requests";
export const STATUS = { start: 1, stop: 2 } as const;
export const TYPES = {
  userName: 1,
  framed: 8,
  nasIdentifier: 32,
  proxyState: 33,
  statusType: 40,
  session: 44,
  timestamp: 55,
} as const;

export const tomlOf = (port: number, more = "") => `
[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
disconnect_port = ${port}
${more}`;

export const utf8 = new TextEncoder();

interface Report {
  readonly user?: string;
  readonly session?: string;
  readonly status?: number;
  /** NAS-Identifier. */
  readonly nas?: string;
}

export async function account(
  world: Pick<InProcess, "newClient">,
  { user = "anna", session = "s-1", status = STATUS.start, nas }: Report = {},
): Promise<void> {
  using client = world.newClient(SECRET);
  const reply = await client.exchange(buildAccountingRequest(SECRET, {
    userName: user,
    more: [
      { type: TYPES.statusType, value: Uint8Array.of(0, 0, 0, status) },
      { type: TYPES.session, value: utf8.encode(session) },
      { type: TYPES.framed, value: Uint8Array.of(10, 8, 0, 2) },
      ...(nas === undefined ? [] : [{ type: TYPES.nasIdentifier, value: utf8.encode(nas) }]),
    ],
  }));
  assertEquals(reply.code, 5);
}

export async function reportNotMe({ radius, store }: InProcess, user = "anna"): Promise<number> {
  const report = radius.prepareNotMeReport(user);
  assert((await store.commit({ mutations: report.mutations })).ok);
  report.done();
  return report.sessions;
}

export const sessionsOf = ({ radius }: InProcess, user = "anna"): readonly SessionView[] =>
  radius.sessions.ofUser(user, 50);
export const stateOf = (world: InProcess, user = "anna") => sessionsOf(world, user)[0]?.disconnect?.state;

/** Waits in turns while time passes, so that timers and sockets both work. */
export async function untilState(world: InProcess, state: string, user = "anna"): Promise<void> {
  for (let turns = 0; stateOf(world, user) !== state; turns++) {
    if (turns > 3000) throw new Error(`the order is ${stateOf(world, user)}, not ${state}`);
    await pass(world.clock, 40);
  }
}

/** An order of an operator for all sessions of anna. */
export async function orderAll({ radius: { sessions }, store }: InProcess): Promise<void> {
  const order = sessions.prepareDisconnects(sessions.connectedOf("anna", 9), {
    reason: "operator",
    actor: "root",
  });
  await store.commit({ mutations: order.mutations });
  order.done();
}

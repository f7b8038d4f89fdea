// Limits, locks and codes that are valid once hold over all gateways, also when packets arrive at both of them at the same moment.

import { assertEquals } from "@std/assert";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";

const NEEDS = { peers: [], denokv: true } as const;
const SEED = new TextEncoder().encode("12345678901234567890");
const FAILURES = 10;
const PER_USER = 3;
const CLIENT_RETRIES = { timeoutMs: 10_000, tries: 1 } as const;
const RACERS = ["ada", "bea", "cleo", "dora", "emma", "fay", "gina", "hope"] as const;

const PAIRINGS: readonly (readonly [string, NewPairing])[] = [
  ["taking turns", { kind: "totp", seed: SEED }],
  ["at the same moment", { kind: "totp", seed: SEED }],
  ["pushed", { kind: "device", id: "phone-of-pushed", totpLength: 0 }],
  ["texted", { kind: "sms", number: "+15005551001" }],
  ["called", { kind: "voice", number: "+15005551002" }],
  ...RACERS.map((name) => [name, { kind: "totp", seed: SEED }] as const),
];

let world: ClusterWithServices | null = null;

/** All tests of this file share one cluster; each has its own users. */
async function theWorld(): Promise<ClusterWithServices> {
  world ??= await startClusterWithServices({
    pairings: PAIRINGS,
    recoveryCodesOf: RACERS,
    toml: `[factors.lockout]
failures = ${FAILURES}
[factors.pushes]
per_user = ${PER_USER}
[factors.sends]
per_user = ${PER_USER}`,
  });
  return world;
}

Deno.test.afterAll(async () => {
  await world?.dispose();
});

/** A login from a place of its own. `answer` may be sent to the other gateway. */
interface Login {
  readonly challenge: Reply;
  answer(node: number, typed: string): Promise<Reply>;
}

let places = 0;

function createLogins(clients: ReturnType<typeof openClients>, userName: string) {
  return async (node: number): Promise<Login> => {
    const attributes = { ...fromClient("vpn"), userName, callingStationId: `place ${++places}` };
    const challenge = await clients.at(node).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
    const state = challenge.state ?? new Uint8Array();
    return {
      challenge,
      answer: (at, password) => clients.at(at).ask({ ...attributes, password, state }, CLIENT_RETRIES),
    };
  };
}

const right = () => totpCode(SEED, Date.now());
const wrong = () => right().replace(/./g, (digit) => String((Number(digit) + 5) % 10));
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** The wrong codes that the gateways evaluated for a user. */
async function storedFailures({ cluster }: ClusterWithServices, user: string): Promise<unknown> {
  using kv = await cluster.store.open();
  const { value } = await kv.get<{ total: number; locks: number }>(["limit", "failures", user]);
  return value === null ? null : { total: value.total, locks: value.locks };
}

/** The replies to a new login at each gateway, and to the right code of logins that began before the lock. */
async function afterLock(
  before: readonly Login[],
  begin: (node: number) => Promise<Login>,
): Promise<number[]> {
  const replies = await Promise.all([
    ...before.map((login, node) => login.answer(node, right())),
    ...[0, 1].map(async (node) => (await begin(node)).challenge),
  ]);
  return replies.map(({ code }) => code);
}

const LOCKS: readonly { user: string; fail(logins: readonly Login[]): Promise<unknown> }[] = [
  {
    user: "taking turns",
    async fail(logins) {
      for (const [at, login] of logins.slice(0, FAILURES).entries()) await login.answer(at % 2, wrong());
    },
  },
  {
    user: "at the same moment",
    fail: (logins) => Promise.all(logins.map((login, at) => login.answer(at % 2, wrong()))),
  },
];

for (const { user, fail } of LOCKS) {
  testNeeding(NEEDS, `${FAILURES} wrong codes on both gateways, ${user}, lock the user on both`, async () => {
    const shared = await theWorld();
    using clients = openClients(shared);
    const begin = createLogins(clients, user);
    const before = [await begin(0), await begin(1)];
    // More than the limit. Each began on the gateway that does not receive its answer.
    const logins = await Promise.all(Array.from({ length: 3 * FAILURES }, (_, at) => begin(1 - at % 2)));
    assertEquals(new Set(logins.map(({ challenge }) => challenge.code)), new Set([CODES.accessChallenge]));
    await fail(logins);
    assertEquals(await storedFailures(shared, user), { total: FAILURES, locks: 1 });
    const { accessReject } = CODES;
    assertEquals(await afterLock(before, begin), [accessReject, accessReject, accessReject, accessReject]);
    assertEquals(await storedFailures(shared, user), { total: FAILURES, locks: 1 });
  });
}

/** What the services received for a user, after more logins than the limit allows. */
const SERVICE_LIMITS: readonly { user: string; count(world: ClusterWithServices): number }[] = [
  {
    user: "pushed",
    count: ({ secondFactor }) =>
      secondFactor.initiated().filter(({ pairingId }) => pairingId === "phone-of-pushed").length,
  },
  { user: "texted", count: (shared) => sentTo(shared, "+15005551001") },
  { user: "called", count: (shared) => sentTo(shared, "+15005551002") },
];

const sentTo = ({ telephony }: ClusterWithServices, number: string) =>
  telephony.taken().filter(({ form }) => form.get("To") === number).length;

for (const { user, count } of SERVICE_LIMITS) {
  testNeeding(
    NEEDS,
    `logins on both gateways at the same moment exceed no limit: the user who is ${user} ${PER_USER} times`,
    async () => {
      const shared = await theWorld();
      using clients = openClients(shared);
      const begin = createLogins(clients, user);
      await Promise.all(Array.from({ length: 4 * PER_USER }, (_, at) => begin(at % 2)));
      assertEquals(count(shared), PER_USER);
      await Promise.all([begin(0), begin(1)]);
      assertEquals(count(shared), PER_USER);
    },
  );
}

const ONE_TIME_CODES: readonly { title: string; of(shared: ClusterWithServices, user: string): string }[] = [
  { title: "passcode of an authenticator app", of: right },
  { title: "recovery code", of: ({ recoveryCodes }, user) => recoveryCodes.get(user)?.[0] ?? "none" },
];

for (const { title, of } of ONE_TIME_CODES) {
  testNeeding(
    NEEDS,
    `the same ${title} on both gateways at the same moment gets one Access-Accept`,
    async () => {
      const shared = await theWorld();
      using clients = openClients(shared);
      const accepts = await Promise.all(RACERS.map(async (user) => {
        const begin = createLogins(clients, user);
        const logins = await Promise.all([begin(0), begin(1)]);
        const code = of(shared, user);
        const replies = await Promise.all(logins.map((login, node) => login.answer(node, code)));
        return sum(replies.map((reply) => Number(reply.code === CODES.accessAccept)));
      }));
      assertEquals(accepts, RACERS.map(() => 1));
    },
  );
}

// Deadlines over two gateways whose clocks differ by 30 s: a login and a passcode live as long as the settings say, on the other gateway, too, and a
// code of an authenticator app is accepted once.

import { assertEquals } from "@std/assert";
import { attributesOf } from "../fakes/cluster_checks.ts";
import {
  type ClusterWithServices,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
const AHEAD_MS = 30_000;
const { accessChallenge, accessAccept, accessReject } = CODES;
const LIFETIME_MS = 30_000;
const TTL_MS = 36_000;
const TOML = `
[radius]
conversation_ttl_s = ${TTL_MS / 1000}
[factors.passcode]
lifetime_s = ${LIFETIME_MS / 1000}
`;

/** A code that both clocks accept, also if a time step ends meanwhile: that of the middle between them. */
const middleCode = () => totpCode(SEED, Date.now() + AHEAD_MS / 2);

interface Row {
  readonly title: string;
  readonly factor: "totp" | "sms";
  /** When the client answers, from the challenge on. */
  readonly afterMs: number;
  readonly isAccepted: boolean;
}

const ROWS: readonly Row[] = [
  { title: "a passcode within its lifetime", factor: "sms", afterMs: LIFETIME_MS - 8000, isAccepted: true },
  { title: "a passcode after its lifetime", factor: "sms", afterMs: LIFETIME_MS + 1500, isAccepted: false },
  { title: "an answer within the life of the login", factor: "totp", afterMs: LIFETIME_MS, isAccepted: true },
  {
    title: "an answer after the life of the login",
    factor: "totp",
    afterMs: TTL_MS + 1500,
    isAccepted: false,
  },
];
const CASES = ROWS.flatMap((row) => [0, 1].map((first) => ({ ...row, first })))
  .map((row, at) => ({ ...row, user: `user${at}`, number: `+1500555${4000 + at}` }));

async function play(
  world: ClusterWithServices,
  { user, number, factor, first, afterMs }: typeof CASES[number],
) {
  using clients = openClients(world);
  const challenge = await clients.at(first).ask({ ...attributesOf(user), password: "first" });
  assertEquals(challenge.code, accessChallenge);
  const typed = factor === "sms" ? world.telephony.lastPasscode(number) : null;
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  const password = typed ?? middleCode();
  return await clients.at(1 - first).ask({
    ...attributesOf(user),
    password,
    state: challenge.state ?? new Uint8Array(),
  });
}

/** Two logins of one user, begun before the first answer, with the same code at both gateways. */
async function useTwice(world: ClusterWithServices, user: string, first: number): Promise<number[]> {
  using clients = openClients(world);
  const begin = async (node: number) => {
    const attributes = { ...attributesOf(user), callingStationId: `station ${node} of ${user}` };
    const { state } = await clients.at(node).ask({ ...attributes, password: "first" });
    return (password: string) =>
      clients.at(node).ask({ ...attributes, password, state: state ?? new Uint8Array() });
  };
  const [one, other] = [await begin(first), await begin(1 - first)];
  const code = middleCode();
  const replies: Reply[] = [await one(code), await other(code)];
  return replies.map((reply) => reply.code);
}

testNeeding(
  { peers: [], denokv: true },
  "deadlines are those of the settings, and codes are accepted once, although the clocks differ by 30 s",
  async () => {
    await using world = await startClusterWithServices({
      clockOffsetsMs: [0, AHEAD_MS],
      toml: TOML,
      pairings: [
        ...CASES.map(({ user, factor, number }) =>
          [user, factor === "sms" ? { kind: factor, number } : { kind: factor, seed: SEED }] as const
        ),
        ...["twice0", "twice1"].map((user) => [user, { kind: "totp", seed: SEED }] as const),
      ],
    });
    const [replies, ...twice] = await Promise.all([
      Promise.all(CASES.map((row) => play(world, row))),
      useTwice(world, "twice0", 0),
      useTwice(world, "twice1", 1),
    ]);
    assertEquals(twice, [[accessAccept, accessReject], [accessAccept, accessReject]]);
    for (const [at, { title, first, isAccepted }] of CASES.entries()) {
      assertEquals(replies[at]?.code === accessAccept, isAccepted, `${title}, from node ${first}`);
    }
  },
);

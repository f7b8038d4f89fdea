// A login that starts on one gateway and is answered on the other: for every factor, in both directions, and with both forms of State.

import { assertEquals } from "@std/assert";
import type { NewPairing } from "../../radius/factors/pairing.ts";
import {
  type ClusterWithServices,
  fromClient,
  openClients,
  startClusterWithServices,
} from "../fakes/cluster_services.ts";
import { CODES } from "../support/radius_packets.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { totpCode } from "../support/totp.ts";

const SEED = new TextEncoder().encode("12345678901234567890");
/** State without a token. */
const STEP_NAME = /^[A-Z_]+$/;
const CLIENT_RETRIES = { timeoutMs: 5000, tries: 2 } as const;

interface Person {
  readonly name: string;
  readonly number: string;
}

/** A factor: its pairing, what the user types after the challenge, and the calls that one login makes. */
interface FactorRow {
  readonly title: string;
  readonly kind: "device" | "sms" | "voice" | "totp" | "recovery";
  readonly type: (world: ClusterWithServices, person: Person) => string;
  readonly pushes: number;
  readonly messages: number;
}

const FACTOR_ROWS: readonly FactorRow[] = [
  { title: "an approval on the phone", kind: "device", type: approve, pushes: 1, messages: 0 },
  { title: "a text message", kind: "sms", type: sentPasscode, pushes: 0, messages: 1 },
  { title: "a phone call", kind: "voice", type: sentPasscode, pushes: 0, messages: 1 },
  {
    title: "an authenticator app",
    kind: "totp",
    type: () => totpCode(SEED, Date.now()),
    pushes: 0,
    messages: 0,
  },
  {
    title: "a recovery code",
    kind: "recovery",
    type: ({ recoveryCodes }, { name }) => recoveryCodes.get(name)?.[0] ?? "none",
    pushes: 0,
    messages: 0,
  },
];

const phoneOf = ({ name }: Person): string => `phone-of-${name}`;

function approve({ secondFactor }: ClusterWithServices, person: Person): string {
  const request = secondFactor.initiated().findLast(({ pairingId }) => pairingId === phoneOf(person));
  if (request === undefined) throw new Error(`No push was sent to ${person.name}`);
  secondFactor.decide(request.id, { granted: true });
  return "";
}

function sentPasscode({ telephony }: ClusterWithServices, { number }: Person): string {
  return telephony.lastPasscode(number) ?? "none";
}

/** Each case has its own user, so that no login affects another. */
const CASES = FACTOR_ROWS.flatMap((factor) =>
  [0, 1].flatMap((first) => [true, false].map((hasStation) => ({ factor, first, hasStation })))
).map((row, at) => ({ ...row, person: { name: `user${at}`, number: `+1500555${1000 + at}` } }));

function pairingOf({ factor: { kind }, person }: typeof CASES[number]): NewPairing {
  switch (kind) {
    case "device":
      return { kind, id: phoneOf(person), totpLength: 0 };
    case "sms":
    case "voice":
      return { kind, number: person.number };
    default:
      return { kind: "totp", seed: SEED };
  }
}

/** What a client and the services see of one login. */
async function play(
  world: ClusterWithServices,
  { factor, first, hasStation, person }: typeof CASES[number],
): Promise<Record<string, unknown>> {
  using clients = openClients(world);
  const attributes = {
    ...fromClient("vpn"),
    userName: person.name,
    ...(hasStation ? { callingStationId: `station of ${person.name}` } : {}),
  };
  const challenge = await clients.at(first).ask({ ...attributes, password: "first" }, CLIENT_RETRIES);
  const state = challenge.state ?? new Uint8Array();
  const answer = { ...attributes, password: factor.type(world, person), state };
  const accept = await clients.at(1 - first).ask(answer, CLIENT_RETRIES);
  // Another packet with the same State, at the node where the login began.
  const again = await clients.at(first).ask({ ...answer, password: "another" }, CLIENT_RETRIES);
  return {
    state: STEP_NAME.test(new TextDecoder().decode(state)) ? "name" : "token",
    replies: [challenge, accept, again].map(({ code }) => code),
    problems: [challenge, accept, again].flatMap(({ problems }) => problems),
    pushes: world.secondFactor.initiated().filter(({ pairingId }) => pairingId === phoneOf(person)).length,
    messages: world.telephony.taken().filter(({ form }) => form.get("To") === person.number).length,
  };
}

/** A passcode is valid in the time steps beside its own. A clock that is wrong by one step leaves no room for a change of step. */
async function awaitNewTimeStep(): Promise<void> {
  const leftMs = 30_000 - Date.now() % 30_000;
  if (leftMs < 5000) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

/** With wrong clocks, everything lives as long as the clocks differ, so that a deadline of the other clock would have passed. */
const CLOCKS = [
  { title: "", offsetsMs: [0, 0], toml: "" },
  {
    title: ", although their clocks differ by 30 s",
    offsetsMs: [0, 30_000],
    toml: "[radius]\nconversation_ttl_s = 30\n[factors.passcode]\nlifetime_s = 30",
  },
] as const;

for (const clocks of CLOCKS) {
  testNeeding(
    { peers: [], denokv: true },
    `a login that starts on one gateway is accepted on the other, once, for every factor and form of State${clocks.title}`,
    async () => {
      await using world = await startClusterWithServices({
        clockOffsetsMs: clocks.offsetsMs,
        toml: clocks.toml,
        pairings: CASES.map((row) => [row.person.name, pairingOf(row)] as const),
        recoveryCodesOf: CASES.flatMap(({ factor, person }) =>
          factor.kind === "recovery" ? [person.name] : []
        ),
      });
      await awaitNewTimeStep();
      // Each reject takes a second, so all logins run at the same time.
      const seen = await Promise.all(CASES.map((row) => play(world, row)));
      for (const [at, { factor: { title, pushes, messages }, first, hasStation }] of CASES.entries()) {
        const expected = {
          state: hasStation ? "name" : "token",
          replies: [CODES.accessChallenge, CODES.accessAccept, CODES.accessReject],
          problems: [],
          pushes,
          messages,
        };
        assertEquals(seen[at], expected, `${title}, from node ${first}, by ${expected.state}`);
      }
    },
  );
}

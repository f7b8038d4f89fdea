// The real program with services that fail in every way: never an Accept, an answer in time as in the flow table, and
// the next login works.

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ServiceFault } from "../fakes/raw_http.ts";
import { CODES, type Reply } from "../support/radius_packets.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { unhandledLines } from "./unhandled_lines.ts";

/** Its services always answer: the deadline of a call is longer than a busy machine needs. */
let patient: ProgramWithServices;
/** For services that do not answer, so that each call ends by its deadline. */
let hasty: ProgramWithServices;
let nasPort = 0;
const HASTY_TIMEOUT_MS = 2000;
/** Longer than any answer may take: the deadline of a call, the short wait of "continue", and a slow machine. */
const PATIENCE = { timeoutMs: 30_000, tries: 1 } as const;

const start = (timeoutMs?: number) =>
  startProgramWithServices({
    timeoutMs,
    toml: `
[factors.pushes]
per_user = 1000
[factors.sends]
per_user = 1000
per_number = 1000
`,
    pairings: [
      ["dora", { kind: "device", id: "phone-of-dora", totpLength: 6 }],
      ["sam", { kind: "sms", number: "+15005550010" }],
      ["vera", { kind: "voice", number: "+15005550011" }],
    ],
  });
Deno.test.beforeAll(async () => {
  [patient, hasty] = await Promise.all([start(), start(HASTY_TIMEOUT_MS)]);
});
Deno.test.afterAll(async () => {
  await Promise.all([patient.dispose(), hasty.dispose()]);
});

const FAULTS: readonly ServiceFault[] = [
  { kind: "hang" },
  { kind: "close" },
  { kind: "truncated" },
  { kind: "slow_body" },
  { kind: "bad_json" },
  { kind: "wrong_type" },
  { kind: "wrong_shape" },
  { kind: "huge" },
  { kind: "deep" },
  { kind: "redirect" },
  { kind: "wrong_id" },
  { kind: "status", status: 400 },
  { kind: "status", status: 401 },
  { kind: "status", status: 403 },
  { kind: "status", status: 404 },
  { kind: "status", status: 429, headers: { "Retry-After": "1" } },
  { kind: "status", status: 500 },
  { kind: "status", status: 502 },
  { kind: "status", status: 503, body: "<html>down</html>" },
];
const worldFor = ({ kind }: ServiceFault) => kind === "hang" || kind === "slow_body" ? hasty : patient;
const nameOf = (fault: ServiceFault) => fault.kind === "status" ? String(fault.status) : fault.kind;
const textOf = (state: Uint8Array | null) => new TextDecoder().decode(state ?? undefined);

/** One login of a user: its start, and the answers to its prompts. */
function login(world: ProgramWithServices, userName: string) {
  const port = ++nasPort;
  const client = world.gateway.client();
  const ask = async (password: string, state?: Uint8Array): Promise<Reply> => {
    const reply = await client.ask({ userName, password, state, nasPort: port }, PATIENCE);
    assertEquals(reply.problems, []);
    return reply;
  };
  return {
    start: () => ask("x"),
    answer: (reply: Reply, typed: string) => ask(typed, reply.state ?? new Uint8Array(0)),
    [Symbol.dispose]: () => client.close(),
  };
}

function assertChallenge(reply: Reply, state: string, words: string): void {
  assertEquals([reply.code, textOf(reply.state)], [CODES.accessChallenge, state]);
  assertStringIncludes(reply.message, words);
}

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

for (const fault of FAULTS) {
  // An initiate expects no identifier, so none can be wrong.
  if (fault.kind === "wrong_id") continue;
  Deno.test(`an initiate with ${nameOf(fault)} leaves the user with a prompt`, async () => {
    const world = worldFor(fault);
    using dora = login(world, "dora");
    world.secondFactor.failNext(fault);
    assertChallenge(await dora.start(), DEVICE, "could not be sent");
  });
}

for (const fault of FAULTS) {
  Deno.test(`a status with ${nameOf(fault)} grants nothing, and the approval counts when it can be read`, async () => {
    const world = worldFor(fault);
    using dora = login(world, "dora");
    const challenge = await dora.start();
    assertChallenge(challenge, DEVICE, "Authorize this login");
    const request = world.secondFactor.initiated().at(-1);
    if (request === undefined) throw new Error("No request was opened");
    world.secondFactor.decide(request.id, { granted: true });
    world.secondFactor.failAlways(fault);
    try {
      const meanwhile = await dora.answer(challenge, "");
      if (nameOf(fault) === "404") {
        // A service that does not know the request has not approved it.
        assertEquals(meanwhile.code, CODES.accessReject);
        return;
      }
      assertChallenge(meanwhile, DEVICE, "cannot be checked right now");
    } finally {
      world.secondFactor.failAlways(null);
    }
    assertEquals((await dora.answer(challenge, " ")).code, CODES.accessAccept);
  });
}

for (const fault of FAULTS) {
  // The record of a text has no expected identifier, and no booleans.
  if (fault.kind === "wrong_id" || fault.kind === "wrong_shape") continue;
  Deno.test(`a text with ${nameOf(fault)} leads to the menu, and the next one is sent`, async () => {
    const world = worldFor(fault);
    using sam = login(world, "sam");
    world.telephony.failNext(fault);
    assertChallenge(await sam.start(), "CHOOSE_WHICH_MULTIFACTOR", "could not be sent");
    using again = login(world, "sam");
    const asked = await again.start();
    const passcode = world.telephony.lastPasscode("+15005550010") ?? "";
    assertEquals((await again.answer(asked, passcode)).code, CODES.accessAccept);
  });
}

Deno.test("a refused call also leads to the passcode prompt, and no passcode is right", async () => {
  using vera = login(patient, "vera");
  patient.telephony.failNext({ kind: "status", status: 500 });
  const asked = await vera.start();
  assertChallenge(asked, "AWAIT_VOICE_DELIVERED_PASSCODE", "conveyed by voice");
  assertEquals((await vera.answer(asked, "0000")).code, CODES.accessReject);
});

Deno.test("a login that waits for a hanging service delays no login of another user", async () => {
  hasty.secondFactor.failAlways({ kind: "hang" });
  try {
    using dora = login(hasty, "dora");
    using unknown = login(hasty, "nobody");
    let isAnswered = false;
    const held = dora.start();
    void held.then(() => isAnswered = true);
    assertChallenge(await unknown.start(), "CHOOSE_WHICH_MULTIFACTOR", "Choose");
    assertEquals(isAnswered, false, "the other login was answered first");
    assertChallenge(await held, DEVICE, "could not be sent");
  } finally {
    hasty.secondFactor.failAlways(null);
  }
});

Deno.test("a denial that becomes an approval stays a denial", async () => {
  using dora = login(patient, "dora");
  const challenge = await dora.start();
  const { id = "" } = patient.secondFactor.initiated().at(-1) ?? {};
  patient.secondFactor.decide(id, { granted: false, reason: "it was not me" });
  const denied = await dora.answer(challenge, "");
  patient.secondFactor.decide(id, { granted: true });
  assertEquals([denied.code, (await dora.answer(challenge, " ")).code], [
    CODES.accessReject,
    CODES.accessReject,
  ]);
});

Deno.test("after all that the log has no stack trace and no unhandled error", () => {
  const lines = [patient, hasty].flatMap(({ gateway }) => gateway.logLines());
  assertEquals(unhandledLines(lines), []);
});

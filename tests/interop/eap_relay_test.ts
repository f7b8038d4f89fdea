// CHAP, MS-CHAP and EAP through the gateway to FreeRADIUS: the real programs on both sides. Each login has a user of its
// own, so all logins of a test run side by side.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { makeAuthority } from "../support/certificates.ts";
import { runProgram } from "../support/child.ts";
import {
  EAP_METHODS,
  type EapLogin,
  type EapMethodName,
  EAPOL_NEEDS,
  type EapRun,
  runEapolTest,
} from "../support/eapol_test.ts";
import {
  ACCEPT_LINES,
  FIRST_PASSWORD,
  type FreeRadius,
  FREERADIUS_NEEDS,
  REFUSAL,
  startFreeRadius,
} from "../support/freeradius.ts";
import { lacking, type Needs, testNeeding } from "../support/skip_unless.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { askControl } from "../support/control_call.ts";

const NEEDS: Needs = { peers: [...FREERADIUS_NEEDS.peers, ...EAPOL_NEEDS.peers] };
const SECRET = "shared-with-the-access-point";
/** Long enough for a decision on a busy machine. */
const HOLD_S = 20;
const SHORT_HOLD_S = 2;

/** The clients, which the NAS-Identifier selects. `outer`: its server reports the outer name, the others the inner one. */
const CLIENTS: Readonly<Record<string, { outer: boolean; settings: string }>> = {
  relay: { outer: false, settings: `eap_outer_identity = "reply"\ndevice = "hold"\nhold_s = ${HOLD_S}` },
  short_relay: { outer: false, settings: `eap_outer_identity = "reply"\nhold_s = ${SHORT_HOLD_S}` },
  lenient: { outer: false, settings: `eap_outer_identity = "reply"\nhold_s = ${HOLD_S}` },
  strict: { outer: false, settings: `hold_s = ${HOLD_S}` },
  trusting: { outer: true, settings: `eap_outer_identity = "trust"\nhold_s = ${HOLD_S}` },
  gtc: { outer: false, settings: `eap = "gtc"\ndevice = "hold"\nhold_s = ${HOLD_S}` },
  short_gtc: { outer: false, settings: `eap = "gtc"\ndevice = "hold"\nhold_s = ${SHORT_HOLD_S}` },
};

const settingsOf = ({ port, outerNamePort, secret }: FreeRadius) =>
  Object.entries(CLIENTS).map(([name, { outer, settings }]) => `
[[radius.client]]
name = "${name}"
address = ["127.0.0.1"]
nas_identifier = "${name}"
secret = "${SECRET}"
first_factor = "radius"
first_factor_server = { address = "127.0.0.1:${outer ? outerNamePort : port}", secret = "${secret}" }
unknown_users = "allow"
${settings}`).join("\n");

interface Person {
  readonly name: string;
  readonly pairingId: string;
}

/** Users with a phone; each login takes one. */
const PEOPLE: readonly Person[] = Array.from({ length: 80 }, (_, at) => ({
  name: `eap${at + 1}`,
  pairingId: crypto.randomUUID(),
}));
let taken = 0;

function newPerson(): Person {
  const person = PEOPLE[taken++];
  if (person === undefined) throw new Error("PEOPLE is too short");
  return person;
}

/** This user needs no second factor at the client `lenient`. */
const exempt = newPerson();
/** The first server asks this user for a new password. */
const expired: Person = { name: "expired", pairingId: crypto.randomUUID() };

let first: FreeRadius;
let world: ProgramWithServices;

Deno.test.beforeAll(async () => {
  if (lacking(NEEDS) !== null) return;
  first = await startFreeRadius();
  world = await startProgramWithServices({
    toml: settingsOf(first),
    pairings: [...PEOPLE, expired].map((
      { name, pairingId },
    ) => [name, { kind: "device", id: pairingId, totpLength: 6 }]),
  });
  const policy = {
    name: "No second factor",
    enabled: true,
    conditions: { clients: ["lenient"], users: [exempt.name] },
    outcome: { kind: "bypass", clientChecksPassword: true, unknownUsers: true },
  };
  await askControl(world.gateway.dataDir, "/policies", { version: 0, confirm: true, policy });
});
Deno.test.afterAll(async () => {
  if (lacking(NEEDS) !== null) return;
  await world.dispose();
  await first[Symbol.asyncDispose]();
});

const pushesOf = ({ pairingId }: Person) =>
  world.secondFactor.initiated().filter((one) => one.pairingId === pairingId);

/** Decides the request of a user when it arrives. */
async function decide(person: Person, granted: boolean): Promise<void> {
  await eventually("the approval is asked for", () => pushesOf(person).length > 0, { withinMs: 30_000 });
  const [push] = pushesOf(person);
  if (push !== undefined) world.secondFactor.decide(push.id, { granted });
}

/** A login at a client. Without a password it is the right one. */
async function login(
  client: string,
  wanted: Omit<EapLogin, "port" | "secret" | "caFile">,
): Promise<EapRun> {
  return await runEapolTest({
    password: FIRST_PASSWORD,
    ...wanted,
    port: world.gateway.radiusPort,
    secret: SECRET,
    caFile: first.caFile,
    attributes: [`32:s:${client}`],
    ...wanted.method === "TLS" && wanted.certificate === undefined
      ? { certificate: await first.certificateOf(wanted.user) }
      : {},
    timeoutS: HOLD_S + 20,
  });
}

// Every method with every end.

const ENDS = ["approved", "denied", "no decision", "wrong password"] as const;
type End = typeof ENDS[number];

/** The rows: the methods that are relayed, and EAP-GTC of the gateway itself. */
const ROWS: readonly { readonly title: string; readonly method: EapMethodName; readonly client: string }[] = [
  ...(Object.keys(EAP_METHODS) as EapMethodName[]).map((method) => ({
    title: method,
    method,
    client: "relay",
  })),
  { title: "GTC of the gateway", method: "GTC", client: "gtc" },
];

const EXPECTED: Readonly<Record<End, string>> = {
  "approved": "accept, 1 push",
  "denied": "reject with EAP-Failure, 1 push",
  "no decision": "reject with EAP-Failure, 1 push",
  "wrong password": "reject with EAP-Failure, 0 pushes",
};

async function play({ method, client }: typeof ROWS[number], end: End): Promise<string> {
  const person = newPerson();
  // The authority of this certificate is unknown to the server, which is the wrong password of EAP-TLS.
  const stranger = end === "wrong password" && method === "TLS"
    ? await foreignCertificate(person.name)
    : undefined;
  const [run] = await Promise.all([
    login(end === "no decision" ? `short_${client}` : client, {
      method,
      user: person.name,
      ...end === "wrong password" ? { password: "wrong" } : {},
      ...stranger === undefined ? {} : { certificate: stranger },
    }),
    end === "approved" || end === "denied" ? decide(person, end === "approved") : null,
  ]);
  const pushes = pushesOf(person).length;
  const wantedKeys = EAP_METHODS[method].hasKeys && run.outcome === "accept" ? "equal" : "absent";
  return [
    run.outcome === "reject" && run.hasEapFailure ? "reject with EAP-Failure" : run.outcome,
    ...run.keys === wantedKeys ? [] : [`keys ${run.keys}`],
    `${pushes} push${pushes === 1 ? "" : "es"}`,
  ].join(", ");
}

async function foreignCertificate(commonName: string) {
  const folder = await Deno.makeTempDir({ dir: scratch.path });
  return await (await makeAuthority(folder)).issue(["email:a@example.com"], { isRsa: true, commonName });
}

const scratch = { path: Deno.makeTempDirSync({ prefix: "countersign-foreign-" }) };
Deno.test.afterAll(() => Deno.remove(scratch.path, { recursive: true }));

for (const row of ROWS) {
  testNeeding(NEEDS, `${row.title} through the gateway: ${ENDS.join(", ")}`, async () => {
    const ends = await Promise.all(ENDS.map(async (end) => [end, await play(row, end)] as const));
    assertEquals(Object.fromEntries(ends), EXPECTED);
  });
}

// Who is the user? The password is that of the inner name.

const TUNNELS: readonly EapMethodName[] = ["PEAP/MSCHAPV2", "TTLS/PAP", "TTLS/MSCHAPV2", "TLS"];

for (const method of TUNNELS) {
  testNeeding(
    NEEDS,
    `${method}: only the name inside the tunnel counts, whatever the outer name is`,
    async () => {
      const [inner, outer] = [newPerson(), newPerson()];
      const names = { user: inner.name, outerName: outer.name };
      // Without a setting, no name of a tunnel is trusted, not even two equal ones.
      const [strict, equal] = await Promise.all([
        login("strict", { method, ...names }),
        login("strict", { method, user: inner.name }),
      ]);
      assertEquals([strict.outcome, equal.outcome], ["reject", "reject"]);
      assertStringIncludes(await world.gateway.logged("eap_outer_identity"), "eap_outer_identity");
      assertEquals([pushesOf(inner).length, pushesOf(outer).length], [0, 0]);
      const [replied] = await Promise.all([login("relay", { method, ...names }), decide(inner, true)]);
      assertEquals([replied.outcome, replied.keys], ["accept", "equal"]);
      assertEquals([pushesOf(inner).length, pushesOf(outer).length], [1, 0]);
    },
  );

  testNeeding(NEEDS, `${method}: the bypass of the outer name does not help`, async () => {
    const inner = newPerson();
    const own = await login("lenient", { method, user: exempt.name });
    assertEquals([own.outcome, own.keys], ["accept", "equal"]);
    const [attack] = await Promise.all([
      login("lenient", { method, user: inner.name, outerName: exempt.name }),
      decide(inner, false),
    ]);
    assertEquals([attack.outcome, pushesOf(inner).length, pushesOf(exempt).length], ["reject", 1, 0]);
  });
}

testNeeding(
  NEEDS,
  "MSCHAPV2: a name inside that differs from the identity is refused, without a push",
  async () => {
    for (const [client, outer] of [["relay", newPerson()], ["lenient", exempt]] as const) {
      const inner = newPerson();
      const run = await login(client, { method: "MSCHAPV2", user: inner.name, outerName: outer.name });
      assertEquals([run.outcome, run.hasEapFailure], ["reject", true]);
      assertEquals([pushesOf(inner).length, pushesOf(outer).length], [0, 0]);
    }
  },
);

testNeeding(
  NEEDS,
  'eap_outer_identity = "trust" asks the outer name, as its documentation warns',
  async () => {
    const [inner, outer] = [newPerson(), newPerson()];
    const [run] = await Promise.all([
      login("trusting", { method: "TTLS/PAP", user: inner.name, outerName: outer.name }),
      decide(outer, true),
    ]);
    assertEquals([run.outcome, pushesOf(inner).length], ["accept", 0]);
  },
);

// Methods without EAP, and the attributes of the first server.

/** The reply to a request of radclient, as it printed it. */
async function radclient(
  { port, secret }: { port: number; secret: string },
  attributes: readonly string[],
): Promise<{ code: string; lines: string[] }> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "30", "-r", "1", `127.0.0.1:${port}`, "auth", secret],
    stdin: `${attributes.join(",")}, Message-Authenticator = 0x00\n`,
  });
  const reply = stdout.slice(stdout.indexOf("Received "));
  const [, code] = /^Received (Access-\w+) /.exec(reply) ?? [];
  if (code === undefined) throw new Error(`radclient got no reply:\n${stdout}${stderr}`);
  const lines = [...reply.matchAll(/^\t(.*)$/gm)].map(([, line = ""]) => line);
  return { code, lines: lines.filter((line) => !line.startsWith("Message-Authenticator")) };
}

/** What radclient sends for each method. */
const PLAIN = {
  "PAP": (password: string) => `User-Password = "${password}"`,
  "CHAP": (password: string) => `CHAP-Password = "${password}"`,
  "MS-CHAP": (password: string) => `MS-CHAP-Password = "${password}"`,
} as const;

for (const [title, passwordOf] of Object.entries(PLAIN)) {
  testNeeding(
    NEEDS,
    `${title}: approved with the attributes of the first server, in order; wrong; denied`,
    async () => {
      const person = newPerson();
      const request = (password: string) => [`User-Name = "${person.name}"`, passwordOf(password)];
      const place = [`NAS-Identifier = "relay"`, `NAS-Port = ${taken}`, "Proxy-State = 0x010203"];
      const gateway = { port: world.gateway.radiusPort, secret: SECRET };
      const direct = await radclient(first, request(FIRST_PASSWORD));
      const [relayed] = await Promise.all([
        radclient(gateway, [...request(FIRST_PASSWORD), ...place]),
        decide(person, true),
      ]);
      assertEquals(relayed.code, "Access-Accept");
      assertEquals(relayed.lines, [...direct.lines, "Proxy-State = 0x010203"]);
      for (const line of ACCEPT_LINES) assert(relayed.lines.includes(line), line);
      const wrong = await radclient(gateway, [...request("wrong"), ...place]);
      assertEquals(wrong.code, "Access-Reject");
      assert(wrong.lines.includes(`Reply-Message = "${REFUSAL}"`), wrong.lines.join("\n"));
      assertEquals(pushesOf(person).length, 1);
      const other = newPerson();
      const [denied] = await Promise.all([
        radclient(gateway, [`User-Name = "${other.name}"`, passwordOf(FIRST_PASSWORD), ...place]),
        decide(other, false),
      ]);
      const hasError = denied.lines.some((line) => line.startsWith("MS-CHAP-Error"));
      assertEquals([denied.code, hasError], ["Access-Reject", title === "MS-CHAP"]);
      assertEquals(denied.lines.filter((line) => /^(Class|MS-CHAP-MPPE-Keys|Tunnel)/.test(line)), []);
    },
  );
}

testNeeding(NEEDS, "PAP: a question of the first server comes before the second factor", async () => {
  const gateway = { port: world.gateway.radiusPort, secret: SECRET };
  const common = [`User-Name = "${expired.name}"`, 'NAS-Identifier = "relay"', "NAS-Port = 1"];
  let state: string | undefined;
  const send = async (password: string) => {
    const { code, lines } = await radclient(gateway, [
      ...common,
      PLAIN.PAP(password),
      ...state === undefined ? [] : [`State = ${state}`],
    ]);
    const text = lines.join("\n");
    [, state] = /^State = (0x\w+)$/m.exec(text) ?? [];
    return { code, text };
  };
  const asked = await send(FIRST_PASSWORD);
  assertEquals([asked.code, pushesOf(expired).length], ["Access-Challenge", 0]);
  assertStringIncludes(asked.text, "Your password has expired. Enter a new one:");
  const pushed = await send("a new password");
  assertEquals([pushed.code, pushesOf(expired).length], ["Access-Challenge", 1]);
  await decide(expired, true);
  const accepted = await send("continue");
  assertEquals(accepted.code, "Access-Accept");
  for (const line of ACCEPT_LINES) assertStringIncludes(accepted.text, line);
});

// Logins of real clients through the real program: each scenario with each peer, a watch by Status-Server, and the codes of the help desk.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { totpCode } from "../support/totp.ts";
import { type ProgramWithServices, startProgramWithServices } from "../fakes/program_services.ts";
import { lacking, type Needs, testNeeding } from "../support/skip_unless.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { eventually } from "../upstream/manual_clock.ts";
import { runBeside } from "../cli/people_world.ts";
import { tokenCode } from "../radius/rows/tokens.ts";
import type { Login, PeerSetUp, Verdict } from "./peers/login.ts";
import { setUpRadsecproxy } from "./peers/proxies.ts";
import { PEER_ROWS } from "./peers/rows.ts";
import { askControl } from "../support/control_call.ts";
import { clients, newPort, send } from "./radclient_login.ts";

// The logins that every peer runs, as rows: the user's factor, the events, and the result.

/** The data of one user, so that no login affects another's. */
export interface Person {
  readonly name: string;
  readonly phone: string;
  readonly devicePairing: string;
}

/** A login from the first prompt to the end. */
export interface ScenarioRow {
  readonly title: string;
  /** The arguments of `pair()` after the user's name. */
  readonly factor: (
    person: Person,
  ) => readonly [option: "--device" | "--sms" | "--totp" | "--voice", value: string];
  readonly play: (login: Login, scene: { world: ProgramWithServices; person: Person }) => Promise<void>;
  readonly verdict: Verdict;
  /** Part of the Reply-Message of a Reject, for peers that show it. */
  readonly message?: string;
}

const TOTP_SEED = "12345678901234567890";
const TOTP_SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

const byDevice = ({ devicePairing }: Person) => ["--device", devicePairing] as const;
const byText = ({ phone }: Person) => ["--sms", phone] as const;
const byVoice = ({ phone }: Person) => ["--voice", phone] as const;
const byTotp = () => ["--totp", TOTP_SEED_BASE32] as const;

/** The passcode that was last sent to a user. */
export function sentPasscode(world: ProgramWithServices, { phone }: Person): string {
  const passcode = world.telephony.lastPasscode(phone);
  if (passcode === undefined) throw new Error(`Nothing was sent to ${phone}`);
  return passcode;
}

/** Decides the pending request on a user's device. */
export function decideOnDevice(
  world: ProgramWithServices,
  { devicePairing }: Person,
  granted: boolean,
): void {
  const request = world.secondFactor.initiated().findLast((one) => one.pairingId === devicePairing);
  if (request === undefined) throw new Error("No approval was asked for");
  world.secondFactor.decide(request.id, { granted });
}

/** A different passcode of the same length. */
export function otherThan(passcode: string): string {
  return [...passcode].map((digit) => String((Number(digit) + 1) % 10)).join("");
}

export const SCENARIOS: readonly ScenarioRow[] = [
  {
    title: "approval on the device",
    factor: byDevice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("on your device");
      decideOnDevice(world, person, true);
      await login.answer("continue");
    },
  },
  {
    title: "approval on the device after asking too early",
    factor: byDevice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("on your device");
      await login.answer("continue");
      await login.shows("Still waiting");
      decideOnDevice(world, person, true);
      await login.answer("continue");
    },
  },
  {
    title: "denial on the device",
    factor: byDevice,
    verdict: "reject",
    message: "evice approval was not given",
    async play(login, { world, person }) {
      await login.shows("on your device");
      decideOnDevice(world, person, false);
      await login.answer("continue");
    },
  },
  {
    title: "passcode by text message",
    factor: byText,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "passcode by voice",
    factor: byVoice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode conveyed by voice");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "passcode generated on the device",
    factor: byTotp,
    verdict: "accept",
    async play(login) {
      await login.shows("passcode that your device generates");
      await login.answer(totpCode(TOTP_SEED, Date.now()));
    },
  },
  {
    title: "wrong passcode",
    factor: byVoice,
    verdict: "reject",
    message: "submitted passcode does not match",
    async play(login, { world, person }) {
      await login.shows("passcode conveyed by voice");
      await login.answer(otherThan(sentPasscode(world, person)));
    },
  },
  {
    title: "cancel, then another passcode by text message",
    factor: byText,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      await login.answer("Cancel");
      await login.shows("Choose a second factor");
      await login.answer("t");
      await login.shows("passcode from the text message");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "cancel, after which the earlier passcode counts no more",
    factor: byText,
    verdict: "reject",
    message: "submitted passcode does not match",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      const earlier = sentPasscode(world, person);
      await login.answer("cancel");
      await login.shows("Choose a second factor");
      await login.answer("T");
      await login.shows("passcode from the text message");
      // One new passcode in a million equals the earlier one by chance.
      await login.answer(earlier === sentPasscode(world, person) ? otherThan(earlier) : earlier);
    },
  },
];

// radsecproxy with Status-Server in front of a gateway. It starts with the first test of a file and is checked in the last
// one, so that the other tests run meanwhile.

export const STATUS_SERVER_NEEDS: Needs = { peers: ["radclient", "radsecproxy"] };
/** Each except the first after another Status-Server: radsecproxy sends one after about 25 s without traffic. */
const LOGINS = 3;
const STATUS_WITHIN_MS = 90_000;

const SECRET = "shared-with-radsecproxy";
/**
 * One address, and message_authenticator = "auto": a signed Access-Request would make this entry require signatures.
 */
const SETTINGS = `
[[radius.client]]
name = "proxy"
address = ["127.0.0.1"]
secret = "${SECRET}"`;

export interface StatusServerWatch extends AsyncDisposable {
  /** Waits for the last login, and checks that every login was answered and that Status-Server packets arrived. */
  check(): Promise<void>;
}

/** `null` if the programs are missing. */
export async function watchStatusServer(): Promise<StatusServerWatch | null> {
  if (lacking(STATUS_SERVER_NEEDS) !== null) return null;
  const gateway = await startProgram({ toml: SETTINGS });
  const proxy = await setUpRadsecproxy({ port: gateway.radiusPort, secret: SECRET });
  const stop = Promise.withResolvers<void>();
  // A failure before `check` must not end the test run, so it is a value until then.
  const logins = login(proxy, { gateway, stopped: stop.promise }).then(
    (made) => ({ made, fault: null }),
    (fault: unknown) => ({ made: 0, fault }),
  );
  return {
    async check() {
      assertEquals(await logins, { made: LOGINS, fault: null });
      assert(
        await gateway.metric("status_answers_total") >= LOGINS - 1,
        "radsecproxy sent too few Status-Server packets",
      );
      assertEquals(gateway.logLines().filter((line) => line.includes("dropped:")), []);
    },
    async [Symbol.asyncDispose]() {
      stop.resolve();
      await logins;
      await proxy[Symbol.asyncDispose]();
      await gateway.dispose();
    },
  };
}

/** Begins the logins; each reaches the menu, or this function rejects. */
async function login(
  proxy: PeerSetUp,
  { gateway, stopped }: { gateway: RunningProgram; stopped: Promise<void> },
): Promise<number> {
  let isStopped = false;
  void stopped.then(() => isStopped = true);
  let made = 0;
  let seen = 0;
  const isDue = async () => made === 0 || await gateway.metric("status_answers_total") > seen;
  while (made < LOGINS) {
    for (const end = performance.now() + STATUS_WITHIN_MS; !isStopped && !await isDue();) {
      if (performance.now() > end) throw new Error("radsecproxy sends no Status-Server");
      await pause(1000, stopped);
    }
    if (isStopped) break;
    const begun = await proxy.login({ name: `proxied${made}`, password: "first" });
    await begun.shows("Choose a second factor");
    made++;
    seen = await gateway.metric("status_answers_total");
  }
  return made;
}

async function pause(forMs: number, stopped: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([stopped, new Promise((resolve) => timer = setTimeout(resolve, forMs))]);
  clearTimeout(timer);
}

// Real RADIUS clients with the real program: every client runs every scenario.

let statusServer: StatusServerWatch | null = null;
Deno.test.beforeAll(async () => {
  statusServer = await watchStatusServer();
});
Deno.test.afterAll(async () => {
  await statusServer?.[Symbol.asyncDispose]();
});

let people = 0;

/** A new user without an earlier login, so that logins share no limit and no conversation. */
function newPerson(): Person {
  people++;
  return {
    name: `person${people}`,
    phone: `+1202${String(5_550_000 + people)}`,
    devicePairing: crypto.randomUUID(),
  };
}

async function playOne(
  row: ScenarioRow,
  { world, peer }: { world: ProgramWithServices; peer: PeerSetUp },
): Promise<void> {
  const person = newPerson();
  await world.pair(person.name, ...row.factor(person));
  const login = await peer.login({ name: person.name, password: "first" });
  await row.play(login, { world, person });
  const { verdict, message } = await login.end();
  assertEquals(verdict, row.verdict);
  if (row.message !== undefined && message !== null) assertStringIncludes(message, row.message);
}

for (const peer of PEER_ROWS) {
  testNeeding(peer.needs, peer.title, async (context) => {
    await using world = await startProgramWithServices();
    await using setUp = await peer.setUp({ port: world.gateway.radiusPort, secret: world.gateway.secret });
    for (const row of SCENARIOS) {
      await context.step(`${peer.title}: ${row.title}`, () => playOne(row, { world, peer: setUp }));
    }
  });
}

const HOLD = `
[radius]
device = "hold"`;

/** Waits until the approval is requested, then grants it while the login is held. */
async function grantWhenAsked(world: ProgramWithServices, person: Person): Promise<void> {
  await eventually(
    "the approval is asked for",
    () => world.secondFactor.initiated().some(({ pairingId }) => pairingId === person.devicePairing),
  );
  decideOnDevice(world, person, true);
}

testNeeding(
  { peers: PEER_ROWS.flatMap((row) => row.needs.peers), root: true },
  "a held login is accepted in one round trip when the device approves, for every peer",
  async (context) => {
    await using world = await startProgramWithServices({ toml: HOLD });
    for (const row of PEER_ROWS) {
      await context.step(`${row.title}: held`, async () => {
        await using setUp = await row.setUp({ port: world.gateway.radiusPort, secret: world.gateway.secret });
        const person = newPerson();
        await world.pair(person.name, "--device", person.devicePairing);
        const [login] = await Promise.all([
          setUp.login({ name: person.name, password: "first" }),
          grantWhenAsked(world, person),
        ]);
        assertEquals((await login.end()).verdict, "accept");
        const pushes = world.secondFactor.initiated().filter(({ pairingId }) =>
          pairingId === person.devicePairing
        );
        assertEquals(pushes.length, 1);
      });
    }
  },
);

const EXPIRY = `
[radius]
conversation_ttl_s = 30
[factors.passcode]
lifetime_s = 30`;

/** Begins a login by text message, and returns a function that answers it after the conversation has expired. */
async function beginLate(
  world: ProgramWithServices,
  peer: PeerSetUp,
): Promise<{ login: Login; passcode: string }> {
  const person = newPerson();
  await world.pair(person.name, "--sms", person.phone);
  const login = await peer.login({ name: person.name, password: "first" });
  await login.shows("passcode from the text message");
  return { login, passcode: sentPasscode(world, person) };
}

testNeeding(
  { peers: PEER_ROWS.flatMap((row) => row.needs.peers), root: true },
  "the right passcode after the end of the conversation is rejected, for every peer",
  async () => {
    await using world = await startProgramWithServices({ toml: EXPIRY });
    const door = { port: world.gateway.radiusPort, secret: world.gateway.secret };
    await using stack = new AsyncDisposableStack();
    const late: { title: string; login: Login; passcode: string }[] = [];
    for (const row of PEER_ROWS) {
      const setUp = stack.use(await row.setUp(door));
      late.push({ title: row.title, ...await beginLate(world, setUp) });
    }
    // 30 s is the shortest lifetime that the settings allow; all peers wait for it together.
    await new Promise((resolve) => setTimeout(resolve, 30_500));
    for (const { title, login, passcode } of late) {
      await login.answer(passcode);
      assertEquals((await login.end()).verdict, "reject", title);
    }
  },
);

// The others run meanwhile.
testNeeding(
  STATUS_SERVER_NEEDS,
  "radsecproxy with Status-Server: unsigned logins are answered before, between and after its packets",
  async () => {
    await statusServer?.check();
  },
);

// The real program, radclient, and the commands: codes of an imported hardware token, and a bypass code at the prompt and behind the password.

const SEED = "3132333435363738393031323334353637383930";

/** As Excel writes "Unicode text". */
function utf16(text: string): Uint8Array {
  return new Uint8Array(new Uint16Array([..."\ufeff", ...text].map((one) => one.charCodeAt(0))).buffer);
}

testNeeding(
  { peers: ["radclient"] },
  "radclient logs in with a hardware token, and with a bypass code at the prompt and in append mode",
  async () => {
    await using world = await startProgramWithServices({
      toml: `${clients(["none"])}\nappend_mode = true\n`,
    });
    const { gateway } = world;
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runBeside(gateway, "tokens", ...args);
      assertEquals(code, 0, stderr);
      return stdout;
    };
    await askControl(gateway.dataDir, "/users", { user: { userName: "ada" } });
    const file = `${gateway.dataDir}/seeds.txt`;
    await Deno.writeFile(file, utf16(`T-1\t${SEED}\thotp\n`));
    assertStringIncludes(await run("import", file), "1 token");
    await run("assign", "T-1", "ada");
    const codes = [3, 3, 4].map((at) => tokenCode(at));
    const answers: string[] = [];
    for (const code of codes) answers.push((await send(world, { user: "ada", password: `pw,${code}` })).code);
    assertEquals(answers, ["Accept", "Reject", "Accept"]);
    const { code } = await askControl<{ code: string }>(gateway.dataDir, "/users/ada/bypass", {
      ...{ uses: 2, minutes: 60 },
    });
    assertMatch(code, /^\d{5}-\d{5}$/);
    const place = newPort();
    const first = await send(world, { user: "ada", password: "pw", place });
    assertEquals(first.code, "Challenge");
    const second = await send(world, { user: "ada", password: code, place, state: first.state });
    assertEquals(second.code, "Accept");
    assertEquals((await send(world, { user: "ada", password: `pw,${code}` })).code, "Accept");
    // Used up: the digits are a part of the password again.
    assertEquals((await send(world, { user: "ada", password: `pw,${code}` })).code, "Challenge");
    assertEquals(gateway.logLines().some((line) => line.includes(code)), false);
  },
);

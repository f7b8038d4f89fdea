// Attacks on sign-ins to the console and on API tokens: guesses, blocked addresses, old links, copies of the data, and grants.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { openDataDir } from "../../platform/data_dir.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import type { JobView } from "../../console/api/api_types.ts";
import type { UserView } from "../../console/api/users/user_types.ts";
import { sendRaw } from "../fault_injection/identity_world.ts";
import { startProgram } from "../support/program.ts";
import { startProgramWithServices } from "../fakes/program_services.ts";
import { fromBase32, totpCode } from "../support/totp.ts";
import { CODES } from "../support/radius_packets.ts";
import { type ApiCaller, CONSOLE, createCaller, OWNER, startSecured } from "./console_caller.ts";
import { openSession } from "./attack_world.ts";

// Finding 23: guesses at an administrator's password were limited for each source only, so many sources had many
// guesses at one account.

Deno.test("after 10 wrong passwords from many sources each further source has one guess, and the owner still signs in", async () => {
  await using site = await startSecured();
  const { httpUrl } = site.gateway;
  const signIn = async (from: string, password: string) => {
    const body = JSON.stringify({ name: OWNER.name, password });
    const head = `POST ${CONSOLE}/session HTTP/1.1\r\nOrigin: ${httpUrl}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return (await sendRaw({ httpUrl, head, body: [new TextEncoder().encode(body)], from, timeoutMs: 60_000 }))
      .status;
  };
  for (let at = 0; at < 10; at += 1) assertEquals(await signIn(`127.0.1.${at}`, `guess ${at}`), 401);
  // From now on each source has one wrong guess.
  assertEquals(await signIn("127.0.2.1", "guess"), 401);
  assertEquals(await signIn("127.0.2.1", "guess"), 429);
  assertEquals(await signIn("127.0.1.3", "guess"), 429);
  assertEquals(await signIn("127.0.2.2", OWNER.password), 200);
  // The owner signed in from 127.0.0.1 before: a typing error there costs no more than it did.
  assertEquals([await signIn("127.0.0.1", "typo"), await signIn("127.0.0.1", "typo")], [401, 401]);
  assertEquals(await signIn("127.0.0.1", OWNER.password), 200);
});

// Attack: a stranger behind the same address as others (a reverse proxy, a company's egress address) uses up the failed
// sign-ins of that address. Correct credentials, live sessions and other clients of the proxy must not be blocked.

const NAME = "provisioner";
const PASSWORD = "correct horse battery staple";
const PROXY_OWNER = { name: "owner", password: "correct horse battery" };
const TOML = `
[http]
trusted_proxies = ["127.0.0.1"]
[[scim.credential]]
name = "${NAME}"
password = "${PASSWORD}"
targets = ["default"]
access = "write"
[[console.admin]]
name = "${PROXY_OWNER.name}"
password = "${PROXY_OWNER.password}"
role = "owner"
`;

Deno.test("a stranger behind the same proxy does not block correct credentials, and is limited", async (t) => {
  await using gateway = await startProgram({ toml: TOML });
  const scim = async (password: string, forwarded: string | null): Promise<Response> => {
    const response = await fetch(`${gateway.httpUrl}/idm/scim/default/Users`, {
      headers: {
        authorization: `Basic ${btoa(`${NAME}:${password}`)}`,
        ...forwarded === null ? {} : { "x-forwarded-for": forwarded },
      },
    });
    await response.body?.cancel();
    return response;
  };
  const signIn = async (password: string, forwarded: string): Promise<Response> => {
    const response = await fetch(`${gateway.httpUrl}/console/api/session`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: gateway.httpUrl, "x-forwarded-for": forwarded },
      body: JSON.stringify({ name: PROXY_OWNER.name, password }),
    });
    await response.body?.cancel();
    return response;
  };

  await t.step("SCIM: five wrong passwords, then 429 with Retry-After for wrong ones only", async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++) statuses.push((await scim(`guess-${at}`, null)).status);
    assertEquals(statuses, [401, 401, 401, 401, 401]);
    assertEquals((await scim(PASSWORD, null)).status, 200);
    const limited = await scim("guess-5", null);
    assertEquals(limited.status, 429);
    assertMatch(limited.headers.get("retry-after") ?? "", /^[1-9][0-9]?$/);
  });

  await t.step("SCIM: another client of the proxy is another source, whatever it claims to be", async () => {
    assertEquals((await scim("guess", "198.51.100.7")).status, 401);
    // The right end of the header is the address that the proxy saw; the left end is what the client sent.
    for (let at = 0; at < 4; at++) await scim("guess", `203.0.113.${at}, 198.51.100.7`);
    assertEquals((await scim("guess", "203.0.113.99, 198.51.100.7")).status, 429);
    assertEquals((await scim("guess", "198.51.100.8")).status, 401);
  });

  await t.step(
    "console: an owner behind the proxy signs in while a stranger behind it is limited",
    async () => {
      for (let at = 0; at < 5; at++) await signIn("wrong", "198.51.100.20");
      assertEquals((await signIn("wrong", "198.51.100.20")).status, 429);
      assertEquals((await signIn(PROXY_OWNER.password, "198.51.100.21")).status, 200);
    },
  );

  await t.step("the log names the client, not the proxy", async () => {
    assertMatch(await gateway.logged("source=198.51.100.20"), /console sign-in refused/);
  });
});

// Finding 16: images on another site made the visitor's browser call the OIDC callback, and five of them blocked the
// sign-in of that address.

Deno.test("the OIDC callback without a provider answers 404 and blocks no sign-in", async () => {
  await using site = await startSecured();
  const image = createCaller(site.gateway, {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "no-cors",
    "sec-fetch-dest": "image",
  });
  for (let times = 0; times < 12; times += 1) {
    assertEquals((await image.call(`${CONSOLE}/oidc/callback`)).status, 404);
  }
  assertEquals((await createCaller(site.gateway).call(`${CONSOLE}/session`, { json: OWNER })).status, 200);
});

// A used set-up link stays in no file of the data directory: the real program, from its first start to the first owner.

Deno.test("the used set-up link leaves first-start.txt", async () => {
  await using gateway = await startProgram();
  const file = `${gateway.dataDir}/first-start.txt`;
  const read = () =>
    Deno.readTextFile(file).catch((fault: unknown) => {
      if (fault instanceof Deno.errors.NotFound) return "";
      throw fault;
    });
  const [, token = ""] = /\/setup#(\S+)/.exec(await read()) ?? [];
  assertMatch(token, /^[A-Za-z0-9_-]{22}$/);
  const setUp = async (password: string) => {
    const response = await fetch(`${gateway.httpUrl}/console/api/setup`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        origin: gateway.httpUrl,
      },
      body: JSON.stringify({ token, name: "owner", password }),
    });
    await response.body?.cancel();
    return response.status;
  };
  // A refused attempt does not use the link up.
  assertEquals(await setUp("short"), 400);
  assertStringIncludes(await read(), token);
  assertEquals(await setUp("a long password for the owner"), 200);
  assertEquals((await read()).includes("/setup#"), false);
  assertEquals(await setUp("a long password for another"), 410);
});

// Finding 8: a copy of the data directory let anyone guess passwords at the speed of MD5.

const WINTER_PASSWORD = "Winter2026!";

/** All octets below a directory. */
async function readAll(path: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile) parts.push(await Deno.readFile(`${path}/${name}`));
  }
  return Buffer.concat(parts);
}

Deno.test("08: the data directory has no digest of a login's password, with any key that is in it", async () => {
  const pairings = [["alice", { kind: "device", id: "pairing-of-alice", totpLength: 6 }]] as const;
  await using world = await startProgramWithServices({ pairings });
  using alice = openSession(world.gateway, { userName: "alice", nasPort: 7 });
  assertEquals((await alice.login(WINTER_PASSWORD)).step, "SECONDFACTOR_AWAIT_DEVICE_APPROVAL");
  // The answer is typed into the same field.
  assertEquals((await alice.answer(WINTER_PASSWORD)).kind, "challenge");
  await world.gateway.kill9();
  const { dataDir } = world.gateway;
  const stored = await readAll(dataDir);
  const { vault, close } = await openDataDir(dataDir, { random: createSystemRandom(), masterKeyHex: "" });
  const purposes = ["join", "digest", "state token", "passcode", "vault"];
  const keys = purposes.map((purpose) => vault.deriveKey(purpose, 32));
  await close();
  const found: string[] = [];
  for (const [at, key] of keys.entries()) {
    for (const algorithm of ["md5", "sha1", "sha256"]) {
      const digest = createHmac(algorithm, key).update(WINTER_PASSWORD).digest();
      const forms = [digest.toString("base64url"), digest.toString("hex"), digest.toString("base64")];
      if (forms.some((form) => stored.includes(form)) || stored.includes(digest)) {
        found.push(`HMAC-${algorithm} under "${purposes[at]}"`);
      }
    }
  }
  assertEquals([stored.includes("alice"), found], [true, []]);
});

// Finding 11: an API token set a user's password, confirmed a TOTP secret for the user, and signed in to the VPN as
// that user.

/** Waits for the end of a job. */
async function jobEnd(caller: ApiCaller, id: string): Promise<JobView> {
  for (;;) {
    const view = await caller.take<JobView>(`${CONSOLE}/jobs/${id}`);
    if (view.state !== "running") return view;
  }
}

interface BegunTotp {
  readonly id: string;
  readonly secret: string;
}

/**
 * Every change that gives a person a way to sign in, as a request with an owner's API token. A user without a factor
 * can enrol at login.
 */
const GRANTS: readonly (readonly [method: string, path: string, json: unknown])[] = [
  ["PUT", "/users/ceo/password", { password: "chosen by the thief" }],
  ["POST", "/users/ceo/totp", {}],
  ["POST", "/users/ceo/totp/confirm", { id: "0".repeat(32), code: "123456" }],
  ["POST", "/users/ceo/pairings", { kind: "sms", number: "+14155550123" }],
  ["DELETE", "/users/ceo/pairings/any", {}],
  ["DELETE", "/devices/any", {}],
  ["POST", "/hardware-tokens/any/resynchronize", { codes: ["123456", "654321"] }],
  // It says when a guessed code will be valid.
  ["POST", "/hardware-tokens/any/test", { code: "123456" }],
  ["POST", "/users/ceo/invitation", {}],
  ["POST", "/users/ceo/me-link", {}],
  ["POST", "/users/ceo/unlock", {}],
  ["PUT", "/users/ceo/active", { active: true }],
  ["PUT", "/groups/admins/replies", { attributes: { "Filter-Id": "admins" } }],
  ["POST", "/users", { user: { userName: "thief", password: "chosen by the thief" } }],
  ["POST", "/users", { user: { userName: "thief", phoneNumbers: [{ value: "+14155550123" }] } }],
  ["POST", "/imports/any/apply", {}],
  ["POST", "/bulk", { choice: { names: ["ceo"] }, action: "activate" }],
];

/** One gateway for the tests of tokens and undo. */
let site: Awaited<ReturnType<typeof startSecured>>;
let userManager: ApiCaller;
Deno.test.beforeAll(async () => {
  site = await startSecured(`
[radius]
first_factor = "directory"
[[scim.credential]]
name = "hr"
password = "a password of HR"
targets = ["default"]
access = "write"
`);
  userManager = await site.tokenCaller("user_manager");
});
Deno.test.afterAll(() => site[Symbol.asyncDispose]());

Deno.test("an API token gives no user a password, a factor, a link or an unlock, and removes no factor", async (t) => {
  await site.signIn();
  await site.createUser("ceo", { password: "only the ceo knows it" });
  const thief = await site.tokenCaller("owner");
  assertEquals((await thief.call(`${CONSOLE}/users/ceo`)).status, 200);
  for (const [method, path, json] of GRANTS) {
    await t.step(`${method} ${path} ${JSON.stringify(json)}`, async () => {
      const answer = await thief.call(CONSOLE + path, { method, json });
      assertEquals([answer.status, answer.code], [403, "not_for_tokens"]);
    });
  }
  await t.step("PUT /users/ceo with a phone number of the attacker", async () => {
    const { record } = await thief.take<UserView>(`${CONSOLE}/users/ceo`);
    const { version, attributes } = record ?? { version: "", attributes: {} };
    const user = { ...attributes, userName: "ceo", phoneNumbers: [{ value: "+1 415 555 0123" }] };
    const answer = await thief.call(`${CONSOLE}/users/ceo`, { method: "PUT", json: { user, version } });
    assertEquals([answer.status, answer.code], [403, "not_for_tokens"]);
    const renamed = { ...attributes, userName: "ceo", title: "Chief" };
    assertEquals(
      (await thief.call(`${CONSOLE}/users/ceo`, { method: "PUT", json: { user: renamed, version } })).status,
      200,
    );
  });
  await t.step("the login with the attacker's password is rejected", async () => {
    using client = site.gateway.client();
    const reply = await client.ask({ userName: "ceo", password: "chosen by the thief", nasPort: 1 });
    assertEquals(reply.code, CODES.accessReject);
  });
  await t.step("the owner, with a recent sign-in, can do it", async () => {
    const { secret, id } = await site.owner.take<BegunTotp>(`${CONSOLE}/users/ceo/totp`, { json: {} });
    const code = totpCode(fromBase32(secret), Date.now());
    await site.owner.take(`${CONSOLE}/users/ceo/totp/confirm`, { json: { id, code } });
  });
});

Deno.test("an API token can deactivate users, but cannot activate them by an undo", async () => {
  await site.signIn();
  await site.createUser("dan");
  const json = { choice: { names: ["dan"] }, action: "deactivate" };
  const { id } = await userManager.take<JobView>(`${CONSOLE}/bulk`, { json });
  assertEquals((await jobEnd(userManager, id)).changed, 1);
  const undo = await userManager.call(`${CONSOLE}/jobs/${id}/undo`, { json: {} });
  assertEquals([undo.status, undo.code], [403, "not_for_tokens"]);
  assertEquals((await site.owner.take<UserView>(`${CONSOLE}/users/dan`)).record?.active, false);
});

Deno.test("undo does not change a user whom SCIM deactivated again after the job", async () => {
  await site.signIn();
  for (const name of ["bob", "eve"]) await site.createUser(name);
  const json = { choice: { names: ["bob", "eve"] }, action: "deactivate" };
  const { id } = await site.owner.take<JobView>(`${CONSOLE}/bulk`, { json });
  assertEquals((await jobEnd(site.owner, id)).changed, 2);
  const written = await fetch(`${site.gateway.httpUrl}/idm/scim/default/Users/bob`, {
    method: "PUT",
    headers: {
      authorization: `Basic ${btoa("hr:a password of HR")}`,
      "content-type": "application/scim+json",
    },
    body: JSON.stringify({ userName: "bob", active: false }),
  });
  await written.body?.cancel();
  assertEquals(written.status, 200);
  const undo = await site.owner.take<JobView>(`${CONSOLE}/jobs/${id}/undo`, { json: {} });
  const { changed, failures } = await jobEnd(site.owner, undo.id);
  assertEquals([changed, failures.map(({ name }) => name)], [1, ["bob"]]);
  const active = (name: string) => site.owner.take<UserView>(`${CONSOLE}/users/${name}`);
  assertEquals((await active("bob")).record?.active, false);
  assertEquals((await active("eve")).record?.active, true);
});

Deno.test("an API token cannot remove a factor of a user, the owner can", async () => {
  await site.signIn();
  await site.createUser("cfo");
  await site.gateway.pair("cfo", "--totp", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
  const { login } = await userManager.take<UserView>(`${CONSOLE}/users/cfo`);
  const [totp] = login?.pairings ?? [];
  const paths = [`/users/cfo/pairings/${totp?.id}`, `/devices/${totp?.id}`];
  for (const path of paths) {
    const { status, code } = await userManager.call(CONSOLE + path, { method: "DELETE", json: {} });
    assertEquals([status, code], [403, "not_for_tokens"]);
  }
  assertEquals((await site.owner.take<UserView>(`${CONSOLE}/users/cfo`)).login?.pairings.length, 1);
  await site.owner.take(`${CONSOLE}${paths[0]}`, { method: "DELETE", json: {} });
});

// Settings of the console take effect at run time, without a restart: on sessions and on sign-ins through a provider, also on
// another node.

import { assertEquals } from "@std/assert";
import { type ContractGateway, openContractGateway } from "../contract/gateway_client.ts";
import { openComposition, type TestComposition } from "../fakes/composition.ts";
import { type FakeOidcProvider, startOidcProvider } from "../fakes/oidc_provider.ts";

const PEER = { remoteAddress: "192.0.2.9" };
const PASSWORD = "a long password for grace";
const TOML = `[[console.admin]]\nname = "grace"\npassword = "${PASSWORD}"\n`;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

interface Call {
  readonly method?: string;
  readonly json?: unknown;
  readonly cookie?: string;
}

async function call(site: TestComposition, path: string, { method = "GET", json, cookie }: Call = {}) {
  const headers: Record<string, string> = { host: "localhost", origin: "http://localhost" };
  if (cookie !== undefined) headers.cookie = cookie;
  if (json !== undefined) headers["content-type"] = "application/json";
  const body = json === undefined ? null : JSON.stringify(json);
  return await site.app(new Request(`http://localhost${path}`, { method, headers, body }), PEER);
}

async function save(site: TestComposition, changes: Readonly<Record<string, unknown>>): Promise<void> {
  const { version } = JSON.parse((await site.ask("GET", "/settings")).text);
  const { status, text } = await site.ask("PUT", "/settings", { version, changes });
  assertEquals(status, 200, text);
}

const cookieOf = (response: Response, name: string) =>
  response.headers.getSetCookie().map((one) => one.split(";")[0] ?? "")
    .find((one) => one.startsWith(`${name}=`) && !one.endsWith("=")) ?? "";

async function signIn(site: TestComposition): Promise<string> {
  const response = await call(site, "/console/api/session", {
    method: "POST",
    json: { name: "grace", password: PASSWORD },
  });
  assertEquals(response.status, 200, await response.text());
  return cookieOf(response, "countersign");
}

/** Uses the session, which moves its idle deadline; 401 if it has ended. */
const use = async (site: TestComposition, cookie: string) =>
  (await call(site, "/console/api/settings", { cookie })).status;

Deno.test("console.idle_minutes: an unused session ends after the new time, on every node", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition(TOML, { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition(TOML, { joins: { kv, node: "bbbbbbbb" } });
  const advance = (ms: number) => [a, b].forEach(({ clock }) => clock.advance(ms));
  await save(a, { "console.idle_minutes": 40 });
  await b.store.catchUp();
  const cookie = await signIn(b);
  advance(39 * MINUTE_MS);
  assertEquals([await use(b, cookie), await use(a, cookie)], [200, 200]);
  await save(a, { "console.idle_minutes": 2 });
  await b.store.catchUp();
  assertEquals(await use(b, cookie), 200);
  advance(3 * MINUTE_MS);
  assertEquals([await use(b, cookie), await use(a, cookie)], [401, 401]);
});

Deno.test("console.session_hours: a session that starts now ends after the new time, however much it is used", async () => {
  await using site = await openComposition(TOML);
  await save(site, { "console.session_hours": 2, "console.idle_minutes": 1440 });
  const cookie = await signIn(site);
  const answers: number[] = [];
  for (let hours = 0; hours < 3; hours++) {
    site.clock.advance(HOUR_MS - 1);
    answers.push(await use(site, cookie));
  }
  assertEquals(answers, [200, 200, 401]);
});

Deno.test("console.second_factor: a session without a second factor reaches only its set-up at once, and all again when it is offered", async () => {
  await using site = await openComposition(TOML);
  const cookie = await signIn(site);
  const answers: number[] = [];
  for (const value of ["required", "offered"]) {
    await save(site, { "console.second_factor": value });
    answers.push(await use(site, cookie));
  }
  assertEquals(answers, [403, 200]);
});

/** Signs in through the provider; returns the role of the session, or where the browser was redirected. */
async function roleThrough(site: TestComposition): Promise<string> {
  const start = await call(site, "/console/api/oidc/start", {
    method: "POST",
    json: { returnTo: "/access", again: false },
  });
  if (start.status !== 200) return `no provider (${start.status})`;
  const there = await fetch((await start.json()).url, { redirect: "manual" });
  await there.body?.cancel();
  const back = new URL(there.headers.get("location") ?? "");
  const arrived = await call(site, back.pathname + back.search, {
    cookie: cookieOf(start, "countersign-journey"),
  });
  const cookie = cookieOf(arrived, "countersign");
  if (cookie === "") return new URL(arrived.headers.get("location") ?? "", "http://x").search;
  return (await (await call(site, "/console/api/session", { cookie })).json()).session.role;
}

const keysOf = (provider: FakeOidcProvider) => ({
  "console.oidc.issuer": provider.issuer,
  "console.oidc.client_id": provider.clientId,
  "console.oidc.client_secret": provider.clientSecret,
  "console.oidc.role_claim": "groups",
  "console.oidc.viewers": ["staff"],
});

Deno.test("console.oidc: a provider, its secret, its claim and its roles are used by the next sign-in, on every node", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openComposition(TOML, { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openComposition(TOML, { joins: { kv, node: "bbbbbbbb" } });
  await using provider = await startOidcProvider({ nowMs: a.clock.nowMs });
  provider.wishes.claims = { groups: ["staff"], teams: ["admins"] };
  const roles = async () => {
    await b.store.catchUp();
    return [await roleThrough(a), await roleThrough(b)];
  };
  const before = await roles();
  assertEquals(before, ["no provider (404)", "no provider (404)"]);
  await save(a, keysOf(provider));
  assertEquals(await roles(), ["viewer", "viewer"]);
  await save(a, { "console.oidc.role_claim": "teams", "console.oidc.owners": ["admins"] });
  assertEquals(await roles(), ["owner", "owner"]);
  await save(a, { "console.oidc.client_secret": "another secret" });
  const refused = await roles();
  assertEquals([refused[0]?.startsWith("?"), refused[0]], [true, refused[1]]);
  assertEquals(provider.refused.length, 2);
  await save(a, {
    "console.oidc.issuer": null,
    "console.oidc.client_id": null,
    "console.oidc.client_secret": null,
  });
  assertEquals(await roles(), before);
});

/** The replies to first requests over the wire. A deactivated user is rejected; one who is not in the directory is not. */
async function repliesOf(gateway: ContractGateway): Promise<string[]> {
  await gateway.store.catchUp();
  const ask = async (user: string) => (await gateway.login(user).start("")).kind;
  return [await ask("ada"), await ask("grace")];
}

Deno.test("radius.directory: the next packet uses the users of the new directory, on every node", async () => {
  using kv = await Deno.openKv(":memory:");
  await using a = await openContractGateway("", { joins: { kv, node: "aaaaaaaa" } });
  await using b = await openContractGateway("", { joins: { kv, node: "bbbbbbbb" } });
  await a.operator.send("PUT", "/target-settings/corp", { version: "99", table: { page_size: 7 } });
  await a.operator.send("POST", "/users?target=default", { user: { userName: "ada", active: false } });
  await a.operator.send("POST", "/users?target=corp", { user: { userName: "grace", active: false } });
  const choose = async (directory: string | null) => {
    const { version } = await a.operator.send<{ version: string }>("GET", "/settings");
    await a.operator.send("PUT", "/settings", { version, changes: { "radius.directory": directory } });
    // The answer of a save comes when the directories of that node follow the settings.
    await b.store.catchUp();
    await b.operator.send("PUT", "/settings", { version, changes: {} });
    // Logins of the moment of the change end, because they can be of the old directory.
    for (const { clock } of [a, b]) clock.advance(1);
  };
  const ofDefault = ["reject", "challenge"];
  const ofCorp = ["challenge", "reject"];
  assertEquals([await repliesOf(a), await repliesOf(b)], [ofDefault, ofDefault]);
  await choose("corp");
  assertEquals([await repliesOf(a), await repliesOf(b)], [ofCorp, ofCorp]);
  await choose(null);
  assertEquals([await repliesOf(a), await repliesOf(b)], [ofDefault, ofDefault]);
});

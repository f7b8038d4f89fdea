// The API of shadow mode: the report of observed logins, and the switch of a client.

import { assertEquals } from "@std/assert";
import type { ShadowReport } from "../../../console/api/shadow/shadow_report.ts";
import type { ShadowUserPage } from "../../../console/api/shadow/shadow_routes.ts";
import { ask, CLIENT } from "../../fakes/connect_calls.ts";
import { apiCaller, codeOf } from "../../fakes/console_caller.ts";
import { type ConnectConsole, startConnectConsole } from "../../fakes/console_connect.ts";

const API = "/console/api";
const SERVER = '{ address = "192.0.2.20:1812", secret = "the secret of the present server" }';
const TOML = `[[radius.client]]
name = "old"
address = ["192.0.2.1"]
secret = "the secret of the file"
first_factor = "radius"
first_factor_server = ${SERVER}
mode = "shadow"
`;

async function observed(): Promise<ConnectConsole> {
  const site = await startConnectConsole({ toml: TOML });
  const { people, learner } = site;
  await people.put("ada");
  await people.put("bert");
  const whose = { canonical: "bert", shown: "bert" };
  const wanted = { kind: "device", id: "phone-1", totpLength: 6 } as const;
  const { mutation, marking, pairing } = people.pairings.prepare(whose, wanted);
  await people.store.commit({ mutations: [mutation, ...marking] });
  people.pairings.adopt(pairing);
  const nowMs = Date.now();
  const note = (user: string, kinds: Record<string, number>) =>
    learner.addUser({ client: "old", user, shown: user, firstMs: nowMs, lastMs: nowMs, kinds });
  note("ada", { PAP: 2 });
  note("bert", { PAP: 3, "no login": 1 });
  note("ghost", { PAP: 1 });
  learner.addDay("old", { accepted: 7, rejected: 2, kinds: { PAP: 6, "no login": 1 } });
  return site;
}

Deno.test("GET /shadow says how many logins would pass, and why the others would not", async () => {
  await using site = await observed();
  const call = apiCaller(site, await site.signIn("viewer"));
  const { clients } = await call<Pick<ShadowReport, "clients">>(`${API}/shadow`);
  const [old] = clients;
  assertEquals(clients.length, 1);
  assertEquals([old?.client, old?.mode, old?.isOfConsole, old?.users], ["old", "shadow", false, 3]);
  assertEquals([old?.accepted, old?.rejected, old?.passed], [7, 2, 3]);
  assertEquals(old?.refused, { no_factor: 2, unknown: 1, no_login: 1 });
  assertEquals(old?.people, { no_factor: 1, no_login: 1, unknown: 1 });
  assertEquals(old?.advice.map(({ code }) => code), ["may_time_out", "no_prompts"]);
});

Deno.test("GET /shadow/users filters and pages, and /invitable has whom an invitation helps", async () => {
  await using site = await observed();
  const call = apiCaller(site, await site.signIn("user_manager"));
  const names = async (query: string) => {
    const { users, total } = await call<ShadowUserPage>(`${API}/shadow/users?${query}`);
    return [total, ...users.map(({ user, obstacle }) => `${user} ${obstacle}`).sort()];
  };
  assertEquals(await names(""), [3, "ada no_factor", "bert no_login", "ghost unknown"]);
  assertEquals(await names("obstacle=unknown"), [1, "ghost unknown"]);
  assertEquals(await names("client=other"), [0]);
  assertEquals((await names("size=1&page=2")).length, 2);
  assertEquals(await call(`${API}/shadow/invitable`), { names: ["ada"] });
  const viewer = await site.call(`${API}/shadow/invitable`, { cookie: await site.signIn("viewer") });
  assertEquals([viewer.status, await codeOf(viewer)], [403, "role"]);
});

Deno.test("System status warns of a client in shadow mode", async () => {
  await using site = await observed();
  const call = apiCaller(site, await site.signIn("viewer"));
  const { parts } = await call<{ parts: { id: string; state: string; note?: string }[] }>(`${API}/health`);
  const found = parts.filter(({ id }) => id.startsWith("shadow:"));
  assertEquals(found.map(({ id, state, note }) => [id, state, note]), [["shadow:old", "warning", "shadow"]]);
});

const WITH_SERVER = {
  firstFactor: "radius",
  firstFactorServer: { address: ["192.0.2.20:1812"], timeoutMs: 3000, secret: "secret-of-a-server" },
};

Deno.test("one change moves a client over, one moves it back, each with its audit record", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  const json = { ...CLIENT, ...WITH_SERVER, mode: "shadow" };
  const made = await ask(site, "/clients", { method: "POST", json });
  assertEquals(made.status, 200, made.text);
  const modeOf = () => site.clients.all.find(({ name }) => name === "vpn-1")?.settings.mode;
  assertEquals(modeOf(), "shadow");
  const call = apiCaller(site, await site.signIn("viewer"));
  const shown = async () =>
    (await call<Pick<ShadowReport, "clients">>(`${API}/shadow`)).clients.map(({ client }) => client);
  assertEquals(await shown(), ["old", "vpn-1"]);
  const { name: _name, secret: _secret, ...rules } = json;
  for (const [version, mode] of [[1, "enforce"], [2, "shadow"]] as const) {
    const change = { ...rules, mode, version };
    assertEquals((await ask(site, "/clients/vpn-1", { method: "PUT", json: change })).status, 200);
    assertEquals(modeOf(), mode);
    assertEquals(await shown(), mode === "shadow" ? ["old", "vpn-1"] : ["old"], "at once");
    const audit = (await site.audits()).at(-1);
    assertEquals(
      [audit?.action, Reflect.get(Object(audit?.before), "mode"), Reflect.get(Object(audit?.after), "mode")],
      ["client.change", mode === "shadow" ? "enforce" : "shadow", mode],
    );
  }
});

Deno.test("a client without a first-factor server cannot be in shadow mode", async () => {
  await using site = await startConnectConsole({ toml: TOML });
  for (const firstFactor of ["none", "directory", "settings"]) {
    const json = { ...CLIENT, firstFactor, mode: "shadow" };
    const { status, body } = await ask(site, "/clients", { method: "POST", json });
    assertEquals([status, body.error?.code], [400, "bad_field"], firstFactor);
  }
});

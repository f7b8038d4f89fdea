// The API of the log export: creation, changes, secrets that stay secret, tests, and permissions.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { apiValue } from "../../cli/admin_connection.ts";
import type { AdminApi } from "../../cli/admin_connection.ts";
import { openComposition } from "../fakes/composition.ts";
import { codeOf } from "../fakes/console_caller.ts";
import { startConnectConsole } from "../fakes/console_connect.ts";
import { eventually } from "../upstream/manual_clock.ts";

type Body = Parameters<AdminApi["log-export"]["$post"]>[0]["json"];

const SYSLOG: Body = { name: "siem", kind: "syslog_tls", host: "logs.example.com" };
const WEBHOOK: Body = {
  name: "hook",
  kind: "webhook",
  url: "https://hooks.example.com/in?token=planted-token",
};
const AUTHORIZATION = "Splunk planted-authorization";

Deno.test("POST /log-export creates a destination with the defaults", async () => {
  await using gateway = await openComposition();
  const { item, webhookSecret } = await apiValue(gateway.api["log-export"].$post({ json: SYSLOG }));
  assertEquals(webhookSecret, "");
  assertEquals([item.address, item.version, item.sent, item.backlog, item.problem], [
    ...["logs.example.com:6514", 1, 0, 0, null],
  ]);
  assertEquals([item.settings.format, item.settings.facility, item.settings.maxHours], ["json", 10, 72]);
  const again = await gateway.ask("POST", "/log-export", SYSLOG);
  assertEquals([again.status, again.code], [409, "destination_taken"]);
  const udp = { ...SYSLOG, name: "udp", kind: "syslog_udp" } as const;
  const { item: other } = await apiValue(gateway.api["log-export"].$post({ json: udp }));
  assertEquals(other.address, "logs.example.com:514");
});

Deno.test("the secrets of a webhook are shown once, and are not in the store, the list and the audit log", async () => {
  await using gateway = await openComposition();
  const json = { ...WEBHOOK, authorization: AUTHORIZATION };
  const { item, webhookSecret } = await apiValue(gateway.api["log-export"].$post({ json }));
  assertMatch(webhookSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assertEquals([item.address, item.hasAuthorization], ["https://hooks.example.com/in", true]);
  const listed = await gateway.ask("GET", "/log-export");
  const audits = JSON.stringify(await gateway.audits());
  const stored = await gateway.dump();
  for (const secret of [webhookSecret, webhookSecret.slice(6), AUTHORIZATION, "planted-authorization"]) {
    for (const text of [listed.text, audits, stored]) assertEquals(text.includes(secret), false);
  }
  assertEquals(audits.includes("planted-token"), false);
  const param = { name: "hook" };
  const renewed = await apiValue(
    gateway.api["log-export"][":name"].secret.$post({ param, json: { version: item.version } }),
  );
  assertMatch(renewed.webhookSecret, /^whsec_/);
  assert(renewed.webhookSecret !== webhookSecret);
  const old = await gateway.ask("POST", "/log-export/hook/secret", { version: item.version });
  assertEquals(old.code, "changed_meanwhile");
});

Deno.test("PATCH keeps secrets that are absent, and removes those that are empty", async () => {
  await using gateway = await openComposition();
  const json = { ...WEBHOOK, authorization: AUTHORIZATION };
  await apiValue(gateway.api["log-export"].$post({ json }));
  const change = async (version: number, change: object) => {
    const answer = await gateway.ask("PATCH", "/log-export/hook", { version, change });
    return answer.status === 200 ? JSON.parse(answer.text).item.hasAuthorization : answer.code;
  };
  assertEquals(await change(1, { maxHours: 5 }), true);
  assertEquals(await change(1, { maxHours: 6 }), "changed_meanwhile");
  assertEquals(await change(2, { authorization: "" }), false);
  const [, changed] = (await gateway.audits()).filter(({ object }) => object === "log-export:hook");
  assertEquals([changed?.action, changed?.before, changed?.after], [
    ...["log_export.change", { maxHours: 72 }, { maxHours: 5 }],
  ]);
});

Deno.test("a stored Authorization header is not sent to another server, and stays for another path", async () => {
  await using gateway = await openComposition();
  await apiValue(gateway.api["log-export"].$post({ json: { ...WEBHOOK, authorization: AUTHORIZATION } }));
  const change = async (version: number, change: object) => {
    const answer = await gateway.ask("PATCH", "/log-export/hook", { version, change });
    return answer.status === 200 ? JSON.parse(answer.text).item.hasAuthorization : answer.code;
  };
  const [elsewhere, plain] = ["https://attacker.example/in", "http://hooks.example.com/in"];
  assertEquals(await change(1, { url: elsewhere }), "destination_authorization_again");
  assertEquals(await change(1, { url: plain, allowsHttp: true }), "destination_authorization_again");
  assertEquals(await change(1, { url: "https://hooks.example.com/other" }), true);
  assertEquals(await change(2, { url: elsewhere, authorization: "" }), false);
});

const HIDING_URLS: readonly (readonly [url: string, address: string])[] = [
  ["https://hooks.example.com/in?token=planted-token", "https://hooks.example.com/in"],
  [
    "https://hooks.example.com/services/T0/B0/planted-token-of-24-chars",
    "https://hooks.example.com/services/T0/B0/…",
  ],
  [
    "https://splunk.example.com:8088/services/collector/raw",
    "https://splunk.example.com:8088/services/collector/raw",
  ],
];
for (const [url, address] of HIDING_URLS) {
  Deno.test(`the address of ${url} is ${address}, also in the audit log`, async () => {
    await using gateway = await openComposition();
    const { item } = await apiValue(gateway.api["log-export"].$post({ json: { ...WEBHOOK, url } }));
    assertEquals(item.address, address);
    const audits = JSON.stringify(await gateway.audits());
    assertEquals([audits.includes(address), audits.includes("planted-token")], [true, false]);
  });
}

Deno.test("only owners see the query of a URL", async () => {
  await using site = await startConnectConsole();
  const call = async (role: string, path: string, json?: object) =>
    await site.call(`/console/api/log-export${path}`, {
      method: json === undefined ? "GET" : "POST",
      cookie: await site.signIn(role),
      ...json === undefined ? {} : { json },
    });
  assertEquals((await call("owner", "", WEBHOOK)).status, 200);
  for (const path of ["", "/hook"]) {
    assertEquals((await (await call("owner", path)).text()).includes("planted-token"), true);
    for (const role of ["viewer", "operator", "user_manager"]) {
      const text = await (await call(role, path)).text();
      assertEquals([text.includes("https://hooks.example.com/in"), text.includes("planted-token")], [
        true,
        false,
      ]);
    }
  }
});

Deno.test("a destination is paused, resumed and removed, each with an audit record", async () => {
  await using gateway = await openComposition();
  await apiValue(gateway.api["log-export"].$post({ json: SYSLOG }));
  for (const paused of [true, true, false]) {
    const { status } = await gateway.ask("POST", "/log-export/siem/pause", { paused });
    assertEquals(status, 200);
  }
  assertEquals((await gateway.ask("DELETE", "/log-export/siem")).status, 200);
  assertEquals((await gateway.ask("DELETE", "/log-export/siem")).code, "unknown_destination");
  const actions = (await gateway.audits()).filter(({ object }) => object === "log-export:siem");
  assertEquals(actions.map(({ action }) => action), [
    ...["log_export.create", "log_export.pause", "log_export.resume", "log_export.remove"],
  ]);
  const left = await Array.fromAsync(gateway.store.list(["log_export_cursor"]));
  assertEquals(left, []);
});

Deno.test("at most ten destinations exist", async () => {
  await using gateway = await openComposition();
  for (let number = 0; number < 10; number++) {
    await apiValue(gateway.api["log-export"].$post({ json: { ...SYSLOG, name: `siem-${number}` } }));
  }
  const refused = await gateway.ask("POST", "/log-export", SYSLOG);
  assertEquals([refused.status, refused.code], [409, "too_many_destinations"]);
});

Deno.test("a test of a receiver that does not answer names the problem", async () => {
  await using site = await startConnectConsole();
  const call = async (role: string, method: string, path: string, json?: object) => {
    const cookie = await site.signIn(role);
    return await site.call(`/console/api/log-export${path}`, {
      method,
      cookie,
      ...json === undefined ? {} : { json },
    });
  };
  assertEquals((await call("owner", "POST", "", SYSLOG)).status, 200);
  const tested = await call("operator", "POST", "/siem/test", {});
  const { result } = await tested.json();
  assertEquals([result.ok, result.code], [false, "unreachable"]);
  assertEquals(await codeOf(await call("viewer", "POST", "/siem/test", {})), "role");
  assertEquals(await codeOf(await call("user_manager", "POST", "", { ...SYSLOG, name: "other" })), "role");
  assertEquals(await codeOf(await call("operator", "DELETE", "/siem")), "role");
  assertEquals((await call("viewer", "GET", "")).status, 200);
  const health = await site.call("/console/api/health", { cookie: await site.signIn("viewer") });
  const { parts } = await health.json();
  const stateOf = (kind: string) => parts.find((part: { kind: string }) => part.kind === kind)?.state;
  // The administrators of this test have a password and no second factor.
  assertEquals([stateOf("log_export"), stateOf("administrators")], ["unknown", "warning"]);
});

Deno.test("a destination is told at once that it was changed, paused or removed, whatever it selects", async () => {
  const told: string[][] = [];
  await using receiver = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => undefined },
    async (request) => {
      const { records } = await request.json();
      for (const { event, countersign } of records) {
        told.push([event.action, countersign.actor, ...countersign.object]);
      }
      return new Response();
    },
  );
  await using gateway = await openComposition();
  const url = `http://127.0.0.1:${receiver.addr.port}/`;
  const json: Body = { ...WEBHOOK, url, allowsHttp: true, records: ["drops"] };
  await apiValue(gateway.api["log-export"].$post({ json }));
  const actions = async (count: number) => {
    await eventually(`${count} records`, () => told.length === count);
    return told.map(([action]) => action);
  };
  // The new address would not tell the old receiver.
  await gateway.ask("PATCH", "/log-export/hook", { version: 1, change: { url: "http://127.0.0.1:9/" } });
  assertEquals(await actions(1), ["log_export.change"]);
  await gateway.ask("PATCH", "/log-export/hook", { version: 2, change: { url } });
  await gateway.ask("POST", "/log-export/hook/pause", { paused: true });
  assertEquals((await actions(2)).at(-1), "log_export.pause");
  await gateway.ask("POST", "/log-export/hook/pause", { paused: false });
  await gateway.ask("DELETE", "/log-export/hook");
  assertEquals((await actions(3)).at(-1), "log_export.remove");
  assertEquals(new Set(told.map(([, actor, object]) => `${actor} ${object}`)).size, 1);
});

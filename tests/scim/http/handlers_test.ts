// The handlers of SCIM 1.1, and members that a backend did not store.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ScimRefusal } from "../../../scim/http/refusals.ts";
import { USER_SCHEMA } from "../../../scim/schema/attribute_table.ts";
import { REPORT, userContent } from "../../fakes/scim_target.ts";
import { createManualClock } from "../../upstream/manual_clock.ts";
import { type Call, openSite } from "./site.ts";
import type { ReceiptEntry } from "../../../scim/ports.ts";
import { receiptText } from "../../../scim/http/routes.ts";
import { ACTIVE_DIRECTORY_SCHEMA } from "../../support/active_directory_schema.ts";
import { startProgram } from "../../support/program.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { ldapTarget, startSlapd } from "../../support/slapd.ts";
import { createCaller } from "../rows/caller.ts";
import { credentialsToml, WRITER } from "../rows/rows_world.ts";

// The SCIM handlers: their calls of the target and their responses.

const RECEIPT = '"local";outcome=done, "directory";outcome=queued';

Deno.test("POST answers 201 with Location, ETag, receipt and the resource, and passes the actor on", async () => {
  await using site = await openSite();
  const answer = await site.call("/Users", {
    method: "POST",
    body: {
      userName: "Ann Lee",
      password: "planted-secret",
      name: { givenName: "Ann" },
      emails: [{ value: "a@x.test" }],
    },
  });
  assertEquals(answer.status, 201);
  const location = `${site.console.origin}/idm/scim/default/Users/Ann%20Lee`;
  assertEquals(answer.headers.get("location"), location);
  assertEquals(answer.headers.get("etag"), 'W/"v1"');
  assertEquals(answer.headers.get("backends-receipt"), RECEIPT);
  const { schemas, id, externalId, userName, active, name, emails, meta } = answer.json;
  assertEquals(
    { schemas, id, externalId, userName, active, name, emails },
    {
      schemas: [USER_SCHEMA],
      id: "Ann Lee",
      externalId: "Ann Lee",
      userName: "Ann Lee",
      active: true,
      name: { givenName: "Ann", familyName: "" },
      emails: [{ value: "a@x.test" }],
    },
  );
  const { location: said, version, resourceType } = meta as Record<string, unknown>;
  assertEquals([said, version, resourceType], [location, 'W/"v1"', "User"]);
  assertEquals(answer.text.includes("planted-secret"), false);
  const [call] = site.target.calls;
  assertEquals(call?.options, {
    actor: { name: "scim:provisioner", source: "127.0.0.1" },
    backends: undefined,
    password: "planted-secret",
  });
});

Deno.test("PUT answers 200, keeps the spelling of the stored name, and passes the version of If-Match on", async () => {
  await using site = await openSite();
  site.target.put(userContent("ann"));
  const answer = await site.call("/Users/ANN", {
    method: "PUT",
    body: { title: "Dr" },
    headers: { "if-match": 'W/"v1"' },
  });
  assertEquals([answer.status, answer.json["title"]], [200, "Dr"]);
  assertEquals(answer.headers.get("backends-receipt"), RECEIPT);
  const [call] = site.target.calls;
  assertEquals([call?.name, call?.options?.ifVersion], ["ann", "v1"]);
});

Deno.test("DELETE answers 204 without a body, with the receipt", async () => {
  await using site = await openSite();
  site.target.put(userContent("ann"));
  const { status, text, headers } = await site.call("/Users/ann", { method: "DELETE" });
  assertEquals([status, text, headers.get("backends-receipt")], [204, "", RECEIPT]);
  assertEquals((await site.call("/Users/ann")).status, 404);
});

const write = (method: string, headers: Record<string, string>): Call => ({
  method,
  headers,
  ...method === "PUT" ? { body: {} } : {},
});
const read = (tag: string, method = "GET"): Call => ({ method, headers: { "if-none-match": tag } });
/** Conditional requests, their status, and the versions that reach the target. */
const CONDITIONS: readonly (readonly [string, Call, status: number, insisted?: readonly unknown[]])[] = [
  ["PUT If-Match of another version", write("PUT", { "if-match": 'W/"v0"' }), 412],
  ["DELETE If-Match of another version", write("DELETE", { "if-match": '"v0"' }), 412],
  ["PUT If-Match that is no tag", write("PUT", { "if-match": "v1" }), 412],
  ["PUT If-Match of one among several", write("PUT", { "if-match": 'W/"v0", W/"v1"' }), 200, ["v1"]],
  ["PUT If-Match *", write("PUT", { "if-match": "*" }), 200, [undefined]],
  ["PUT If-None-Match *", write("PUT", { "if-none-match": "*" }), 412],
  ["PUT If-None-Match of another version", write("PUT", { "if-none-match": 'W/"v0"' }), 200, [undefined]],
  ["GET If-None-Match of this version", read('W/"v1"'), 304],
  ["GET If-None-Match, strong", read('"v1"'), 304],
  ["GET If-None-Match *", read("*"), 304],
  ["GET If-None-Match of another", read('W/"v0"'), 200],
  ["HEAD If-None-Match of this version", read('W/"v1"', "HEAD"), 304],
];
for (const [title, call, status, insisted = []] of CONDITIONS) {
  Deno.test(`${title} answers ${status}`, async () => {
    await using site = await openSite();
    site.target.put(userContent("ann"));
    const answer = await site.call("/Users/ann", call);
    assertEquals(answer.status, status, answer.text);
    assertEquals(site.target.calls.map(({ options }) => options?.ifVersion), [...insisted]);
    if (status === 304) assertEquals([answer.text, answer.headers.get("etag")], ["", 'W/"v1"']);
  });
}

Deno.test("PUT with If-Match answers 404 for a missing resource", async () => {
  await using site = await openSite();
  const answer = await site.call("/Users/ann", { method: "PUT", body: {}, headers: { "if-match": "*" } });
  assertEquals(answer.status, 404);
});

Deno.test("GET with q searches, and a refused search answers the scimType of RFC 7644", async () => {
  await using site = await openSite();
  site.target.put(userContent("ann"));
  site.target.put(userContent("bob"));
  assertEquals((await site.call("/Users?q=an&page=1")).json["totalResults"], 1);
  assertEquals(site.target.calls, [{ verb: "search", q: "an", page: { page: 1, size: 100 } }]);
  assertEquals((await site.call("/Users?q=")).json["totalResults"], 2);
  for (const kind of ["tooMany", "invalidFilter"] as const) {
    site.target.searches({ ok: false, problem: { kind, detail: "Make it narrower." } });
    const { status, json } = await site.call("/Users?q=x");
    assertEquals([status, json["scimType"], json["detail"]], [400, kind, "Make it narrower."]);
  }
});

Deno.test("refresh=true reads the backends first, for one resource and for all", async () => {
  await using site = await openSite();
  site.target.put(userContent("ann"));
  assertEquals((await site.call("/Users/ann?refresh=true")).status, 200);
  assertEquals((await site.call("/Users/nobody?refresh=true")).status, 404);
  assertEquals((await site.call("/Users?refresh=true")).status, 200);
  assertEquals((await site.call("/Users?refresh=false")).status, 200);
  const verbs = ["refreshOne", "refreshOne", "refreshAll", "page", "page"];
  assertEquals(site.target.calls.map(({ verb }) => verb), verbs);
});

Deno.test("refresh=true names the backend that could not be read", async () => {
  await using site = await openSite();
  const fault = { backend: "directory", detail: "It does not answer." };
  const cases = [[undefined, 503], ["unreachable", 503], ["refused", 502], ["deletion_limit", 502]] as const;
  for (const [kind, status] of cases) {
    const faults = [kind === undefined ? fault : { ...fault, kind }];
    site.target.refreshes(Promise.resolve({ ...REPORT, faults }));
    const answer = await site.call("/Users?refresh=true");
    assertEquals(answer.status, status);
    assertStringIncludes(String(answer.json["detail"]), '"directory": It does not answer.');
    assertEquals(answer.headers.has("retry-after"), status === 503);
  }
});

Deno.test("refresh=true that takes over two minutes is answered 503 while it continues", async () => {
  const clock = createManualClock();
  await using site = await openSite({ clock });
  const { promise, resolve } = Promise.withResolvers<typeof REPORT>();
  site.target.refreshes(promise);
  const asked = site.call("/Users?refresh=true");
  while (clock.timers() === 0) await new Promise((done) => setTimeout(done, 1));
  clock.advance(120_000);
  const answer = await asked;
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "30"]);
  resolve(REPORT);
});

interface Bad {
  readonly path: string;
  readonly call?: Call;
  readonly scimType?: string;
  readonly says?: RegExp;
}
const post = (body: unknown): Call => ({ method: "POST", body });
const BAD: readonly Bad[] = [
  { path: "/Users/ann?refresh=true&refresh=true", says: /twice/ },
  { path: "/Users?backends=", call: post({}), says: /empty/ },
  { path: "/Users?backends=local,", call: post({}), says: /empty/ },
  { path: "/Users?backends=nothing", call: post({}), says: /It has "local", "directory"\./ },
  { path: "/Users?backends=LOCAL", call: post({}) },
  ...[
    ...["", "{", "null", "[]", '"text"', "{}{}", '{"a":}', "\ufffd", "[".repeat(100)],
    new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  ].map((body) => ({ path: "/Users", call: post(body), scimType: "invalidSyntax" })),
  { path: "/Users", call: post({ active: "perhaps" }) },
  { path: "/Users", call: post({ userName: "a/.." }) },
  { path: "/Users", call: post({ userName: "" }), says: /userName/ },
  { path: "/Groups", call: post({ displayName: "" }), says: /displayName/ },
  { path: "/Users/ann", call: { method: "PUT", body: { userName: "bob" } }, scimType: "mutability" },
  { path: "/Users/a%2F..", says: /name in the path is not valid/ },
  { path: "/Users/%ff", says: /name in the path is not valid/ },
  { path: "/Users/a%0Ab", call: { method: "DELETE" } },
  { path: `/Users/${"x".repeat(257)}`, call: { method: "PUT", body: {} } },
];
Deno.test("An invalid request is answered 400 with a scimType and reaches no target", async (t) => {
  await using site = await openSite();
  for (const { path, call, scimType = "invalidValue", says = /./ } of BAD) {
    await t.step(
      `${call?.method ?? "GET"} ${path.slice(0, 60)} ${String(call?.body ?? "").slice(0, 20)}`,
      async () => {
        const answer = await site.call(path, call);
        assertEquals([answer.status, answer.json["scimType"]], [400, scimType], answer.text);
        assertMatch(String(answer.json["detail"]), says);
      },
    );
  }
  assertEquals(site.target.calls, []);
});

const IGNORED: readonly (readonly [path: string, call?: Call])[] = [
  ["/Users?backends=nothing&unknown=1&unknown=2"],
  ["/Users/ann?page=x&q=&backends="],
  ["/Users?refresh=perhaps", post({})],
  ["/Users/ann?page=0&refresh=x", { method: "PUT", body: {} }],
  ["/Users/ann?q=x&q=y", { method: "DELETE" }],
];
Deno.test("Parameters that an operation does not list are ignored, whatever their value", async () => {
  await using site = await openSite();
  for (const [path, call] of IGNORED) {
    site.target.put(userContent("ann"));
    const { status } = await site.call(path, call);
    assertEquals(status < 300, true, path);
  }
});

Deno.test("backends restricts an operation; names are trimmed and counted once", async () => {
  await using site = await openSite();
  const answer = await site.call("/Users?backends=%20local%20,local", post({ userName: "ann" }));
  assertEquals(answer.headers.get("backends-receipt"), '"local";outcome=done');
  assertEquals(site.target.calls[0]?.options?.backends, ["local"]);
});

Deno.test("A body is read with any Content-Type", async () => {
  await using site = await openSite();
  for (const type of ["application/scim+json", "application/json; charset=utf-8", "text/plain", "nonsense"]) {
    assertEquals((await site.call("/Users", { ...post({}), headers: { "content-type": type } })).status, 201);
  }
});

Deno.test("A refusal of the target is answered with its status and its receipt", async () => {
  await using site = await openSite();
  site.target.failNext(
    new ScimRefusal("backend_failed", {
      detail: "The backend says no.",
      receipt: {
        entries: [{ backend: "local", outcome: "undone" }, { backend: 'a"b\\ü', outcome: "failed" }],
      },
    }),
  );
  const answer = await site.call("/Users", post({}));
  assertEquals([answer.status, answer.json["detail"]], [502, "The backend says no."]);
  assertEquals(
    answer.headers.get("backends-receipt"),
    '"local";outcome=undone, "a\\"b\\\\?";outcome=failed',
  );
});

Deno.test("An unexpected error is answered 500 with an id that the log contains, and without the cause", async () => {
  await using site = await openSite();
  for (const fault of [new Error("planted detail"), "planted text"]) {
    site.target.failNext(fault);
    const { status, text, json } = await site.call("/Users", post({}));
    assertEquals([status, /planted|\.ts:/.test(text)], [500, false]);
    const id = /Look for ([0-9a-f]{8})\./.exec(String(json["detail"]))?.[1] ?? "no id";
    await site.console.log.flush();
    assertStringIncludes(site.console.lines.join(""), id);
  }
});

// Unknown members of a directory over HTTP: the Backends-Receipt header of the real program with a real slapd, and its
// limits.

testNeeding(
  { peers: ["slapd"] },
  "Backends-Receipt names the members that a directory does not know",
  async () => {
    const slapd = await startSlapd({ schema: ACTIVE_DIRECTORY_SCHEMA, lenientPerson: true });
    const gateway = await startProgram({
      toml: `${credentialsToml(["default"])}
${ldapTarget(slapd, { name: "corp", timeoutMs: 30_000, more: 'schema = "active_directory"' })}`,
    });
    try {
      const scim = createCaller(gateway, { account: WRITER, target: "default" });
      const receiptOf = ({ headers }: { headers: Headers }) => headers.get("backends-receipt");
      const names = (...members: string[]) => members.map((display) => ({ display }));
      assertEquals((await scim.post("/Users", { userName: "anna" })).status, 201);
      const made = await scim.post("/Groups", {
        displayName: "team",
        members: names("bob", "anna", 'Jörg "J"'),
      });
      assertEquals([made.status, receiptOf(made)], [
        201,
        '"local";outcome=done, "corp";outcome=done;not-stored=2;names="bob J%C3%B6rg%20%22J%22"',
      ]);
      // The resource has them nevertheless.
      assertEquals((made.json["members"] as readonly unknown[]).length, 3);
      assertEquals((await scim.post("/Users", { userName: "bob" })).status, 201);
      const changed = await scim.put("/Groups/team", { members: names("bob", "anna") });
      assertEquals([changed.status, receiptOf(changed)], [200, '"local";outcome=done, "corp";outcome=done']);
    } finally {
      await gateway.dispose();
      await slapd.dispose();
    }
  },
);

Deno.test("receiptText() has at most 1 KiB of whole names, for all backends together", () => {
  const long = ["é", "ö", "ü"].map((letter) => letter.repeat(60));
  const entries = ["a", "b", "c", "d"].map((backend): ReceiptEntry => ({
    backend,
    outcome: "done",
    notStored: { count: 70, names: long },
  }));
  const items = receiptText({ entries }).split(", ");
  const named = items.map((item) => /;names="([^"]*)"$/.exec(item)?.[1]?.split(" ") ?? []);
  assertEquals(named.map((names) => names.map(decodeURIComponent)), [long.slice(0, 2), [], [], []]);
  assert(items.every((item) => item.includes(";outcome=done;not-stored=70")));
});

Deno.test("receiptText() writes hostile names as RFC 9651 Strings", () => {
  const names = ['"quoted"', "back\\slash", "semi;colon, comma", "日本語", "a b", "\ud800", "'()*!~"];
  const entries: ReceiptEntry[] = [{
    backend: "corp",
    outcome: "done",
    notStored: { count: names.length, names },
  }];
  const text = receiptText({ entries });
  const [, count, listed = ""] =
    /^"corp";outcome=done;not-stored=(\d+);names="([\x20\x21\x23-\x5b\x5d-\x7e]*)"$/.exec(text) ?? [];
  assertEquals([count, listed.split(" ").map(decodeURIComponent)], [
    "7",
    names.map((name) => name.toWellFormed()),
  ]);
});

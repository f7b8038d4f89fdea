// The audit log: its list, filters, export and values.

import { assertEquals } from "@std/assert";
import { auditIdAt } from "../../platform/log_blocks.ts";
import {
  type AuditItem,
  auditLines,
  type AuditPage,
  MAX_COMPARED,
  MAX_EXPORTED_RECORDS,
  readAuditPage,
} from "../../console/api/audit/audit_log.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import type { Store } from "../../platform/store.ts";
import { createManualClock, startConsole, type TestConsole } from "../fakes/console_app.ts";
import type { ImportView } from "../../console/api/api_types.ts";
import type { TimelinePage } from "../../console/api/users/user_types.ts";
import { userTimeline } from "../../console/api/users/user_routes.ts";
import { contentAuditEntries } from "../../scim/provisioning/write_audit.ts";
import type { JsonObject, UserContent } from "../../scim/schema/resource.ts";
import { apiCaller } from "../fakes/console_caller.ts";
import { type PeopleConsole, SCIM_ACTOR, type Shape, startPeopleConsole } from "../fakes/console_people.ts";
import { startInProcess } from "../radius/rows/in_process.ts";
import { jump } from "../radius/rows/passing_time.ts";
import { pairPhone } from "../radius/rows/phone.ts";

// The audit API: records of all writers in one order, filters by object and actor, paging without gaps.

// After the sign-in of the viewer, whose clock is the system's.
const START_MS = Date.now() + 86_400_000;

/** Deno KV limits a transaction. */
const MAX_RECORDS_AT_ONCE = 200;

async function keep(site: TestConsole, records: readonly Record<string, unknown>[]): Promise<void> {
  const mutations = records.map((record, at) => {
    const atMs = START_MS + at * 1000;
    return { type: "set", key: ["audit", `${auditIdAt(atMs)}abc`], value: { atMs, ...record } } as const;
  });
  for (let at = 0; at < mutations.length; at += MAX_RECORDS_AT_ONCE) {
    await site.store.commit({ mutations: mutations.slice(at, at + MAX_RECORDS_AT_ONCE) });
  }
}
async function ask(site: TestConsole, query: string, cookie: string): Promise<AuditPage> {
  return await (await site.call(`/console/api/audit${query}`, { cookie })).json();
}
const actions = ({ items }: AuditPage) => items.map(({ action }) => action);

Deno.test("GET /audit returns records of all writers, newest first, filtered by object, actor and time", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  await keep(site, [
    { actor: "radius", action: "a", object: "user:Ada", client: "vpn-1" },
    { actor: "owner", action: "b", object: "user:ada", before: "x", after: "y" },
    { actor: "owner", action: "c", object: "client:vpn-1" },
  ]);
  assertEquals(actions(await ask(site, "?", cookie)), ["c", "b", "a", "administrator.sign_in"]);
  assertEquals(actions(await ask(site, "?object=user:ADA", cookie)), ["b", "a"]);
  assertEquals(actions(await ask(site, "?object=client:vpn-1&actor=radius", cookie)), ["a"]);
  assertEquals(actions(await ask(site, "?actor=owner", cookie)), ["c", "b"]);
  assertEquals(actions(await ask(site, `?from=${START_MS + 1000}&to=${START_MS + 1999}`, cookie)), ["b"]);
  const [changed] = (await ask(site, "?object=user:ada", cookie)).items;
  assertEquals([changed?.before, changed?.after, changed?.objects], ["x", "y", ["user:ada"]]);
});

Deno.test("GET /audit filters by action and source, and finds an administrator by either name", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  await keep(site, [
    { actor: "owner", action: "a", object: "user:ada", source: "192.0.2.7" },
    { actor: "console:owner", action: "b", object: "user:ada", target: "default", source: "192.0.2.8" },
    { actor: "console:owner", action: "c", target: "default" },
  ]);
  assertEquals(actions(await ask(site, "?actor=owner", cookie)), ["c", "b", "a"]);
  assertEquals(actions(await ask(site, "?action=b", cookie)), ["b"]);
  assertEquals(actions(await ask(site, "?source=192.0.2.7", cookie)), ["a"]);
  const aboutTarget = await ask(site, "?object=target:default", cookie);
  assertEquals(aboutTarget.items.map(({ action, actor }) => [action, actor]), [["c", "owner"]]);
});

Deno.test("GET /audit?events= finds the change of an administrator below thousands of sign-ins", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const signIns = Array.from(
    { length: MAX_COMPARED + 1 },
    () => ({ actor: "radius", action: "login.accepted" }),
  );
  await keep(site, [
    { actor: "owner", action: "client.change", object: "client:vpn-1" },
    { actor: "user:ada", action: "pairing.add", object: "user:ada" },
    { actor: "scim:hr", action: "user.created", object: "user:ada" },
    ...signIns,
  ]);
  const rows: readonly (readonly [events: string, expected: readonly string[]])[] = [
    ["administrator_changes", ["client.change"]],
    ["changes", ["pairing.add", "client.change", "administrator.sign_in"]],
    ["", Array.from({ length: 50 }, () => "login.accepted")],
    ["sign_ins", Array.from({ length: 50 }, () => "login.accepted")],
  ];
  for (const [events, expected] of rows) {
    assertEquals(actions(await ask(site, `?events=${events}`, cookie)), expected, events);
  }
  const response = await site.call("/console/api/audit?events=anything", { cookie });
  await response.body?.cancel();
  assertEquals(response.status, 400);
});

for (const sort of ["-at", "at"] as const) {
  Deno.test(`GET /audit?sort=${sort} pages by id without a gap, through the index and without it`, async () => {
    await using site = await startConsole();
    const cookie = await site.signIn("viewer");
    const records = Array.from({ length: 120 }, (_, at) => ({
      actor: "owner",
      object: "target:default",
      action: String(at),
    }));
    await keep(site, records);
    const oldestFirst = Array.from({ length: 120 }, (_, at) => String(at));
    for (const filter of ["actor=owner", "object=target:default"]) {
      const seen: string[] = [];
      let next: string | null = null;
      for (let pages = 0; pages < 4; pages += 1) {
        const page = await ask(
          site,
          `?${filter}&sort=${sort}${next === null ? "" : `&before=${next}`}`,
          cookie,
        );
        seen.push(...actions(page));
        next = page.next;
        if (next === null) break;
      }
      assertEquals(seen, sort === "at" ? oldestFirst : oldestFirst.toReversed(), filter);
    }
  });
}

Deno.test("GET /audit/export has the filtered records, in cells that no spreadsheet calculates, and is recorded", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  await keep(site, [
    { actor: "owner", action: "user.create", object: "user:ada", after: "=1+1" },
    { actor: "owner", action: "user.change", object: "user:ada", before: 'say "hi"', because: "a, b" },
    { actor: "owner", action: "user.create", object: "user:grace" },
  ]);
  const path = "/console/api/audit/export?object=user:ada";
  const csv = await site.call(path, { cookie });
  assertEquals(csv.headers.get("content-disposition"), 'attachment; filename="audit.csv"');
  assertEquals((await csv.text()).split("\r\n").map((line) => line.replace(/^\d{4}-[^,]+/, "")), [
    "at,who,from,what,to,before,after,details",
    ',owner,,user.change,user:ada,"say ""hi""",,"because: a, b"',
    ",owner,,user.create,user:ada,,'=1+1,",
    "",
  ]);
  const json: AuditPage["items"] = await (await site.call(`${path}&format=json`, { cookie })).json();
  assertEquals(json.map(({ action }) => action), ["user.change", "user.create"]);
  const [asJson, asCsv] = (await ask(site, "?action=audit.export", cookie)).items;
  assertEquals([asCsv?.actor, asCsv?.after], ["viewer", "csv, object user:ada"]);
  assertEquals(asJson?.after, "json, object user:ada");
});

Deno.test("auditLines() ends after 50,000 records, however many match", async () => {
  const KEPT = 50_200;
  const value = { actor: "owner", action: "a" };
  let read = 0;
  const endless = {
    async *range() {
      // As in the store, the next page begins where the page before ended.
      for (; read < KEPT; read += 1) yield { key: ["audit", String(KEPT - read)], value, versionstamp: "1" };
    },
  } as unknown as Store;
  const filter = {
    actor: "",
    object: "",
    action: "",
    source: "",
    q: "",
    labelled: [],
    fromMs: null,
    toMs: null,
  };
  const lines = await Array.fromAsync(auditLines(endless, { filter, format: "csv" }));
  assertEquals(lines.length, 1 + MAX_EXPORTED_RECORDS + 1);
});

Deno.test("GET /audit/export requires a recent factor, and records nothing without one", async () => {
  const clock = createManualClock();
  await using site = await startConsole({ clock });
  const cookie = await site.signIn("owner");
  clock.advance(RECENT_FACTOR_MS + 1);
  const stale = await site.call("/console/api/audit/export", { cookie });
  assertEquals([stale.status, (await stale.json()).error.code], [403, "step_up"]);
  assertEquals((await ask(site, "?action=audit.export", cookie)).items, []);
});

Deno.test("GET /audit refuses invalid filters, and requests without a session", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  const bad = await site.call("/console/api/audit?from=yesterday", { cookie });
  assertEquals([bad.status, (await bad.json()).error.code], [400, "bad_query"]);
  const anonymous = await site.call("/console/api/audit");
  await anonymous.body?.cancel();
  assertEquals(anonymous.status, 401);
});

Deno.test("GET /audit finds parts of names, details and labels in any case", async () => {
  await using site = await startConsole();
  const cookie = await site.signIn("viewer");
  await keep(site, [
    { actor: "radius", action: "pairing.add", object: "user:vcerf", factor: "sms", number: "+1*******123" },
    { actor: "Owner", action: "pairing.add", object: "user:vint", factor: "device", phone: "Pixel of Vint" },
    { actor: "owner", action: "client.change", object: "client:vpn-1", before: { address: "10.0.0.1" } },
  ]);
  const found = async (query: string) => {
    const { items } = await ask(site, `${query}&from=${START_MS}&to=${START_MS + 10_000}`, cookie);
    return items.map(({ objects }) => objects.join());
  };
  assertEquals(await found("?object=CERF"), ["user:vcerf"]);
  assertEquals(await found("?object=user:v"), []);
  assertEquals(await found("?object=user:vcerf"), ["user:vcerf"]);
  assertEquals(await found("?actor=own"), ["client:vpn-1", "user:vint"]);
  assertEquals(await found("?q=pixel"), ["user:vint"]);
  assertEquals(await found("?q=10.0.0"), ["client:vpn-1"]);
  assertEquals(await found("?action=pairing.add"), ["user:vint", "user:vcerf"]);
  assertEquals(await found("?q=factor&labelled=pairing.add"), ["user:vint", "user:vcerf"]);
  const { items } = await ask(site, "?object=cerf", cookie);
  assertEquals([items[0]?.action, items[0]?.details.factor], ["pairing.add", "sms"]);
});

Deno.test("auditPage() compares a limited number of records, and the next page continues from there", async () => {
  const KEPT = MAX_COMPARED + 10;
  const page = async (before: string | null) => {
    let read = 0;
    const store = {
      async *range({ end }: { end: Deno.KvKey }, { limit }: { limit: number }) {
        const first = Number(String(end.at(-1)).replace(/\D/g, "")) || KEPT + 1;
        for (let at = first - 1; at > 0 && read < limit; at -= 1) {
          read += 1;
          const object = at === 3 ? "user:rare" : "user:ada";
          yield {
            key: ["audit", String(at).padStart(8, "0")],
            value: { object, atMs: at },
            versionstamp: "1",
          };
        }
      },
    } as unknown as Store;
    const filter = {
      actor: "",
      object: "",
      action: "",
      source: "",
      q: "rare",
      labelled: [],
      fromMs: null,
      toMs: null,
    };
    return { ...await readAuditPage(store, filter, { before, limit: 50 }), read };
  };
  const first = await page(null);
  assertEquals([first.items.length, first.read, first.searchedToMs], [
    0,
    MAX_COMPARED,
    KEPT - MAX_COMPARED + 1,
  ]);
  const second = await page(first.next);
  assertEquals([second.items.length, second.next], [1, null]);
});

// The audit log and the user timeline: logins that timed out, members of groups, and phone numbers.

const API = "/console/api";

Deno.test("userTimeline() shows a login that timed out, with its client and the reason why the push ended", async () => {
  await using world = await startInProcess({ embedded: true, toml: "[radius]\nconversation_ttl_s = 60" });
  await pairPhone(world, "anna");
  await world.login({ user: "Anna" }).start();
  await jump(world.clock, 61_000);
  const { entries } = await userTimeline(world.store, { user: "anna", target: "default", before: "" });
  const [newest] = entries;
  assertEquals([newest?.action, newest?.actor], ["login.expired", "radius"]);
  const { client, factor, because, conversation } = newest?.details ?? {};
  assertEquals([client, factor, because, conversation !== undefined], ["any", "device", "expired", true]);
});

/** A console with the API calls of a user manager, and its audit records about an object. */
async function startAudited(shape: Parameters<typeof startPeopleConsole>[0] = {}) {
  const site = await startPeopleConsole(shape);
  const ask = apiCaller(site, await site.signIn("user_manager"));
  const items = async (object: string): Promise<readonly AuditItem[]> =>
    (await ask<AuditPage>(`${API}/audit?object=${encodeURIComponent(object)}`)).items;
  return { site, ask, items };
}

const memberChanges = (items: readonly AuditItem[]) =>
  items.filter(({ action }) => action === "group.members_changed").map(({ details }) => [
    details.added,
    details.removed,
  ]);

const GROUP_SHAPES: readonly Shape[] = [{ local: "store" }, { local: "store", ldap: "sync" }];
const USER_SHAPES: readonly Shape[] = [{ local: "store" }, { ldap: "sync" }];

for (const shape of GROUP_SHAPES) {
  const backends = Object.keys(shape).join(" and ");
  Deno.test(`GET /audit lists the added and removed members of a group (${backends})`, async () => {
    const { site, ask, items } = await startAudited({ shape });
    await using _site = site;
    await site.putGroup("ops", ["ada"]);
    const change = (json: unknown) => ask(`${API}/groups/ops/members`, { method: "PUT", json });
    await change({ add: ["bob", "eve"], remove: [] });
    await change({ add: ["carl"], remove: ["ADA", "bob"] });
    assertEquals(memberChanges(await items("group:ops")), [["carl", "ada, bob"], ["bob, eve", undefined]]);
    await site.target.replace(
      { kind: "group", name: "ops", attributes: {}, members: ["eve", "dora"] },
      { actor: SCIM_ACTOR },
    );
    const [replaced] = await items("group:ops");
    assertEquals([replaced?.action, replaced?.details.added, replaced?.details.removed], [
      "group.replaced",
      "dora",
      "carl",
    ]);
  });
}

Deno.test("GET /audit shows 20 full names of members, however long, and counts the others", async () => {
  const { site, ask, items } = await startAudited();
  await using _site = site;
  await site.putGroup("ops");
  const add = Array.from({ length: 25 }, (_, at) => `member-with-a-long-name-${at + 10}@corp.example`);
  await ask(`${API}/groups/ops/members`, { method: "PUT", json: { add, remove: [] } });
  assertEquals(memberChanges(await items("group:ops")), [
    [[...add.slice(0, 20), "+5"].join(", "), undefined],
  ]);
});

async function importTable({ ask }: Awaited<ReturnType<typeof startAudited>>, text: string): Promise<void> {
  const imports = `${API}/imports`;
  const { id } = await ask<ImportView>(imports, { method: "POST", json: { file: "people.csv" } });
  await ask(`${imports}/${id}/text`, { method: "POST", json: { text } });
  await ask(`${imports}/${id}/check`, { method: "POST", json: { mayUpdate: true } });
  const settled = async (): Promise<ImportView> => {
    for (let tries = 0; tries < 400; tries += 1) {
      const view = await ask<ImportView>(`${imports}/${id}`);
      if (view.state !== "checking" && view.state !== "applying") return view;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error("The import did not end");
  };
  await settled();
  await ask(`${imports}/${id}/apply`, { method: "POST", json: {} });
  await settled();
}

const numbersOf = ({ before, after }: Pick<AuditItem, "before" | "after">) =>
  [before, after].map((text) => text === "" ? undefined : JSON.parse(text).phoneNumbers);

for (const shape of USER_SHAPES) {
  const [backend] = Object.values(shape);
  Deno.test(`GET /audit has the masked phone numbers before and after an import (${backend})`, async () => {
    const audited = await startAudited({ shape });
    await using site: PeopleConsole = audited.site;
    await site.put("ada", { phoneNumbers: [{ value: "+4915112345678", type: "mobile" }] });
    await importTable(audited, "userName,phoneNumber\nada,+4915187654321\n");
    const [changed] = (await audited.items("user:ada")).filter(({ action }) => action === "user.replaced");
    assertEquals([changed?.actor, changed?.details.target], ["user_manager", "default"]);
    assertEquals(changed && numbersOf(changed), ["+4*********678", "+4*********321"]);
    const { entries } = await audited.ask<TimelinePage>(`${API}/users/ada/timeline`);
    const newest = entries.find(({ action }) => action === "user.replaced");
    assertEquals(newest && numbersOf(newest), ["+4*********678", "+4*********321"]);
    await importTable(audited, "userName,phoneNumber\nada,\n");
    const [removed] = (await audited.items("user:ada")).filter(({ action }) => action === "user.replaced");
    assertEquals(removed && numbersOf(removed), ["+4*********321", undefined]);
  });
}

/** The attributes of a user before and after, and the values of the record. */
const VALUES: Readonly<Record<string, { was: JsonObject; is: JsonObject; before: unknown; after: unknown }>> =
  {
    "a number that looks the same when masked": {
      was: { phoneNumbers: [{ value: "+4915112345678" }] },
      is: { phoneNumbers: [{ value: "+4915199995678" }] },
      before: { phoneNumbers: "+4*********678" },
      after: { phoneNumbers: "+4*********678 (changed)" },
    },
    "the second of two numbers": {
      was: { phoneNumbers: [{ value: "+4915112345678" }] },
      is: { phoneNumbers: [{ value: "+4915112345678" }, { value: "+14155550123" }] },
      before: { phoneNumbers: "+4*********678" },
      after: { phoneNumbers: "+4*********678, +1*******123" },
    },
    "a text whose first 200 characters are the same": {
      was: { title: "x".repeat(200) },
      is: { title: "x".repeat(201) },
      before: { title: "x".repeat(200) },
      after: { title: `${"x".repeat(200)} (changed)` },
    },
    "a number with the same value and another type": {
      was: { phoneNumbers: [{ value: "+4915112345678", type: "home" }] },
      is: { phoneNumbers: [{ value: "+4915112345678", type: "work" }] },
      before: undefined,
      after: undefined,
    },
  };

for (const [what, { was, is, before, after }] of Object.entries(VALUES)) {
  Deno.test(`contentAuditEntries() records ${what}`, () => {
    const content = (attributes: JsonObject): UserContent => ({
      ...{ kind: "user", name: "ada", active: true },
      attributes,
    });
    const [event] = contentAuditEntries({ name: "default" }, {
      ...{ actor: SCIM_ACTOR, action: "user.replaced", kind: "user", name: "ada" },
      before: content(was),
      after: content(is),
    });
    const entry = event?.type === "audit" ? event.entry : null;
    assertEquals([entry?.before, entry?.after], [before, after]);
  });
}

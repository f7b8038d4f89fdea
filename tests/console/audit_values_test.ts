// The audit log and the user timeline: logins that timed out, members of groups, and phone numbers.

import { assertEquals } from "@std/assert";
import type { AuditItem, AuditPage } from "../../console/api/audit/audit_log.ts";
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

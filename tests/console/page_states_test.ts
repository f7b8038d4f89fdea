// Pages of clients, administrators and targets when an answer is late, refused, or newer than the form.

import { signal } from "@preact/signals";
import { assertEquals } from "@std/assert";
import { h } from "preact";
import type { AdminRow } from "../../console/api/api_types.ts";
import type { ClientRow, OneClient } from "../../console/api/clients/client_types.ts";
import type { Models } from "../../console/web/app/app_context.ts";
import type { Resource } from "../../console/web/app/resource.ts";
import { AdminDialog } from "../../console/web/pages/access/admin_dialogs.tsx";
import { AddClientDialog } from "../../console/web/pages/clients/client_dialogs.tsx";
import { FirstFactorFields } from "../../console/web/pages/clients/client_fields.tsx";
import { type ClientDraft, NEW_CLIENT_DRAFT } from "../../console/web/pages/clients/client_form.ts";
import { EditClient } from "../../console/web/pages/clients/client_page.tsx";
import { type FakeElement, openFakePage, rendered } from "../fakes/dom.ts";

const session = {
  session: signal({ kind: "idle" }),
  whileSignedIn: <T>(call: () => Promise<T>) => call(),
};
const json = (value: unknown) => Promise.resolve(Response.json(value));
const refusal = (code: string) =>
  Promise.resolve(Response.json({ error: { code, message: code } }, { status: 409 }));

function elementOf(root: FakeElement, { name, id }: { name: string; id: string }): FakeElement {
  const found = root.all(name).find(({ attributes }) => attributes.get("id") === id);
  if (found === undefined) throw new Error(`no ${name} "${id}" in "${root.textContent}"`);
  return found;
}

function choose(element: FakeElement, { event, value }: { event: string; value: string }): void {
  Object.assign(element, { value });
  element.fire(event);
}

/** Collects the tasks of `setInterval` until it is disposed. */
function holdIntervals() {
  const { setInterval: before } = globalThis;
  const tasks: (() => void)[] = [];
  globalThis.setInterval = ((task: () => void) => tasks.push(task)) as typeof setInterval;
  return { tasks, [Symbol.dispose]: () => void (globalThis.setInterval = before) };
}

Deno.test("AddClientDialog polls for unknown senders also in a hidden tab", async () => {
  await using page = openFakePage();
  using intervals = holdIntervals();
  let polls = 0;
  const heard = {
    $post: () => {
      polls += 1;
      return json({ items: [] });
    },
  };
  const models = { api: { clients: { heard } }, session } as unknown as Models;
  const none = () => undefined;
  await page.show(
    h(AddClientDialog, { models, ldap: [], globalFirstFactor: "none", onDone: none, onClose: none }),
  );
  assertEquals(polls, 1);
  Object.assign(document, { visibilityState: "hidden" });
  try {
    for (const task of intervals.tasks) task();
    await rendered();
    assertEquals(polls, 2);
  } finally {
    Object.assign(document, { visibilityState: "visible" });
  }
});

Deno.test("FirstFactorFields sends one test while another one runs", async () => {
  await using page = openFakePage();
  const answer = Promise.withResolvers<Response>();
  let calls = 0;
  const $post = () => {
    calls += 1;
    return answer.promise;
  };
  const models = { api: { clients: { "first-factor": { $post } } }, session } as unknown as Models;
  const draft = signal<ClientDraft>({ ...NEW_CLIENT_DRAFT, firstFactor: "ldap", firstFactorBackend: "one" });
  await page.show(
    h(FirstFactorFields, { models, draft, saved: null, ldap: ["one"], globalFirstFactor: "none" }),
  );
  page.root.button("clients.factor_test").fire("click");
  page.root.button("clients.factor_test").fire("click");
  await rendered();
  assertEquals(calls, 1);
  answer.resolve(Response.json({ answers: true, detail: "" }));
  await rendered();
  page.root.button("clients.factor_test").fire("click");
  await rendered();
  assertEquals(calls, 2);
});

const ADMIN: AdminRow = {
  name: "ada",
  role: "viewer",
  origin: "console",
  disabled: false,
  createdMs: 1,
  has: { password: true, totp: false, passkeys: 0, recoveryCodes: 0 },
};

for (
  const [what, answer, role] of [
    ["the old role after a refusal", () => refusal("last_owner"), "viewer"],
    ["the new role after a success", () => json({ ...ADMIN, role: "owner" }), "owner"],
  ] as const
) {
  Deno.test(`AdminDialog shows ${what}`, async () => {
    await using page = openFakePage();
    const one = { $patch: answer, sessions: { $get: () => json({ nowMs: 0, items: [] }) } };
    const models = {
      api: { administrators: { ":id": one } },
      session,
      toasts: { show: () => undefined },
    } as unknown as Models;
    const none = () => undefined;
    await page.show(h(AdminDialog, { models, admin: ADMIN, onDone: none, onClose: none }));
    choose(elementOf(page.root, { name: "select", id: "admin-role" }), { event: "change", value: "owner" });
    await rendered();
    const select = elementOf(page.root, { name: "select", id: "admin-role" });
    assertEquals((select as unknown as { value: string }).value, role);
  });
}

const CLIENT = {
  ...{ name: "vpn-1", from: "console", version: 1, createdMs: 1, secretMs: 1, overlapUntilMs: null },
  ...{ address: ["192.0.2.1"], nasIdentifier: "one", disabled: false, messageAuthenticator: "require" },
  use: { packets: 0, lastMs: 0, previousMs: 0, unsignedMs: 0 },
  signing: { required: "learnt", acceptsUnsigned: true, addresses: [], count: 0 },
  ...{ appendSeparator: ",", stripDomains: [], stripRealms: [], accepted: 0, rejected: 0 },
  ...{
    firstFactor: "settings",
    effective: { firstFactor: "none", rejectsUnknown: false },
    firstFactorServer: null,
    firstFactorBackend: "",
  },
} as unknown as ClientRow;

Deno.test("EditClient loads a newer version of the client if the form is unchanged, and keeps unsaved changes", async () => {
  await using page = openFakePage();
  const models = { session, router: { block: () => () => undefined } } as unknown as Models;
  const show = (version: number, nasIdentifier: string) => {
    const client = { ...CLIENT, version, nasIdentifier };
    const one = {
      client,
      ldap: [],
      globalFirstFactor: "none",
      blast: { users: [], logins: 0, open: 0 },
    } as unknown as OneClient;
    return page.show(h(EditClient, { models, one, page: {} as Resource<OneClient> }));
  };
  const field = () => elementOf(page.root, { name: "input", id: "client-nasIdentifier" });
  const shown = () => field().attributes.get("value") ?? (field() as unknown as { value: string }).value;
  await show(1, "one");
  await show(2, "two");
  assertEquals(shown(), "two");
  choose(field(), { event: "input", value: "typed" });
  await rendered();
  await show(3, "three");
  assertEquals((field() as unknown as { value: string }).value, "typed");
});

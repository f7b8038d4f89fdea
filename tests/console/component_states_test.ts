// States of components and pages while requests run.

import { signal } from "@preact/signals";
import { assertEquals, assertRejects } from "@std/assert";
import { h } from "preact";
import { canClose, createAction } from "../../console/web/app/action.ts";
import type { Models } from "../../console/web/app/app_context.ts";
import { ApiFailure, createBrowserFetch, take } from "../../console/web/app/api_client.ts";
import { FormDialog } from "../../console/web/components/form_dialog.tsx";
import { FirstFactorFields } from "../../console/web/pages/clients/client_fields.tsx";
import { type ClientDraft, NEW_CLIENT_DRAFT } from "../../console/web/pages/clients/client_form.ts";
import { ImportModel } from "../../console/web/pages/import/import_model.ts";
import { ConversationList } from "../../console/web/pages/live/conversation_list.tsx";
import type { LiveModels } from "../../console/web/pages/live/live_context.tsx";
import { InvitePhoneDialog } from "../../console/web/pages/users/factor_dialogs.tsx";
import { createManualClock } from "../fakes/console_app.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { type FakeElement, openFakePage, rendered } from "../fakes/dom.ts";
import type { AdminRow } from "../../console/api/api_types.ts";
import type { ClientRow, OneClient } from "../../console/api/clients/client_types.ts";
import { type Resource, skipWhilePending } from "../../console/web/app/resource.ts";
import { AdminDialog } from "../../console/web/pages/access/admin_dialogs.tsx";
import { AddClientDialog } from "../../console/web/pages/clients/client_dialogs.tsx";
import { EditClient } from "../../console/web/pages/clients/client_page.tsx";
import { keepCurrent } from "../../console/account/account_models.ts";

// Components whose data is outdated or missing: what they show, and which actions they refuse.

const session = { whileSignedIn: <T>(call: () => Promise<T>) => call() };
const json = (value: unknown) => Promise.resolve(Response.json(value));

Deno.test("FormDialog refuses to close while its request runs, and allows it after 15 seconds with a message", async () => {
  await using page = openFakePage();
  const clock = createManualClock();
  const answer = Promise.withResolvers<void>();
  let closed = 0;
  await page.show(h(FormDialog, {
    title: "Title",
    submitLabel: "Send",
    action: createAction({ later: clock.after }),
    onSubmit: () => answer.promise,
    onClose: () => closed += 1,
    children: null,
  }));
  const [dialog] = page.root.all("dialog");
  const tryToClose = () => {
    dialog?.fire("cancel");
    page.root.button("common.cancel").fire("click");
    page.root.button("common.close").fire("click");
  };
  page.root.all("form")[0]?.fire("submit");
  await rendered();
  tryToClose();
  assertEquals([closed, dialog?.attributes.get("closedby")], [0, "none"]);
  assertEquals(page.root.textContent.includes("common.no_answer"), false);
  clock.advance(15_000);
  await rendered();
  assertEquals(page.root.textContent.includes("common.no_answer"), true);
  assertEquals(dialog?.attributes.get("closedby"), "closerequest");
  page.root.button("common.cancel").fire("click");
  assertEquals(closed, 1);
  answer.resolve();
  await rendered();
  assertEquals(closed, 1, "the late answer does not close a dialog that was opened since");
});

const GATEWAY = { firstFactor: "none", holdMs: 25_000, acceptsTls: false } as const;

Deno.test("FirstFactorFields shows the result of a test only for the values that were tested", async () => {
  await using page = openFakePage();
  const api = { clients: { "first-factor": { $post: () => json({ answers: true, detail: "" }) } } };
  const draft = signal<ClientDraft>({
    ...NEW_CLIENT_DRAFT,
    firstFactor: "ldap",
    firstFactorBackend: "one",
  });
  const models = { api, session } as unknown as Models;
  await page.show(
    h(FirstFactorFields, { models, draft, saved: null, ldap: ["one", "two"], gateway: GATEWAY }),
  );
  page.root.button("clients.factor_test").fire("click");
  await rendered();
  assertEquals(page.root.textContent.includes("clients.backend_answers"), true);
  draft.value = { ...draft.value, firstFactorBackend: "two" };
  await rendered();
  assertEquals(page.root.textContent.includes("clients.backend_answers"), false);
});

Deno.test("InvitePhoneDialog reports a phone that paired after the invitation, not an earlier one that the page did not list yet", async () => {
  await using page = openFakePage();
  const phone = (id: string) => ({ id, kind: "device", name: id });
  const login = (...ids: string[]) => ({ pairings: ids.map(phone) });
  const current = { name: "ada", login: login("old") };
  const invitation = { link: "https://x/", qr: null, deadlineMs: Date.now() + 60_000 };
  const props = (shown: ReturnType<typeof login>) =>
    ({
      models: { session, clock: { nowMs: signal(Date.now()) } },
      user: current,
      calls: { read: () => Promise.resolve(current), invite: () => Promise.resolve(invitation) },
      page: { put: () => undefined },
      login: shown,
      onClose: () => undefined,
    }) as unknown as Parameters<typeof InvitePhoneDialog>[0];
  const isPaired = () => page.root.textContent.includes("users.phone_paired");
  await page.show(h(InvitePhoneDialog, props(login())));
  await page.show(h(InvitePhoneDialog, props(login("old"))));
  assertEquals(isPaired(), false);
  await page.show(h(InvitePhoneDialog, props(login("old", "new"))));
  assertEquals(isPaired(), true);
});

Deno.test("ConversationList reports that there are no logins only while it is connected", async () => {
  await using page = openFakePage();
  const connection = signal<{ kind: string }>({ kind: "reconnecting" });
  const models = {
    board: { rows: signal([]), newer: signal(0), total: signal(0), held: signal(false), hold: () => {} },
    live: { connection, nodes: signal({}) },
    router: { param: () => "" },
    filter: signal({ text: "" }),
    session: { firstSteps: signal(null) },
  } as unknown as LiveModels;
  for (
    const [kind, expected] of [["connecting", false], ["reconnecting", false], ["live", true]] as const
  ) {
    connection.value = { kind };
    await page.show(h(ConversationList, { models, chosenId: "" }));
    assertEquals(page.root.textContent.includes("common.no_sign_ins_yet"), expected, kind);
    assertEquals(page.root.textContent.includes("live.fetching"), !expected, kind);
  }
});

Deno.test("ConversationList has a column for the node if there are several", async () => {
  await using page = openFakePage();
  const nodes = signal({});
  const board = { rows: signal([conversation(1)]), newer: signal(0), total: signal(1), held: signal(false) };
  const models = {
    board: { ...board, hold: () => {} },
    live: { connection: signal({ kind: "live" }), nodes },
    router: { param: () => "" },
    filter: signal({ text: "" }),
    dataClock: { nowMs: signal(0) },
  } as unknown as LiveModels;
  for (const names of [{}, { a: "gate-1", b: "gate-2" }]) {
    nodes.value = names;
    await page.show(h(ConversationList, { models, chosenId: "" }));
    assertEquals(page.root.textContent.includes("common.node"), "a" in names);
  }
});

Deno.test("ImportModel continues to poll after a lost answer, and shows the result of the import", async () => {
  const clock = createManualClock();
  const view = (state: string) => ({ id: "i", state });
  const answers: (() => Promise<Response>)[] = [
    () => json(view("checking")),
    () => Promise.reject(new TypeError("away")),
    () => json(view("checked")),
  ];
  const one = {
    $get: () => answers.shift()?.() ?? Promise.reject(new Error("no more polls expected")),
    text: { $post: () => json({}) },
    check: { $post: () => json(view("checking")) },
  };
  const models = { api: { imports: { $post: () => json({ id: "i" }), ":id": one } }, session };
  const words = { notText: () => "", tooLarge: () => "" };
  const model = new ImportModel(models as unknown as Models, { later: clock.after, words });
  await model.send(new File(["name\nada\n"], "a.csv"), { target: "", mayUpdate: false });
  const state = () => [model.view.value?.state, model.problem.value];
  assertEquals(state(), ["checking", null]);
  clock.advance(400);
  await rendered();
  assertEquals(state(), ["checking", new ApiFailure("offline").message]);
  clock.advance(2999);
  await rendered();
  assertEquals(answers.length, 1);
  clock.advance(1);
  await rendered();
  assertEquals([...state(), answers.length], ["checked", null, 0]);
});

// Pages of clients, administrators and targets when an answer is late, refused, or newer than the form.

const openSession = {
  session: signal({ kind: "idle" }),
  whileSignedIn: <T>(call: () => Promise<T>) => call(),
};

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
  const models = { api: { clients: { heard } }, session: openSession } as unknown as Models;
  const none = () => undefined;
  await page.show(
    h(AddClientDialog, { models, ldap: [], gateway: GATEWAY, onDone: none, onClose: none }),
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
  const models = {
    api: { clients: { "first-factor": { $post } } },
    session: openSession,
  } as unknown as Models;
  const draft = signal<ClientDraft>({ ...NEW_CLIENT_DRAFT, firstFactor: "ldap", firstFactorBackend: "one" });
  await page.show(
    h(FirstFactorFields, { models, draft, saved: null, ldap: ["one"], gateway: GATEWAY }),
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
      session: openSession,
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
    effective: { firstFactor: "none", rejectsUnknown: false, holdMs: 25_000 },
    firstFactorServer: null,
    firstFactorBackend: "",
  },
} as unknown as ClientRow;

Deno.test("EditClient loads a newer version of the client if the form is unchanged, and keeps unsaved changes", async () => {
  await using page = openFakePage();
  const models = {
    session: openSession,
    router: { block: () => () => undefined },
  } as unknown as Models;
  const show = (version: number, nasIdentifier: string) => {
    const client = { ...CLIENT, version, nasIdentifier };
    const one = {
      client,
      ldap: [],
      gateway: GATEWAY,
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

// Requests without an answer yet: dialogs stay open, polls do not overlap, and every request has a deadline.

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("canClose() refuses while an action runs, and allows it after 15 seconds without an answer", async () => {
  const clock = createManualClock();
  const action = createAction({ later: clock.after });
  const state = () => [action.busy.value, action.isSlow.value, canClose(action)];
  assertEquals(state(), [false, false, true]);
  const answer = Promise.withResolvers<void>();
  const done = action.run(() => answer.promise);
  clock.advance(14_999);
  assertEquals(state(), [true, false, false]);
  clock.advance(1);
  assertEquals(state(), [true, true, true]);
  answer.resolve();
  await done;
  assertEquals(state(), [false, false, true]);
});

Deno.test("createAction() restarts the 15 seconds with each run", async () => {
  const clock = createManualClock();
  const action = createAction({ later: clock.after });
  await action.run(() => Promise.reject(new ApiFailure("offline")));
  clock.advance(14_000);
  void action.run(() => new Promise(() => {}));
  clock.advance(14_000);
  assertEquals([action.isSlow.value, canClose(action)], [false, false]);
});

Deno.test("skipWhilePending() skips a tick until the previous run has ended, also with a failure", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const tick = skipWhilePending(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  tick();
  tick();
  assertEquals(runs.length, 1);
  runs[0]?.resolve();
  await settled();
  tick();
  assertEquals(runs.length, 2);
  runs[1]?.reject(new Error("away"));
  await settled();
  tick();
  assertEquals(runs.length, 3);
});

Deno.test("keepCurrent() sends no second poll while the first one is pending", async () => {
  const ticks: (() => void)[] = [];
  const original = { setInterval: globalThis.setInterval, clearInterval: globalThis.clearInterval };
  Object.assign(globalThis, {
    setInterval: (tick: () => void) => ticks.push(tick),
    clearInterval: () => undefined,
  });
  const document = Object.assign(new EventTarget(), { visibilityState: "visible" });
  const window = Object.assign(new EventTarget(), { document });
  let refreshes = 0;
  const answer = Promise.withResolvers<void>();
  const account = {
    refresh() {
      refreshes += 1;
      return refreshes === 1 ? Promise.resolve() : answer.promise;
    },
  };
  const session = { isInterrupted: { peek: () => false }, check: () => Promise.resolve() };
  type Given = Parameters<typeof keepCurrent>;
  try {
    const stop = keepCurrent(account as Given[0], { session, window } as unknown as Given[1]);
    ticks[0]?.();
    ticks[0]?.();
    assertEquals(refreshes, 2, "the first load, and one poll");
    answer.resolve();
    await settled();
    ticks[0]?.();
    assertEquals(refreshes, 3);
    stop();
  } finally {
    Object.assign(globalThis, original);
  }
});

Deno.test("createBrowserFetch() ends a read after 30 s and a write after 5 min, unless the caller passes a signal", async () => {
  const own = AbortSignal.abort();
  const seen: (number | AbortSignal | null | undefined)[] = [];
  const asked: number[] = [];
  const call = createBrowserFetch({
    fetch: (_address, init) => {
      seen.push(init?.signal === own ? own : asked.at(-1));
      return Promise.resolve(Response.json({}));
    },
    timeout: (ms) => {
      asked.push(ms);
      return new AbortController().signal;
    },
  });
  await call("/x", { method: "GET" });
  await call("/x", { method: "POST" });
  await call("/x", { method: "GET", signal: own });
  assertEquals(seen, [30_000, 300_000, own]);
});

Deno.test("take() reports a body that does not arrive as offline, and a body that is not JSON as nonsense", async () => {
  const codes: string[] = [];
  for (const fault of [new DOMException("", "TimeoutError"), new SyntaxError()]) {
    const response = { ok: true, status: 200, headers: new Headers(), json: () => Promise.reject(fault) };
    const failure = await assertRejects(() => take(Promise.resolve(response)), ApiFailure);
    codes.push(failure.code);
  }
  assertEquals(codes, ["offline", "nonsense"]);
});

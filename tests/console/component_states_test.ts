// Components whose data is outdated or missing: what they show, and which actions they refuse.

import { signal } from "@preact/signals";
import { assertEquals } from "@std/assert";
import { h } from "preact";
import { createAction } from "../../console/web/app/action.ts";
import type { Models } from "../../console/web/app/app_context.ts";
import { ApiFailure } from "../../console/web/app/api_client.ts";
import { FormDialog } from "../../console/web/components/form_dialog.tsx";
import { FirstFactorFields } from "../../console/web/pages/clients/client_fields.tsx";
import { type ClientDraft, NEW_CLIENT_DRAFT } from "../../console/web/pages/clients/client_form.ts";
import { ImportModel } from "../../console/web/pages/import/import_model.ts";
import { ConversationList } from "../../console/web/pages/live/conversation_list.tsx";
import type { LiveModels } from "../../console/web/pages/live/live_context.tsx";
import { InvitePhoneDialog } from "../../console/web/pages/users/factor_dialogs.tsx";
import { createManualClock } from "../fakes/console_app.ts";
import { conversation } from "../fakes/console_gateway.ts";
import { openFakePage, rendered } from "../fakes/dom.ts";

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
    h(FirstFactorFields, { models, draft, saved: null, ldap: ["one", "two"], globalFirstFactor: "none" }),
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

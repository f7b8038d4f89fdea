// The model of the Settings page: review, saving, conflicts with another administrator, and undo, over a fake API.

import type { FormChanges, Setting, SettingProblem } from "../../console/web/pages/settings/setting_form.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { ApiFailure } from "../../console/web/app/api_client.ts";
import type { SettingsAnswer } from "../../console/api/settings/setting_routes.ts";
import { type SaveAnswer, toSaveAnswer } from "../../console/web/pages/settings/setting_calls.ts";
import { SettingsModel } from "../../console/web/pages/settings/settings_model.ts";
import { settingOf } from "../fakes/setting_rows.ts";

const session = { whileSignedIn: <T>(call: () => Promise<T>) => call() };
const NUMBER = { control: { kind: "number", min: 1, max: 60 }, preset: 10 } as const;

/** A server with two numbers. `change` is a change of another administrator. */
function fakeServer() {
  let version = 1;
  const values = new Map<string, number>();
  const faults: SettingProblem[] = [];
  const saved: { version: string; changes: FormChanges }[] = [];
  const changed: string[] = [];
  const row = (key: string): Setting => {
    const value = values.get(key);
    return settingOf(key, {
      ...NUMBER,
      value: value ?? 10,
      ...(value === undefined ? {} : { source: "console", changed: { by: "grace", atMs: 1 } }),
    });
  };
  const state = () =>
    ({ version: String(version), settings: ["a.one", "a.two"].map(row) }) as unknown as SettingsAnswer;
  const put = (key: string, value: number | null) => {
    version += 1;
    if (value === null) values.delete(key);
    else values.set(key, value);
  };
  return {
    ...{ faults, saved, state },
    change: (key: string, value: number | null) => {
      put(key, value);
      changed.push(key);
    },
    calls: {
      read: () => Promise.resolve(state()),
      check: (changes: FormChanges) =>
        Promise.resolve({
          faults,
          warnings: [],
          diff: Object.entries(changes).map(([key, after]) => ({
            ...{ key, isSecret: false, before: row(key).value, after: after ?? 10 },
          })),
        }),
      save(json: { version: string; changes: FormChanges }): Promise<SaveAnswer> {
        saved.push(json);
        if (faults.length > 0) return Promise.resolve({ kind: "faults", faults });
        const mine = Object.keys(json.changes);
        const conflicts = changed.filter((key) => mine.includes(key) && json.version !== String(version));
        if (conflicts.length > 0) {
          return Promise.resolve({
            kind: "conflict",
            conflicts: conflicts.map((key) => ({ key, by: "grace", atMs: 1 })),
          });
        }
        for (const [key, value] of Object.entries(json.changes)) put(key, value as number | null);
        return Promise.resolve({ kind: "saved", state: state(), auditId: "r1" });
      },
      undo: (auditId: string) =>
        auditId === "r1" ? Promise.resolve(state()) : Promise.reject(new ApiFailure("changed_meanwhile")),
    },
  };
}

async function openModel() {
  const server = fakeServer();
  const model = new SettingsModel({ session, calls: server.calls });
  await model.open();
  const edit = (key: string, value: string | null) => {
    const setting = model.settings().find((one) => one.key === key);
    if (setting !== undefined) model.edit(setting, value);
  };
  return { server, model, edit };
}

const keysOf = (rows: readonly { readonly key: string }[]) => rows.map(({ key }) => key);

Deno.test("SettingsModel reviews and saves the edited settings, and has no draft afterwards", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  assertEquals(await model.startReview(), null);
  assertEquals(model.review.value?.diff, [{ key: "a.one", isSecret: false, before: 10, after: 20 }]);
  assertEquals(await model.save(), { kind: "saved", auditId: "r1", count: 1 });
  assertEquals(server.saved, [{ version: "1", changes: { "a.one": 20 } }]);
  assertEquals([model.edited.value.length, model.review.value], [0, null]);
  assertEquals(model.settings()[0]?.value, 20);
});

Deno.test("SettingsModel keeps a draft and its version when the page is opened again", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  server.change("a.two", 30);
  await model.open();
  await model.startReview();
  await model.save();
  assertEquals(server.saved[0], { version: "1", changes: { "a.one": 20 } });
  assertEquals(model.settings().map(({ value }) => value), [20, 30]);
});

Deno.test("SettingsModel names the first value that the form refuses, and asks the server nothing", async () => {
  const { server, model, edit } = await openModel();
  edit("a.two", "99");
  assertEquals(await model.startReview(), "a.two");
  assertEquals([...model.problems.value.keys()], ["a.two"]);
  edit("a.two", "9");
  assertEquals([...model.problems.value.keys()], []);
  assertEquals(server.saved, []);
});

Deno.test("SettingsModel names the first value that the server refuses, in the check and in the save", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  assertEquals(await model.startReview(), null);
  server.faults.push({ key: "a.one", problem: "it must be less" });
  assertEquals(await model.save(), { kind: "faults", first: "a.one" });
  assertEquals([...model.problems.value], [["a.one", "It must be less."]]);
  assertEquals([model.review.value, model.edited.value.length], [null, 1]);
  assertEquals(await model.startReview(), "a.one");
});

for (const keep of ["mine", "theirs"] as const) {
  Deno.test(`SettingsModel offers both values in a conflict, and keeps ${keep}`, async () => {
    const { server, model, edit } = await openModel();
    edit("a.one", "20");
    edit("a.two", "30");
    server.change("a.one", 15);
    await model.startReview();
    assertEquals(await model.save(), { kind: "conflict" });
    assertEquals(keysOf(model.conflicts.value), ["a.one"]);
    assertEquals(model.review.value?.diff[0]?.before, 15);
    await model.resolve("a.one", keep);
    assertEquals(model.conflicts.value, []);
    assertEquals((await model.save()).kind, "saved");
    assertEquals(server.saved.at(-1), {
      version: "2",
      changes: keep === "mine" ? { "a.one": 20, "a.two": 30 } : { "a.two": 30 },
    });
    assertEquals(model.settings().map(({ value }) => value), keep === "mine" ? [20, 30] : [15, 30]);
  });
}

Deno.test("SettingsModel ends the review if the only conflicting value is given up", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  server.change("a.one", 15);
  await model.startReview();
  await model.save();
  await model.resolve("a.one", "theirs");
  assertEquals([model.review.value, model.edited.value.length], [null, 0]);
});

Deno.test("SettingsModel has no change any more if the other administrator set the same value", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  server.change("a.one", 20);
  await model.startReview();
  await model.save();
  assertEquals(model.edited.value.length, 0);
});

Deno.test("SettingsModel undoes a save, and fails if a value changed since", async () => {
  const { server, model, edit } = await openModel();
  edit("a.one", "20");
  await model.save();
  server.change("a.one", null);
  await model.undo("r1");
  assertEquals(model.settings()[0]?.value, 10);
  await assertRejects(() => model.undo("r2"), ApiFailure, "changed_meanwhile");
});

Deno.test("toSaveAnswer() recognizes conflicts and bad values, and no other failure", () => {
  const conflicts = [{ key: "a.one", by: "grace", atMs: 1, value: 5 }];
  const faults = [{ key: "a.one", problem: "it must be less" }];
  assertEquals(toSaveAnswer(new ApiFailure("changed_meanwhile", { conflicts })), {
    kind: "conflict",
    conflicts,
  });
  assertEquals(toSaveAnswer(new ApiFailure("bad_settings", { faults })), { kind: "faults", faults });
  assertEquals([toSaveAnswer(new ApiFailure("offline")), toSaveAnswer(new TypeError("bug"))], [null, null]);
});

Deno.test("SettingsModel.discard() ends the draft, its problems and the review", async () => {
  const { model, edit } = await openModel();
  edit("a.one", "99");
  await model.startReview();
  model.discard();
  assertEquals([model.draft.value.size, model.problems.value.size, model.review.value], [0, 0, null]);
});

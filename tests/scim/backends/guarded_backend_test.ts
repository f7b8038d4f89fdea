// Guards of backends: time limits, the breaker, read-only attributes, and the backend of the tests.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { createSystemRandom, systemClock } from "../../../platform/runtime.ts";
import { guardBackend } from "../../../scim/backends/guarded_backend.ts";
import { BackendListError, localError } from "../../../scim/backends/backend_error.ts";
import type { Backend, BackendOutcome } from "../../../scim/backend_port.ts";
import { createMemoryBackend } from "../../fakes/memory_backend.ts";
import { createManualClock, settle } from "../../upstream/manual_clock.ts";
import { silentLog } from "./silent_log.ts";
import { listAll, readContent, testBackend, user, value } from "./suite.ts";
import { createLdapBackend } from "../../../scim/backends/ldap/ldap_backend.ts";
import type { JsonObject } from "../../../scim/schema/resource.ts";
import { createMapping } from "../../../scim/schema/mapping.ts";
import { testNeeding } from "../../support/skip_unless.ts";
import { startScimmy } from "../../support/scimmy_server.ts";
import { startSlapd } from "../../support/slapd.ts";
import { ldapSettings } from "./ldap_settings.ts";
import { openScim, scimSettings } from "./scim_client.ts";

// The guard of a backend: time limits, call limits, the circuit breaker, and health.

type Answer = BackendOutcome<null>;

function open(change: Partial<Backend> = {}) {
  const clock = createManualClock();
  const log = silentLog();
  const memory = createMemoryBackend({ clock });
  const guarded = guardBackend({ ...memory, ...change }, {
    connections: 1,
    clock,
    random: createSystemRandom(),
    log,
  });
  return { ...guarded, clock, log, memory };
}

const away: Answer = {
  ok: false,
  fault: { kind: "unreachable", detail: "no route", unsure: false, retry: true },
};

Deno.test("guardBackend() ends a call that never answers, and reports that it may have been done", async () => {
  const { clock, backend } = open({ remove: () => new Promise<Answer>(() => undefined) });
  const asked = backend.remove("user", "anna");
  await settle();
  clock.advance(60_000);
  const outcome = await asked;
  assert(!outcome.ok && outcome.fault.unsure && outcome.fault.retry);
  assertEquals(clock.timers(), 0);
});

Deno.test("guardBackend() treats a call that rejects as one that may have been done", async () => {
  const { backend } = open({ remove: () => Promise.reject(new TypeError("secret words")) });
  const outcome = await backend.remove("user", "anna");
  assert(!outcome.ok && outcome.fault.unsure && !outcome.fault.detail.includes("secret"));
});

Deno.test("guardBackend() runs eight calls of a connection at once, queues 2,000, and refuses the rest", async () => {
  const answers: ((answer: Answer) => void)[] = [];
  const { backend, health } = open({
    remove: () => new Promise<Answer>((resolve) => answers.push(resolve)),
  });
  const calls = Array.from({ length: 2100 }, (_, n) => backend.remove("user", `u${n}`));
  await settle();
  assertEquals(answers.length, 8);
  const turnedAway = await Promise.all(calls.slice(2008));
  assert(
    turnedAway.every((outcome) => !outcome.ok && outcome.fault.kind === "busy" && !outcome.fault.unsure),
  );
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  assertEquals(await backend.probe(), { ok: true, value: null }, "a health check waits behind nothing");
  for (let done = 0; done < 2008; done++) {
    if (answers[done] === undefined) await settle();
    assert(answers.length - done <= 8);
    answers[done]?.({ ok: true, value: null });
  }
  assert((await Promise.all(calls.slice(0, 2008))).every(({ ok }) => ok));
});

Deno.test("guardBackend() stops calling after three failures: for half a second, then twice as long each time", async () => {
  const { backend, clock, log } = open({ probe: () => Promise.resolve(away) });
  for (let count = 0; count < 3; count++) assertEquals(await backend.probe(), away);
  for (const retryAfterMs of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    const detail = "the directory did not answer recently and is not called for a moment";
    const fault = { kind: "unreachable", detail, unsure: false, retry: true, retryAfterMs } as const;
    assertEquals(await backend.read("user", "anna"), { ok: false, fault });
    await assertRejects(() => listAll(backend, "user"), BackendListError, detail);
    clock.advance(retryAfterMs);
    assertEquals(await backend.probe(), away);
  }
  assertEquals(log.lines, [
    { message: "ldap backend unreachable", fields: { backend: "memory", detail: "no route" } },
  ]);
});

Deno.test("guardBackend() checks a password only while the backend answers, and the verdict does not change health", async () => {
  const { backend, health } = open({
    probe: () => Promise.resolve(away),
    verify: () => Promise.resolve({ ok: true, value: "wrong" }),
  });
  const password = new Uint8Array(0);
  assertEquals(await backend.verify?.("anna", password), { ok: true, value: "wrong" });
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  for (let count = 0; count < 3; count++) await backend.probe();
  const refused = await backend.verify?.("anna", password);
  assertEquals(refused?.ok, false);
});

Deno.test("guardBackend() records a refusal as an answer and as a fault", async () => {
  const refusal = { kind: "refused", detail: "x".repeat(1000), unsure: false, retry: true } as const;
  const { backend, clock, health } = open({ probe: () => Promise.resolve({ ok: false, fault: refusal }) });
  await backend.probe();
  const atMs = clock.nowMs();
  assertEquals(health(), {
    lastGoodMs: atMs,
    lastFault: { atMs, kind: "refused", detail: "x".repeat(300) },
  });
});

Deno.test("guardBackend() records a listing as an answer, and a failed listing as a fault", async () => {
  const { backend, clock, memory, health } = open();
  const startMs = clock.nowMs();
  await memory.put({ content: user("anna") });
  assertEquals(health(), { lastGoodMs: null, lastFault: null });
  assertEquals((await listAll(backend, "user")).length, 1);
  assertEquals(health(), { lastGoodMs: startMs, lastFault: null });
  clock.advance(1000);
  memory.trouble({ operation: "list", how: "before" });
  await assertRejects(() => listAll(backend, "user"), BackendListError);
  assertEquals([health().lastGoodMs, health().lastFault?.atMs], [startMs, startMs + 1000]);
  await backend.close();
});

Deno.test("guardBackend() continues a listing while the circuit breaker is open", async () => {
  const { backend } = open({
    put: () => Promise.resolve(away as BackendOutcome<never>),
    async *list() {
      for (let page = 0; page < 3; page++) yield await Promise.resolve([]);
    },
  });
  let pages = 0;
  for await (const _page of backend.list("user")) {
    pages++;
    for (let failures = 0; failures < 3; failures++) await backend.put({ content: user("anna") });
  }
  assertEquals(pages, 3);
  await assertRejects(() => listAll(backend, "user"), BackendListError, "did not answer recently");
});

Deno.test("guardBackend() records the fault of a later page of a listing", async () => {
  const { backend, health } = open({
    async *list() {
      yield await Promise.resolve([]);
      throw new BackendListError(away.ok ? localError("busy", "").fault : away.fault);
    },
  });
  await assertRejects(() => listAll(backend, "user"), BackendListError, "no route");
  assertEquals(health().lastFault?.detail, "no route");
});

Deno.test("guardBackend() ends the backend's listing when a reader stops early", async () => {
  let ended = false;
  const { backend } = open({
    async *list() {
      try {
        for (;;) yield await Promise.resolve([]);
      } finally {
        ended = true;
      }
    },
  });
  for await (const _page of backend.list("user")) break;
  assertEquals(ended, true);
});

Deno.test("guardBackend() does not treat a full connection limit as an answer of the backend", async () => {
  const answers: Answer[] = [
    away,
    away,
    { ok: false, fault: localError("busy", "no connection").fault },
    away,
  ];
  const { backend, health, log } = open({ remove: () => Promise.resolve(answers.shift() ?? away) });
  for (let n = 0; n < 4; n++) await backend.remove("user", "anna");
  const refused = await backend.remove("user", "anna");
  assert(!refused.ok && refused.fault.detail.includes("did not answer recently"));
  assertEquals([health().lastGoodMs, health().lastFault?.kind], [null, "unreachable"]);
  assertEquals(log.lines.length, 1);
});

// Read-only attributes of a backend on the wire: a real slapd and a SCIM server of another vendor.

const READ_ONLY = ["title", "emails[].value", "name.familyName"];
const mail = (address: string) => [{ value: address }];
const OWN = {
  title: "of the directory",
  emails: mail("own@example.org"),
  name: { familyName: "Own", givenName: "" },
};
const OURS = {
  title: "ours",
  emails: mail("ours@example.org"),
  name: { familyName: "Ours", givenName: "Anna" },
  displayName: "Anna L",
};

const attributesOf = async (backend: Backend) =>
  (await readContent(backend, { kind: "user", name: "anna" }))?.attributes ?? {};
const brief = ({ title, emails, name, displayName }: JsonObject) => ({
  title,
  mails: Array.isArray(emails) ? emails.map((one) => (one as JsonObject).value) : emails,
  name,
  displayName,
});

/** @param writer writes everything; `keeper` has three attributes that are read-only. */
async function keepsItsOwn(writer: Backend, keeper: Backend): Promise<void> {
  value(await writer.put({ content: { ...user("anna"), attributes: OWN } }));
  value(await keeper.put({ content: { ...user("anna"), attributes: OURS } }));
  const name = { familyName: "Own", givenName: "Anna" };
  const expected = { title: OWN.title, mails: ["own@example.org"], name, displayName: "Anna L" };
  assertEquals(brief(await attributesOf(keeper)), expected);
  // An attribute that is removed here stays there as well.
  const bare = { name: { familyName: "", givenName: "Anna" }, displayName: "Anna L" };
  value(await keeper.put({ content: { ...user("anna"), attributes: bare } }));
  assertEquals(brief(await attributesOf(keeper)), expected);
}

testNeeding({ peers: ["slapd"] }, "createLdapBackend() never writes read-only attributes", async () => {
  const slapd = await startSlapd();
  const open = (readOnly: readonly string[]) =>
    createLdapBackend({
      settings: ldapSettings(slapd, { readOnly }),
      mapping: createMapping({ user: {}, group: {} }),
      clock: systemClock,
      log: silentLog(),
    });
  const [writer, keeper] = [open([]), open(READ_ONLY)];
  try {
    await keepsItsOwn(writer, keeper);
    // A new entry has the attributes that its class requires, and no other read-only ones.
    value(await keeper.put({ content: { ...user("bert"), attributes: OURS } }));
    const made = (await readContent(keeper, { kind: "user", name: "bert" }))?.attributes ?? {};
    assertEquals(brief(made), {
      title: undefined,
      mails: undefined,
      name: { familyName: "", givenName: "Anna" },
      displayName: "Anna L",
    });
  } finally {
    await Promise.all([writer.close(), keeper.close()]);
    await slapd.dispose();
  }
});

Deno.test("createScimBackend() sends read-only attributes of the server back unchanged", async () => {
  const server = await startScimmy();
  const reach = { url: server.url, token: server.token };
  const [writer, keeper] = [
    openScim(scimSettings(reach)),
    openScim(scimSettings({ ...reach, readOnly: READ_ONLY })),
  ];
  try {
    await keepsItsOwn(writer.backend, keeper.backend);
    const before = server.requests.filter((line) => line.startsWith("PUT")).length;
    const same = { name: { familyName: "Else", givenName: "Anna" }, displayName: "Anna L", title: "else" };
    value(await keeper.backend.put({ content: { ...user("anna"), attributes: same } }));
    const after = server.requests.filter((line) => line.startsWith("PUT")).length;
    assertEquals(after, before, "a difference in nothing but what is kept is no reason to write");
    value(await keeper.backend.put({ content: { ...user("bert"), attributes: OURS } }));
    const bert = [...server.users.values()].find(({ userName }) => userName === "bert");
    assertEquals([bert?.title, bert?.displayName], [undefined, "Anna L"]);
  } finally {
    await Promise.all([writer.close(), keeper.close()]);
    await server.close();
  }
});

// The fake backend passes the same suite as the real ones.

testBackend("createMemoryBackend()", {
  register: (name, body) => Deno.test(name, body),
  open: () => {
    const backend = createMemoryBackend({ clock: systemClock });
    return Promise.resolve({ backend, storesUnknownMembers: true, dispose: () => backend.close() });
  },
});

testBackend("createMemoryBackend({ knownMembersOnly })", {
  register: (name, body) => Deno.test(name, body),
  open: () => {
    const backend = createMemoryBackend({ clock: systemClock, knownMembersOnly: true });
    return Promise.resolve({ backend, dispose: () => backend.close() });
  },
});

Deno.test("createMemoryBackend() fails as configured: before or after a call, a number of times, for one name", async () => {
  const backend = createMemoryBackend({ clock: systemClock });
  backend.trouble({ operation: "put", how: "before", times: 1 });
  backend.trouble({ operation: "put", name: "Zoe", how: "after", fault: { kind: "refused" } });
  assertEquals((await backend.put({ content: user("anna") })).ok, false);
  assertEquals(backend.users.size, 0);
  value(await backend.put({ content: user("anna") }));
  const unsure = await backend.put({ content: user("zoe") });
  assertEquals(unsure.ok ? null : [unsure.fault.kind, unsure.fault.unsure], ["refused", true]);
  assertEquals([...backend.users.keys()], ["anna", "zoe"]);
  backend.heal();
  value(await backend.put({ content: user("zoe") }));
  assertEquals(backend.calls.map(({ ok }) => ok), [false, true, false, true]);
});

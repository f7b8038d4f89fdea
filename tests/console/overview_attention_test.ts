// What the Overview page lists as problems: which sources, in which order, and where each links to.

import { assertEquals } from "@std/assert";
import type { OverviewCounts } from "../../console/api/overview/overview_types.ts";
import type { HealthPart } from "../../console/api/targets/target_types.ts";
import {
  type AttentionItem,
  attentionItems,
  type AttentionSources,
  inShownOrder,
} from "../../console/web/pages/overview/attention_panel.tsx";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";

// Group: english
activateCatalogue("en", en);

const COUNTS: OverviewCounts = {
  nowMs: 0,
  isShared: false,
  pending: { count: 0, isEmbedded: true },
  locked: { count: 0, isCut: false, names: [] },
  sync: { count: 0, items: [] },
  manualSessions: [],
  criticalAlerts: 0,
};
const NOTHING: AttentionSources = { counts: COUNTS, parts: [], clients: [], firstSteps: [], from: "" };
const part = (change: Partial<HealthPart>): HealthPart => ({
  ...{
    id: "x",
    kind: "store",
    name: "",
    state: "ok",
    lastGoodMs: null,
    figure: null,
    detail: "",
    testable: false,
  },
  ...change,
});
const client = (rejected: number, total: number) => [{
  ...{ client: "vpn", total, rejected, accepted: total - rejected, p50Ms: null, p95Ms: null },
}];
const locked = (...names: string[]) => ({
  counts: { ...COUNTS, locked: { count: names.length, isCut: false, names } },
});
const radius = { port: 1812, tryCommand: "deno task try 127.0.0.1" };
const step = (name: "client" | "login", state: "open" | "done" | "skipped") => ({
  name,
  state,
  radius,
  user: null,
  nasIdentifier: "",
  isPasswordUnchecked: true,
});

const ROWS: readonly (readonly [string, Partial<AttentionSources>, readonly Partial<AttentionItem>[]])[] = [
  ["nothing", {}, []],
  ["no counts yet", { counts: null }, []],
  ["critical alerts", { counts: { ...COUNTS, criticalAlerts: 2 } }, [{
    tone: "bad",
    text: "2 critical alerts are open.",
    href: "/alerts",
    action: "Alerts",
  }]],
  ["a part that is well, or not tested yet", { parts: [part({}), part({ state: "unknown" })] }, []],
  ["a store that is silent", { parts: [part({ state: "bad" })] }, [{
    tone: "bad",
    text: "The data store does not respond.",
    href: "/settings/system#store.kv",
  }]],
  ["a slow store", { parts: [part({ state: "warning", figure: 300 })] }, [{
    tone: "wait",
    text: "The data store is slow: 300 ms for one read.",
  }]],
  ["a certificate that expires", {
    parts: [part({ kind: "certificate", state: "warning", figure: 1 })],
  }, [{ text: "The TLS certificate expires in 1 day." }]],
  ["a certificate that has expired", {
    parts: [part({ kind: "certificate", state: "bad", figure: -1 })],
  }, [{ tone: "bad", text: "The TLS certificate has expired." }]],
  ["texts that are not sent", {
    parts: [part({ kind: "telephony", state: "warning", note: "not_sent" })],
  }, [{ text: "SMS and calls are captured, not sent: no telephony service is configured." }]],
  ["an unsigned client", { parts: [part({ kind: "unsigned", state: "warning", name: "a/b" })] }, [{
    href: "/clients/a%2Fb",
    action: "Open client",
  }]],
  ["a connector of the system status, which is a sync problem", {
    parts: [part({ kind: "backend", state: "bad" }), part({ kind: "outbox", state: "warning" })],
  }, []],
  ["a connector that fails", {
    counts: {
      ...COUNTS,
      sync: { count: 1, items: [{ target: "hq", backend: "ldap", failedWrites: 0, detail: "refused" }] },
    },
  }, [{ tone: "bad", text: "Connector ldap of hq fails: refused", href: "/targets/hq" }]],
  ["failed writes", {
    counts: {
      ...COUNTS,
      sync: { count: 1, items: [{ target: "hq", backend: "crm", failedWrites: 2, detail: "" }] },
    },
  }, [{ text: "2 failed writes at connector crm of hq." }]],
  ["one locked user", locked("ada"), [{ text: "1 user is locked: ada", href: "/users/ada" }]],
  ["two locked users", locked("ada", "bob"), [{
    text: "2 users are locked: ada, bob",
    href: "/users?status=locked",
  }]],
  ["too few sign-ins for a rate", { clients: client(9, 9) }, []],
  ["a low rate", { clients: client(2, 10) }, []],
  ["a high rate", { clients: client(3, 10), from: "2026-01-01T00:00:00.000Z" }, [{
    text: "vpn: 3 of 10 sign-ins were rejected in 24 hours.",
    href: "/history?client=vpn&outcome=rejected&from=2026-01-01T00%3A00%3A00.000Z",
  }]],
  ["steps of the setup", {
    firstSteps: [step("client", "done"), step("login", "open"), step("client", "skipped")],
  }, [{ tone: "idle", text: "Setup: test a sign-in.", href: "/live?step=login" }]],
];

for (const [name, sources, expected] of ROWS) {
  Deno.test(`attentionItems(): ${name}`, () => {
    const items = attentionItems({ ...NOTHING, ...sources });
    assertEquals(items.length, expected.length);
    for (const [at, item] of expected.entries()) assertEquals({ ...items[at], ...item }, items[at]);
  });
}

Deno.test("attentionItems() lists failures before warnings, and the setup last", () => {
  const items = attentionItems({
    ...NOTHING,
    ...locked("ada"),
    firstSteps: [step("client", "open")],
    parts: [part({ id: "a", state: "warning" }), part({ id: "b", state: "bad" })],
  });
  assertEquals(items.map(({ tone }) => tone), ["bad", "wait", "wait", "idle"]);
});

Deno.test("inShownOrder() adds new items after those that were shown, whatever their urgency", () => {
  const items = ["new and urgent", "b", "new", "a"].map((id) => ({ id }) as AttentionItem);
  const order = (shown: readonly string[]) => inShownOrder(items, shown).map(({ id }) => id);
  assertEquals(order([]), ["new and urgent", "b", "new", "a"]);
  assertEquals(order(["a", "gone", "b"]), ["a", "b", "new and urgent", "new"]);
});

// docs/alerts.md: its kinds are those of the product, and its example of a webhook is what the gateway sends.

import { assert, assertEquals } from "@std/assert";
import { ALERT_KINDS, RECEIVER_DEFAULTS } from "../../../platform/alerts/alert_kinds.ts";
import { renderWebhook } from "../../../platform/alerts/alert_texts.ts";
import { signWebhook } from "../../../platform/log_export/webhook_sender.ts";
import { configOf } from "../config/samples.ts";

const PAGE = await Deno.readTextFile(new URL("../../../docs/alerts.md", import.meta.url));

/** The code of a fenced block, by its language. */
function blockOf(language: string): string {
  const [, code] = PAGE.match(new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``)) ?? [];
  if (code === undefined) throw new Error(`docs/alerts.md has no block of ${language}`);
  return code;
}

const BODY = JSON.stringify(JSON.parse(blockOf("json")));
const HEADERS = new Headers(
  [...blockOf("http").matchAll(/^(webhook-\w+): (.*)$/gm)].map((
    [, name = "", value = ""],
  ): [string, string] => [name, value]),
);
const headerOf = (name: string) => HEADERS.get(name) ?? "";
const [SECRET = ""] = PAGE.match(/whsec_[\w+/=]+/) ?? [];
const SENT_MS = Number(headerOf("webhook-timestamp")) * 1000;

Deno.test("docs/alerts.md lists each kind with its severity", () => {
  const rows = [...PAGE.matchAll(/^\| `(\w+)`\s+\| (warning|critical)/gm)].map(([, kind, severity]) => [
    kind,
    severity,
  ]);
  assertEquals(rows, Object.entries(ALERT_KINDS).map(([kind, { severity }]) => [kind, severity]));
});

Deno.test("docs/alerts.md shows the body that the gateway sends for its example", () => {
  const { data, node, link } = JSON.parse(BODY);
  const { openedAt, lastAt, endedAt, ...alert } = data;
  const lastMs = Date.parse(lastAt);
  const known = { ...alert, openedMs: Date.parse(openedAt), lastMs, endedMs: endedAt };
  const pending = { message: "opened", severity: alert.severity, budget: alert.kind, count: 0 } as const;
  const times = { queuedMs: lastMs, attempts: 0, nextMs: lastMs };
  const rendered = renderWebhook(
    { publicUrl: () => new URL(link).origin, nodeName: node, nowMs: () => SENT_MS },
    { settings: { ...RECEIVER_DEFAULTS, kind: "webhook" } },
    {
      id: alert.id,
      pending: { ...pending, ...times },
      alert: { ...known, notifiedMs: lastMs, notifiedCount: 1 },
    },
  );
  assertEquals(rendered, { id: headerOf("webhook-id"), body: BODY });
});

Deno.test("docs/alerts.md shows the defaults of the settings", () => {
  assertEquals(configOf(blockOf("toml")).alerts, configOf("").alerts);
});

Deno.test("docs/alerts.md shows the signature that the gateway sends with its example", () => {
  const signed = signWebhook({ id: headerOf("webhook-id"), body: BODY }, { secret: SECRET, nowMs: SENT_MS });
  assertEquals(signed, Object.fromEntries(HEADERS));
});

Deno.test("docs/alerts.md verifies its example, and refuses another body, an old request and another secret", async () => {
  const code = new TextEncoder().encode(`import { Buffer } from "node:buffer";\n${blockOf("ts")}`);
  const { isAuthentic } = await import(`data:application/typescript;base64,${code.toBase64()}`);
  assert(isAuthentic(SECRET, HEADERS, BODY, SENT_MS));
  assertEquals(isAuthentic(SECRET, HEADERS, `${BODY} `, SENT_MS), false);
  assertEquals(isAuthentic(SECRET, HEADERS, BODY, SENT_MS + 301_000), false);
  const other = `whsec_${new Uint8Array(32).toBase64()}`;
  assertEquals(isAuthentic(other, HEADERS, BODY, SENT_MS), false);
});

// The sentences of alerts on their page, and where each leads to.

import { assertEquals } from "@std/assert";
import type { AlertRow } from "../../console/api/alerts/alert_types.ts";
import { ALERT_KIND_NAMES, ALERT_KINDS } from "../../platform/alerts/alert_kinds.ts";
import { alertLink, alertSentence } from "../../console/web/pages/alerts/alert_labels.ts";
import en from "../../console/web/i18n/en.json" with { type: "json" };
import { activateCatalogue } from "../../console/web/i18n/translate.ts";

// Group: english
activateCatalogue("en", en);

const NOW_MS = Date.UTC(2026, 10, 24);
const DAY_MS_OF_TEST = 86_400_000;
const LATER = { untilMs: NOW_MS + DAY_MS_OF_TEST };
type Given = Pick<AlertRow, "kind" | "values"> & Partial<AlertRow>;
const alertOf = (given: Given): AlertRow => ({
  ...{ id: "1", severity: "warning", about: "", count: 1, openedMs: 0, lastMs: 0, endedMs: null },
  ...{ deliveries: [], acknowledged: null },
  ...given,
});

/** The alert, the beginning of its sentence, and its page. */
const ROWS: readonly (readonly [given: Given, says: string, href: string])[] = [
  [
    { kind: "user_locked", about: "user:ada/x", values: { user: "ada/x" } },
    "ada/x is locked",
    "/users/ada%2Fx",
  ],
  [
    { kind: "user_locked", count: 120, values: { users: ["ada", "bob"] } },
    "User locked, 120 times: ada, bob",
    "/users?status=locked",
  ],
  [
    // The first user beyond the limit of single alerts.
    { kind: "fraud_reported", values: { users: ["ada"] } },
    "Sign-in reported as fraud, 1 time: ada",
    "/audit?action=user.not_me",
  ],
  [
    { kind: "fraud_reported", count: 3, values: { users: ["ada", "bob"] } },
    "Sign-in reported as fraud, 3 times: ada, bob",
    "/audit?action=user.not_me",
  ],
  [
    { kind: "disconnect_manually", about: "user:ada", values: { user: "ada", nas: "n1" } },
    "The VPN session of ada is still open: NAS n1, session –.",
    "/users/ada",
  ],
  [
    { kind: "rejection_spike", values: { inTenMinutes: 84, average: 3.2 } },
    "84 rejected sign-ins in ten minutes. Usually 3.",
    "/history?outcome=rejected",
  ],
  [
    { kind: "rejection_spike", values: { inTenMinutes: 84, average: null } },
    "84 rejected sign-ins in ten minutes.",
    "/history?outcome=rejected",
  ],
  [
    { kind: "backend_failing", about: "backend:a b/ldap", values: { name: "a b / ldap" } },
    "The connector a b / ldap does not work.",
    "/targets/a%20b",
  ],
  [
    { kind: "changes_undelivered", about: "outbox:default/crm", values: { name: "default", changes: 1 } },
    "1 change could not be written to default.",
    "/targets/default",
  ],
  [
    { kind: "service_failing", about: "log_export:siem", values: { of: "log_export", name: "siem" } },
    "A service fails: log export siem.",
    "/log-export",
  ],
  [
    { kind: "service_failing", about: "store", values: { of: "store", name: "" } },
    "A service fails: data store.",
    "/health",
  ],
  [
    { kind: "service_failing", about: "x", values: { of: "of_a_newer_version", name: "" } },
    "A service fails: of_a_newer_version.",
    "/health",
  ],
  [{ kind: "node_down", about: "node:b", values: { name: "b" } }, "The node b does not answer.", "/nodes"],
  [
    { kind: "certificate_expiring", about: "certificate:http", values: { of: "http", name: "", ...LATER } },
    "The certificate of console expires: ",
    "/health",
  ],
  [
    {
      ...{ kind: "certificate_expiring", about: "certificate:default/ldap" },
      values: { of: "directory_authority", name: "default / ldap", untilMs: NOW_MS },
    },
    "The certificate of default / ldap (directory) has expired: ",
    "/targets/default",
  ],
  [
    {
      kind: "certificate_expiring",
      about: "certificate:log-export:siem",
      values: { name: "siem", ...LATER },
    },
    "The certificate of siem",
    "/log-export",
  ],
  [
    { kind: "credential_expiring", about: "token:1", values: { of: "token", name: "ci", ...LATER } },
    "ci (API token) expires: ",
    "/access#tokens",
  ],
  [
    { kind: "credential_expiring", about: "connection:okta", values: { of: "scim", name: "okta", ...LATER } },
    "okta (secret of the identity provider) expires: ",
    "/connections/okta",
  ],
];

for (const [given, says, href] of ROWS) {
  Deno.test(`an alert ${given.kind} ${JSON.stringify(given.values)} says "${says}" and leads to ${href}`, () => {
    const alert = alertOf(given);
    assertEquals(alertSentence(alert, NOW_MS).slice(0, says.length), says);
    assertEquals(alertLink(alert).href, href);
  });
}

Deno.test("each kind of alert has a sentence, also without values, and a next step", () => {
  for (const kind of ALERT_KIND_NAMES) {
    const alert = alertOf({ kind, severity: ALERT_KINDS[kind].severity, values: {} });
    assertEquals(/\{|alerts\./.test(alertSentence(alert, NOW_MS)), false, kind);
    assertEquals(`alerts.next_${kind}` in en, true, kind);
  }
});

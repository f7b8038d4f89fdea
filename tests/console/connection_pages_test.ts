// The pages of identity providers: the state of a connection and of its secrets, and the request of the settings form.

import type { FieldsDraft } from "../../console/web/components/fields_dialog.tsx";
import { assertEquals } from "@std/assert";
import type { ConnectionRow, ConnectionSecretRow } from "../../console/api/connections/connection_types.ts";
import {
  toConnectionChange,
  toConnectionDraft,
} from "../../console/web/pages/connections/connection_settings.tsx";
import { connectionState, secretState } from "../../console/web/pages/connections/connection_calls.ts";
import { DEFAULT_CONNECTION } from "../../scim/v2/connections/connection_settings.ts";

const DAY_MS = 86_400_000;
const SETTINGS = { name: "okta", kind: "okta", target: "default", ...DEFAULT_CONNECTION } as const;

function row(change: Partial<ConnectionRow> = {}, settings: Partial<ConnectionRow["settings"]> = {}) {
  const lastRequest = {} as NonNullable<ConnectionRow["lastRequest"]>;
  return {
    lacksTarget: false,
    lastRequest,
    ...change,
    settings: { ...SETTINGS, ...settings },
  } as ConnectionRow;
}

for (
  const [what, given, label] of [
    ["a used connection", row(), "common.active"],
    ["a connection without a request", row({ lastRequest: null }), "connections.state_unused"],
    [
      "a dry run without a request",
      row({ lastRequest: null }, { dryRun: true }),
      "connections.state_dry_run",
    ],
    ["a paused dry run", row({}, { paused: true, dryRun: true }), "common.paused"],
    [
      "a directory that is gone",
      row({ lacksTarget: true }, { paused: true }),
      "connections.state_lacks_target",
    ],
  ] as const
) {
  Deno.test(`connectionState() shows ${what}`, () => {
    assertEquals(connectionState(given).label, label);
  });
}

const secret = (expiresMs: number | null) => ({ expiresMs }) as ConnectionSecretRow;

for (
  const [what, secrets, label, tone] of [
    ["no secret", [], "secrets_invalid", "bad"],
    ["expired secrets", [secret(0), secret(-5)], "secrets_invalid", "bad"],
    ["a secret without an end", [secret(null)], "secrets_valid", "ok"],
    ["a secret that ends in 13 days", [secret(13 * DAY_MS)], "secrets_soon", "wait"],
    ["an overlap: the newest secret counts", [secret(DAY_MS), secret(400 * DAY_MS)], "secrets_valid", "ok"],
  ] as const
) {
  Deno.test(`secretState() shows ${what}`, () => {
    const state = secretState(secrets, 1);
    assertEquals([state.label, state.tone], [`connections.${label}`, tone]);
  });
}

Deno.test("toConnectionChange() sends the changed settings only, with numbers and without blanks", () => {
  const base = toConnectionDraft({ settings: SETTINGS });
  assertEquals(toConnectionChange(base, base), {});
  const mine: FieldsDraft = { ...base, requestsPerMinute: "60", meUser: " ada ", softDelete: true };
  assertEquals(toConnectionChange(base, mine), { requestsPerMinute: 60, meUser: "ada", softDelete: true });
});

Deno.test("toConnectionChange() clears the user of /Me", () => {
  const base = toConnectionDraft({ settings: { ...SETTINGS, meUser: "ada" } });
  assertEquals(toConnectionChange(base, { ...base, meUser: "" }), { meUser: null });
});

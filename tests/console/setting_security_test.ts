// Which changes of settings need a recent factor of the administrator.

import { assertEquals } from "@std/assert";
import { ALL_SETTINGS } from "../../platform/config/list_settings.ts";
import { RECENT_FACTOR_MS } from "../../console/api/auth/permissions.ts";
import { LiveSettings } from "../../platform/config/live_settings.ts";
import { createLog } from "../../platform/log.ts";
import { createSystemRandom } from "../../platform/runtime.ts";
import { createVault } from "../../platform/vault.ts";
import { settingsFileOf } from "../platform/config/samples.ts";
import { createManualClock } from "../fakes/console_app.ts";
import { apiCaller, codeOf } from "../fakes/console_caller.ts";
import { startPeopleConsole } from "../fakes/console_people.ts";

const SETTINGS = "/console/api/settings";

/** They protect nothing. Every other setting that the console can change needs a recent factor. */
const HARMLESS = [
  "server.log_format",
  "server.log_level",
  "radius.conversation_ttl_s",
  "radius.login_join_window_s",
  "factors.terminal_name",
  "factors.requester_name",
  "factors.device.continue_wait_ms",
  "second_factor.timeout_ms",
  "push.enabled",
  "push.contact",
  "telephony.from",
  "telephony.connections_per_route",
  "telephony.connections_total",
  "telephony.timeout_ms",
  "mail.language",
  "mail.per_minute",
  "mail.timeout_ms",
  "enrolment.reminder_days",
  "enrolment.per_minute",
];

Deno.test("PUT /settings needs a recent factor for each setting that is not harmless", async () => {
  const clock = createManualClock();
  await using site = await startPeopleConsole({ clock });
  const cookie = await site.signIn("owner");
  clock.advance(RECENT_FACTOR_MS + 1000);
  const open: string[] = [];
  for (const [key, { editable }] of ALL_SETTINGS) {
    if (editable === false) continue;
    const json = { version: "0", changes: { [key]: null } };
    const answer = await site.call(SETTINGS, { method: "PUT", cookie, json });
    if (answer.status === 200) open.push(key);
    else assertEquals([key, await codeOf(answer)], [key, "step_up"]);
  }
  assertEquals(open, HARMLESS);
});

Deno.test("PUT /settings accepts a security setting with a recent factor, and its undo needs one again", async () => {
  const clock = createManualClock();
  await using site = await startPeopleConsole({ clock });
  const cookie = await site.signIn("owner");
  const changes = { "factors.phone_numbers": "any" };
  const { auditId } = await apiCaller(site, cookie)<{ auditId: string }>(SETTINGS, {
    method: "PUT",
    json: { version: "0", changes },
  });
  clock.advance(RECENT_FACTOR_MS + 1000);
  const late = await site.call(`${SETTINGS}/undo`, { method: "POST", cookie, json: { auditId } });
  assertEquals(await codeOf(late), "step_up");
});

Deno.test("POST /settings/undo of a change of a directory needs a recent factor", async () => {
  const clock = createManualClock();
  await using site = await startPeopleConsole({ clock });
  const vault = createVault(new Uint8Array(32), createSystemRandom());
  const log = createLog({ format: "text", level: "error", clock, write: () => undefined });
  const settings = new LiveSettings({ file: settingsFileOf(""), store: site.store, vault, clock, log });
  const saved = await settings.targets.put("corp", { page_size: 7 }, { actor: "owner", version: 0 });
  const auditId = saved.ok ? saved.auditId : null;
  const cookie = await site.signIn("owner");
  clock.advance(RECENT_FACTOR_MS + 1000);
  const late = await site.call(`${SETTINGS}/undo`, { method: "POST", cookie, json: { auditId } });
  assertEquals(await codeOf(late), "step_up");
});

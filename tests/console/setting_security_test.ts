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
  "factors.device.continue_wait_ms",
  "second_factor.timeout_ms",
  "push.enabled",
  "telephony.connections_per_route",
  "telephony.connections_total",
  "telephony.timeout_ms",
  "mail.language",
  "mail.timeout_ms",
  "enrolment.reminder_days",
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

/** Routes that send a message to an address, with a body. */
const TESTS: readonly (readonly [path: string, json: unknown])[] = [
  ["/mail/test", { to: "grace@example.org" }],
  ["/settings/test/mail", { changes: {}, to: "grace@example.org" }],
  ["/settings/test/telephony", { changes: {}, to: "+14155550123" }],
  ["/alerts/receivers/any/test", {}],
  ["/log-export/any/test", {}],
];
for (const [path, json] of TESTS) {
  Deno.test(`POST ${path} needs a recent factor, and is limited to five tests a minute of an administrator`, async () => {
    const clock = createManualClock();
    await using site = await startPeopleConsole({ clock });
    const cookie = await site.signIn("owner");
    const send = (as: string, to: readonly [string, unknown] = [path, json]) =>
      site.call(`/console/api${to[0]}`, { method: "POST", cookie: as, json: to[1] });
    clock.advance(RECENT_FACTOR_MS + 1000);
    assertEquals(await codeOf(await send(cookie)), "step_up");
    const recent = await site.signIn("owner");
    // All routes count together.
    for (const each of TESTS) {
      assertEquals(await codeOf(await send(recent, each)) === "too_many_tests", false);
    }
    const refused = await send(recent);
    assertEquals([refused.status, refused.headers.get("retry-after")], [429, "60"]);
    assertEquals(await codeOf(refused), "too_many_tests");
    clock.advance(61_000);
    assertEquals(await codeOf(await send(recent)) === "too_many_tests", false);
  });
}

Deno.test("POST /settings/test/telephony reads a number as people write it, and refuses another text", async () => {
  await using site = await startPeopleConsole();
  const cookie = await site.signIn("owner");
  const codes: string[] = [];
  for (const to of ["+14155550123", "\u202a00 1 (415) 555\u20110123\u202c", "call me", ""]) {
    const json = { changes: {}, to };
    codes.push(
      await codeOf(await site.call(`${SETTINGS}/test/telephony`, { method: "POST", cookie, json })),
    );
  }
  assertEquals(codes[1], codes[0]);
  assertEquals(codes[2] !== codes[0] && codes[2] === codes[3], true, codes.join());
});

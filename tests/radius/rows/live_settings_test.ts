// Settings that an administrator changes on a running gateway: what the next packet, call or message shows. One row for each setting of
// the gateway; tests/console/live_console_settings_test.ts has those of the console.

import { assertEquals } from "@std/assert";
import { ALL_SETTINGS } from "../../../platform/config/list_settings.ts";
import { saveSettings, startInProcess } from "./in_process.ts";
import { FACTOR_ROWS } from "./live_factor_rows.ts";
import { GATEWAY_ROWS } from "./live_gateway_rows.ts";
import { SERVICE_ROWS } from "./live_service_rows.ts";
import { closeOthers } from "./live_settings.ts";
import { stepName } from "./login.ts";
import { decide, give, giveDevice, passcodeSentTo } from "./people.ts";

const MENU = "CHOOSE_WHICH_MULTIFACTOR";
const ROWS = { ...GATEWAY_ROWS, ...FACTOR_ROWS, ...SERVICE_ROWS };

for (const [key, { change, observe, before, after, options = {}, prepare }] of Object.entries(ROWS)) {
  Deno.test(`${key}: a change takes effect on the next packet`, async () => {
    await using world = await startInProcess({ ...options, stored: true });
    try {
      await prepare?.(world);
      assertEquals(await observe(world), before, "before");
      await saveSettings(world.settings, typeof change === "function" ? await change(world) : change);
      assertEquals(await observe(world), after, "after");
    } finally {
      await closeOthers(world);
    }
  });
}

/** Tested elsewhere, because their effect is not in a packet. */
const ELSEWHERE = [
  /^http\./,
  // tests/console/mail_test.ts
  /^mail\./,
  /^console\./,
  // tests/console/enrolment/reminders_test.ts
  /^enrolment\.(?!help_text$)/,
  // tests/platform/alerts/alerts_test.ts and alert_rules_test.ts
  /^alerts\./,
  // tests/console/help_desk_test.ts
  /^help_desk\./,
  // tests/upstream/embedded/push/push_settings_test.ts
  /^push\./,
  // tests/console/live_settings_test.ts and target_settings_test.ts
  /^radius\.(directory|first_factor_backend)$/,
  // A client is opened again with all settings of its service: tests/upstream/switch_services_test.ts
  /^second_factor\.timeout_ms$/,
  /^telephony\.(timeout_ms|connections_per_route|connections_total)$/,
];

Deno.test("each setting of the gateway that the console can change has a row", () => {
  const editable = [...ALL_SETTINGS].flatMap(([key, { editable }]) => editable === false ? [] : [key]);
  const expected = editable.filter((key) => !ELSEWHERE.some((pattern) => pattern.test(key)));
  assertEquals(Object.keys(ROWS).toSorted(), expected.toSorted());
});

/** Factors of a user, the settings after the first packet, and the step after the right answer. */
const DISABLED_MEANWHILE: readonly {
  readonly factor: "sms" | "voice" | "device";
  readonly enabled: readonly string[];
  readonly step: string;
}[] = [
  { factor: "sms", enabled: ["totp"], step: MENU },
  { factor: "voice", enabled: ["sms"], step: MENU },
  { factor: "device", enabled: ["sms"], step: MENU },
  { factor: "sms", enabled: ["sms"], step: "accept" },
  { factor: "device", enabled: ["device", "totp"], step: "accept" },
];

for (const { factor, enabled, step } of DISABLED_MEANWHILE) {
  Deno.test(`factors.enabled: ${enabled.join()} while a login waits for ${factor}: ${step}`, async () => {
    await using world = await startInProcess({ stored: true });
    const number = "+4915112345678";
    const device = factor === "device" ? await giveDevice(world, "anna") : null;
    if (factor === "sms" || factor === "voice") await give(world, "anna", { kind: factor, number });
    const login = await world.begin({ user: "anna" });
    if (device !== null) decide(world, device, true);
    await saveSettings(world.settings, { "factors.enabled": [...enabled] });
    const answer = await login.answer(device === null ? passcodeSentTo(world, number) : "");
    assertEquals(answer.kind === "challenge" ? stepName(answer) : answer.kind, step);
  });
}

// Settings of factors, limits and lockout. Each row: a change, and what is observed before and after it.

import { saveSettings } from "./in_process.ts";
import {
  countOf,
  failOnce,
  fresh,
  gatewayWithTotp,
  type LiveSettingRow,
  NUMBER,
  OTHER,
  pairDevice,
  pairSms,
  pairTotp,
  pairVoice,
  pushes,
  sentText,
  texts,
  textsToTypedNumber,
} from "./live_settings.ts";
import { markInvited } from "./invited.ts";
import { jump } from "./passing_time.ts";
import { give, passcodeSentTo } from "./people.ts";
import { pairPhone } from "./phone.ts";

export const FACTOR_ROWS: Readonly<Record<string, LiveSettingRow>> = {
  "enrolment.help_text": {
    prepare: (world) => markInvited(world, "anna", 0),
    change: { "enrolment.help_text": "Call 5555." },
    observe: async (world) => (await world.login({ user: "anna" }).start()).message.endsWith("Call 5555."),
    before: false,
    after: true,
  },
  "factors.enabled": {
    change: { "factors.enabled": ["sms"] },
    observe: async (world) => (await world.login({ user: "anna" }).start("")).message.includes("P - "),
    before: true,
    after: false,
  },
  "factors.terminal_name": {
    prepare: pairSms,
    change: { "factors.terminal_name": "Gate" },
    observe: async (world) => (await sentText(world)).includes("Gate"),
    before: false,
    after: true,
  },
  "factors.requester_name": {
    prepare: pairSms,
    change: { "factors.requester_name": "Example Inc" },
    observe: async (world) => (await sentText(world)).endsWith("Example Inc"),
    before: false,
    after: true,
  },
  "factors.phone_numbers": {
    change: { "factors.phone_numbers": "any" },
    observe: textsToTypedNumber,
    before: 0,
    after: 1,
  },
  "factors.enrol_at_login": {
    change: { "factors.enrol_at_login": "always" },
    observe: async (world) => {
      const login = await world.begin({ user: "anna" }, "");
      return (await login.answer("S")).step !== "CHOOSE_WHICH_MULTIFACTOR";
    },
    before: false,
    after: true,
  },
  "factors.country_codes": {
    prepare: (world) => give(world, "anna", { kind: "sms", number: OTHER }),
    change: { "factors.country_codes": ["49"] },
    observe: texts,
    before: 3,
    after: 0,
  },
  "factors.device.continue_wait_ms": {
    prepare: pairDevice,
    change: { "factors.device.continue_wait_ms": 5000 },
    observe: async (world) => {
      const login = await world.begin({ user: "anna" });
      return (await login.answer("")).tookMs >= 5000;
    },
    before: false,
    after: true,
  },
  "factors.device.number_matching": {
    options: { embedded: true },
    prepare: (world) => pairPhone(world, "anna"),
    change: { "factors.device.number_matching": false },
    observe: async (world) => /number \d\d/.test((await world.login({ user: "anna" }).start()).message),
    before: true,
    after: false,
  },
  "factors.passcode.sms_digits": {
    prepare: pairSms,
    change: { "factors.passcode.sms_digits": 8 },
    observe: async (world) => {
      await world.login({ user: "anna" }).start();
      return passcodeSentTo(world, NUMBER).length;
    },
    before: 6,
    after: 8,
  },
  "factors.passcode.voice_digits": {
    prepare: pairVoice,
    change: { "factors.passcode.voice_digits": 7 },
    observe: async (world) => {
      await world.login({ user: "anna" }).start();
      return passcodeSentTo(world, NUMBER).length;
    },
    before: 4,
    after: 7,
  },
  "factors.passcode.lifetime_s": {
    prepare: pairSms,
    change: { "factors.passcode.lifetime_s": 60 },
    observe: async (world) => {
      const login = await world.begin({ user: "anna" });
      await jump(world.clock, 90_000);
      return (await login.answer(passcodeSentTo(world, NUMBER))).kind;
    },
    before: "accept",
    after: "reject",
  },
  "factors.pushes.per_user": {
    prepare: pairDevice,
    change: { "factors.pushes.per_user": 1 },
    observe: async (world) => [await fresh(world), await pushes(world)][1],
    before: 3,
    after: 1,
  },
  "factors.pushes.window_s": {
    prepare: async (world) => {
      await pairDevice(world);
      await saveSettings(world.settings, { "factors.pushes.per_user": 1 });
      await world.login({ user: "anna" }).start();
    },
    change: { "factors.pushes.window_s": 60 },
    observe: async (world) => {
      await jump(world.clock, 120_000);
      return await countOf(world, 1, () => world.secondFactor.initiated().length);
    },
    before: 0,
    after: 1,
  },
  "factors.sends.per_user": {
    prepare: pairSms,
    change: { "factors.sends.per_user": 1 },
    observe: async (world) => [await fresh(world), await texts(world)][1],
    before: 3,
    after: 1,
  },
  "factors.sends.per_number": {
    prepare: pairSms,
    change: { "factors.sends.per_number": 2 },
    observe: async (world) => [await fresh(world), await texts(world)][1],
    before: 3,
    after: 2,
  },
  "factors.sends.window_s": {
    prepare: async (world) => {
      await pairSms(world);
      await saveSettings(world.settings, { "factors.sends.per_user": 1 });
      await world.login({ user: "anna" }).start();
    },
    change: { "factors.sends.window_s": 60 },
    observe: async (world) => {
      await jump(world.clock, 120_000);
      return await countOf(world, 1, () => world.telephony.requests.length);
    },
    before: 0,
    after: 1,
  },
  "factors.sends.total_per_hour": {
    prepare: pairSms,
    change: { "factors.sends.total_per_hour": 1 },
    observe: async (world) => [await fresh(world), await texts(world)][1],
    before: 3,
    after: 1,
  },
  "factors.sends.per_client_per_hour": {
    prepare: pairSms,
    change: { "factors.sends.per_client_per_hour": 2 },
    observe: async (world) => [await fresh(world), await texts(world)][1],
    before: 3,
    after: 2,
  },
  "factors.lockout.failures": {
    ...gatewayWithTotp,
    change: { "factors.lockout.failures": 1 },
    observe: async (world) => {
      await failOnce(world);
      return world.radius.limits.isLocked("anna");
    },
    before: false,
    after: true,
  },
  "factors.lockout.minutes": {
    prepare: async (world) => {
      await pairTotp(world);
      await saveSettings(world.settings, { "factors.lockout.failures": 1 });
    },
    change: { "factors.lockout.minutes": 600 },
    observe: async (world) => {
      await failOnce(world);
      await jump(world.clock, 3600_000);
      return world.radius.limits.isLocked("anna");
    },
    before: false,
    after: true,
  },
  "factors.lockout.hard_limit": {
    ...gatewayWithTotp,
    change: { "factors.lockout.hard_limit": 1, "factors.lockout.failures": 1 },
    observe: async (world) => {
      await failOnce(world);
      await jump(world.clock, 48 * 3600_000);
      return world.radius.limits.isLocked("anna");
    },
    before: false,
    after: true,
  },
  "factors.lockout.warn_failures_per_hour": {
    ...gatewayWithTotp,
    change: { "factors.lockout.warn_failures_per_hour": 1 },
    observe: async (world) => {
      await failOnce(world);
      return world.radius.limits.alarms().map(({ kind }) => kind).join();
    },
    before: "",
    after: "failures",
  },
  "factors.lockout.warn_locks_per_hour": {
    ...gatewayWithTotp,
    change: { "factors.lockout.warn_locks_per_hour": 1, "factors.lockout.failures": 1 },
    observe: async (world) => {
      await failOnce(world);
      await jump(world.clock, 20 * 60_000);
      await failOnce(world);
      return world.radius.limits.alarms().some(({ kind }) => kind === "locks");
    },
    before: false,
    after: true,
  },
};

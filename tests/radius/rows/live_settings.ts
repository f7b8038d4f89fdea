// The rows of live_settings_test.ts: their type, and what they observe.

import { type SettingChanges } from "../../../platform/config/setting_writer.ts";
import { startFakeSecondFactor } from "../../fakes/second_factor_server.ts";
import { startFakeTelephony } from "../../fakes/telephony_server.ts";
import { type FirstFactorServer, startFirstFactorServer } from "./first_factor_server.ts";
import { type InProcess, type InProcessOptions, saveSettings } from "./in_process.ts";
import { jump } from "./passing_time.ts";
import { give, giveDevice, SEED } from "./people.ts";

export const NUMBER = "+4915112345678";
export const OTHER = "+33612345678";
export const LONG = "another secret of tests";

export interface LiveSettingRow {
  /** The change whose effect is observed. */
  readonly change: SettingChanges | ((world: InProcess) => SettingChanges | Promise<SettingChanges>);
  readonly observe: (world: InProcess) => Promise<unknown>;
  /** What is observed before and after the change. */
  readonly before: unknown;
  readonly after: unknown;
  readonly options?: InProcessOptions;
  readonly prepare?: (world: InProcess) => Promise<unknown>;
}

export const kindOf = async (world: InProcess, user = "anna", password = "open sesame") =>
  (await world.login({ user }).start(password)).kind;
export const stepOf = async (world: InProcess, user = "anna", password = "open sesame") =>
  (await world.login({ user }).start(password)).step.split(".")[0];
export const pairDevice = (world: InProcess) => giveDevice(world, "anna");
export const pairSms = (world: InProcess) => give(world, "anna", { kind: "sms", number: NUMBER });
export const pairVoice = (world: InProcess) => give(world, "anna", { kind: "voice", number: NUMBER });
export const pairTotp = (world: InProcess) => give(world, "anna", { kind: "totp", seed: SEED });

export async function sentText(world: InProcess): Promise<string> {
  await world.login({ user: "anna" }).start();
  return world.telephony.requests.at(-1)?.form.get("Body") ?? "";
}

/** How many of some logins cause a request of `count`. */
export async function countOf(world: InProcess, logins: number, count: () => number): Promise<number> {
  const before = count();
  for (let at = 0; at < logins; at++) await world.login({ user: "anna" }).start();
  return count() - before;
}

export const pushes = (world: InProcess) => countOf(world, 3, () => world.secondFactor.initiated().length);
export const texts = (world: InProcess) => countOf(world, 3, () => world.telephony.requests.length);

export async function failOnce(world: InProcess): Promise<void> {
  const login = await world.begin({ user: "anna" });
  await login.answer("000000");
}

/** How many texts a login causes that types a number. */
export async function textsToTypedNumber(world: InProcess): Promise<number> {
  const { length } = world.telephony.requests;
  const login = await world.begin({ user: "anna" }, "");
  await login.answer("T");
  await login.answer(NUMBER);
  return world.telephony.requests.length - length;
}

export type Send = InProcess["telephony"]["requests"][number];

export async function ofLastSend(world: InProcess, judge: (send: Send) => boolean): Promise<boolean | null> {
  await world.login({ user: "anna" }).start();
  const last = world.telephony.requests.at(-1);
  return last === undefined ? null : judge(last);
}

export async function authorizedPush(world: InProcess): Promise<boolean | undefined> {
  await world.login({ user: "anna" }).start();
  return world.secondFactor.requests.at(-1)?.authorized;
}

export const SERVERS = new WeakMap<InProcess, FirstFactorServer[]>();
export const serversOf = (world: InProcess) => SERVERS.get(world) ?? [];
export const serverSettings = (world: InProcess, at: number): SettingChanges => ({
  "radius.first_factor": "radius",
  "radius.first_factor_server.address": `127.0.0.1:${serversOf(world)[at]?.port}`,
  "radius.first_factor_server.secret": "first-factor-secret-of-tests",
  "radius.first_factor_server.timeout_ms": 900,
});

/** Two RADIUS servers that check passwords. The gateway uses the first one. */
export async function openServers(world: InProcess): Promise<void> {
  SERVERS.set(world, ["open sesame", "open sesame"].map((password) => startFirstFactorServer({ password })));
  await pairDevice(world);
  await saveSettings(world.settings, serverSettings(world, 0));
}

export async function askedServers(world: InProcess): Promise<number[]> {
  const before = serversOf(world).map(({ asked }) => asked.length);
  await world.login({ user: "anna" }).start();
  return serversOf(world).map(({ asked }, at) => asked.length - (before[at] ?? 0));
}

export interface OtherServices {
  readonly secondFactor: Awaited<ReturnType<typeof startFakeSecondFactor>>;
  readonly telephony: Awaited<ReturnType<typeof startFakeTelephony>>;
}

export const SERVICES = new WeakMap<InProcess, Promise<OtherServices>>();

export function servicesOf(world: InProcess): Promise<OtherServices> {
  const opened = SERVICES.get(world) ??
    Promise.all([startFakeSecondFactor(), startFakeTelephony()])
      .then(([secondFactor, telephony]) => ({ secondFactor, telephony }));
  SERVICES.set(world, opened);
  return opened;
}

export async function openServices(world: InProcess): Promise<void> {
  await servicesOf(world);
  await pairDevice(world);
}

export async function closeOthers(world: InProcess): Promise<void> {
  for (const server of serversOf(world)) server[Symbol.dispose]();
  const services = await SERVICES.get(world);
  await Promise.all([services?.secondFactor.close(), services?.telephony.close()]);
}

export const gatewayWithTotp = { prepare: pairTotp };
export const fresh = (world: InProcess): Promise<void> => jump(world.clock, 3 * 3600_000);

// Settings of the log and of any client. Each row: a change, and what is observed before and after it.

import { type InProcess, saveSettings } from "./in_process.ts";
import {
  askedServers,
  gatewayWithTotp,
  kindOf,
  type LiveSettingRow,
  LONG,
  openServers,
  pairDevice,
  pairSms,
  pairVoice,
  serverSettings,
  serversOf,
  stepOf,
} from "./live_settings.ts";
import { brief } from "./login.ts";
import { jump, turn } from "./passing_time.ts";
import { appCode, decide, give, SEED } from "./people.ts";

/** Sends a Response of a tunnel. The server refuses it, if the gateway does not. */
async function sendEap(world: InProcess, eap: Uint8Array): Promise<void> {
  const login = world.login({ user: "anna" });
  await login.exchange(login.buildStart("", { password: undefined, more: [{ type: 79, value: eap }] }));
}

export const GATEWAY_ROWS: Readonly<Record<string, LiveSettingRow>> = {
  "server.log_level": {
    change: { "server.log_level": "error" },
    observe: async (world) => {
      const before = (await world.logLines()).length;
      await kindOf(world);
      return (await world.logLines()).length > before;
    },
    before: true,
    after: false,
  },
  "server.log_format": {
    change: { "server.log_format": "json" },
    observe: async (world) => {
      await kindOf(world);
      return (await world.logLines()).at(-1)?.startsWith("{");
    },
    before: false,
    after: true,
  },
  "radius.secret": {
    change: { "radius.secret": LONG },
    observe: async (world) => {
      const client = world.newClient(LONG);
      const request = client.build({ userName: "anna", password: "x", nasPort: 7 });
      const reply = client.exchange(request, { timeoutMs: 500, tries: 1 }).then(
        ({ problems }) => problems.length,
        () => -1,
      );
      const problems = await reply;
      client.close();
      return problems === 0;
    },
    before: false,
    after: true,
  },
  "radius.state": {
    ...gatewayWithTotp,
    change: { "radius.state": "token" },
    observe: async (world) => (await world.login({ user: "anna" }).start()).step.includes("."),
    before: false,
    after: true,
  },
  "radius.conversation_ttl_s": {
    change: { "radius.conversation_ttl_s": 30 },
    observe: async (world) => {
      const login = await world.begin({ user: "anna" }, "");
      await jump(world.clock, 40_000);
      return brief(await login.answer(""))[0];
    },
    before: "CHOOSE_WHICH_MULTIFACTOR",
    after: "reject",
  },
  "radius.login_join_window_s": {
    prepare: async (world) => {
      await pairDevice(world);
      await saveSettings(world.settings, { "radius.device": "hold", "radius.hold_s": 2 });
    },
    change: { "radius.login_join_window_s": 0 },
    observe: async (world) => {
      const { length } = world.secondFactor.initiated();
      const login = world.login({ user: "anna" });
      // Without a join, the first packet is superseded and gets no reply.
      const once = { timeoutMs: 1000, tries: 1 };
      const first = world.client.exchange(login.buildStart("open sesame"), once).catch(() => null);
      while (world.secondFactor.initiated().length === length) await turn();
      await jump(world.clock, 500);
      await login.exchange(login.buildStart("open sesame"));
      await first;
      return world.secondFactor.initiated().length - length;
    },
    before: 1,
    after: 2,
  },
  "radius.message_authenticator": {
    change: { "radius.message_authenticator": "require" },
    observe: async (world) => {
      const request = world.client.build({
        userName: "anna",
        password: "x",
        nasPort: 8,
        messageAuthenticator: "none",
      });
      return await world.client.exchange(request, { timeoutMs: 500, tries: 1 }).then(() => true, () => false);
    },
    before: true,
    after: false,
  },
  "radius.device": {
    prepare: pairDevice,
    change: { "radius.device": "hold", "radius.hold_s": 1 },
    observe: async (world) => {
      const { kind, tookMs } = await world.login({ user: "anna" }).start();
      return [kind, tookMs >= 1000];
    },
    before: ["challenge", false],
    after: ["reject", true],
  },
  "radius.hold_s": {
    prepare: async (world) => {
      await pairDevice(world);
      await saveSettings(world.settings, { "radius.device": "hold", "radius.hold_s": 2 });
    },
    change: { "radius.hold_s": 9 },
    observe: async (world) => (await world.login({ user: "anna" }).start()).tookMs > 5000,
    before: false,
    after: true,
  },
  "radius.limit_proxy_state": {
    change: { "radius.limit_proxy_state": true },
    observe: async (world) => {
      const more = [{ type: 33, value: new Uint8Array(4) }];
      const parts = {
        userName: "anna",
        password: "x",
        nasPort: 9,
        messageAuthenticator: "none",
        more,
      } as const;
      const once = { timeoutMs: 500, tries: 1 };
      return await world.client.exchange(world.client.build(parts), once).then(() => true, () => false);
    },
    before: true,
    after: false,
  },
  "radius.append_separator": {
    prepare: async (world) => {
      await Promise.all([pairSms(world), pairVoice(world)]);
      await saveSettings(world.settings, { "radius.append_mode": true });
    },
    change: { "radius.append_separator": ";" },
    observe: async (world) => {
      const { length } = world.telephony.requests;
      await world.login({ user: "anna" }).start("x;call");
      return world.telephony.requests.slice(length).map(({ kind }) => kind).join();
    },
    before: "text",
    after: "call",
  },
  "radius.first_factor": {
    prepare: pairDevice,
    change: { "radius.first_factor": "directory" },
    observe: (world) => kindOf(world),
    before: "challenge",
    after: "reject",
  },
  "radius.first_factor_server.address": {
    prepare: openServers,
    change: (world) => serverSettings(world, 1),
    observe: askedServers,
    before: [1, 0],
    after: [0, 1],
  },
  "radius.first_factor_server.secret": {
    prepare: openServers,
    change: { "radius.first_factor_server.secret": "another secret of the server" },
    observe: (world) => kindOf(world),
    before: "challenge",
    after: "reject",
  },
  "radius.first_factor_server.timeout_ms": {
    prepare: async (world) => {
      await openServers(world);
      for (const server of serversOf(world)) server.conduct = "silent";
    },
    change: { "radius.first_factor_server.timeout_ms": 9000 },
    observe: async (world) => (await world.login({ user: "anna" }).start("right")).tookMs > 5000,
    before: false,
    after: true,
  },
  "radius.reply_from_first_factor": {
    prepare: async (world) => {
      await openServers(world);
      const attributes = [{ type: 18, value: new TextEncoder().encode("closed") }];
      for (const server of serversOf(world)) server.script = () => ({ code: 3, attributes });
    },
    change: { "radius.reply_from_first_factor": ["none"] },
    observe: async (world) => (await world.login({ user: "anna" }).start("right")).message,
    before: "closed",
    after: "Access denied.",
  },
  "radius.first_factor_server.message_authenticator": {
    prepare: async (world) => {
      await openServers(world);
      for (const server of serversOf(world)) server.conduct = "unsigned";
    },
    change: { "radius.first_factor_server.message_authenticator": "auto" },
    observe: (world) => kindOf(world),
    before: "reject",
    after: "challenge",
  },
  "radius.eap": {
    prepare: openServers,
    change: { "radius.eap": "refuse" },
    observe: async (world) => {
      const before = world.radius.monitor.counters().refused_eap ?? 0;
      await sendEap(world, Uint8Array.of(2, 1, 0, 5, 25));
      return (world.radius.monitor.counters().refused_eap ?? 0) - before;
    },
    before: 0,
    after: 1,
  },
  "radius.eap_outer_identity": {
    prepare: openServers,
    change: { "radius.eap_outer_identity": "reply" },
    observe: async (world) => {
      const before = world.radius.monitor.counters().refused_eap_outer_identity ?? 0;
      await sendEap(world, Uint8Array.of(2, 1, 0, 5, 25));
      return (world.radius.monitor.counters().refused_eap_outer_identity ?? 0) - before;
    },
    before: 1,
    after: 0,
  },
  "radius.mode": {
    prepare: async (world) => {
      await pairDevice(world);
      await openServers(world);
    },
    change: { "radius.mode": "shadow" },
    observe: (world) => kindOf(world),
    before: "challenge",
    after: "accept",
  },
  "radius.append_mode": {
    prepare: (world) => Promise.all([pairSms(world), pairVoice(world)]),
    change: { "radius.append_mode": true },
    observe: async (world) => {
      const { length } = world.telephony.requests;
      await world.login({ user: "anna" }).start("x,call");
      return world.telephony.requests.slice(length).map(({ kind }) => kind).join();
    },
    before: "text",
    after: "call",
  },
  "radius.code_position": {
    prepare: async (world) => {
      await give(world, "anna", { kind: "totp", seed: SEED });
      await saveSettings(world.settings, { "radius.append_mode": true });
    },
    change: { "radius.code_position": "behind" },
    observe: async (world) =>
      (await world.login({ user: "anna" }).start(`pw${appCode(world.clock.nowMs())}`)).kind,
    before: "challenge",
    after: "accept",
  },
  "radius.health_check_users": {
    change: { "radius.health_check_users": ["probe"] },
    observe: (world) => kindOf(world, "probe"),
    before: "challenge",
    after: "reject",
  },
  "radius.unknown_users": {
    change: { "radius.unknown_users": "reject" },
    observe: (world) => kindOf(world, "stranger"),
    before: "challenge",
    after: "reject",
  },
  "radius.strip_domains": {
    prepare: pairDevice,
    change: { "radius.strip_domains": ["CORP"] },
    observe: (world) => stepOf(world, "CORP\\anna"),
    before: "CHOOSE_WHICH_MULTIFACTOR",
    after: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  },
  "radius.strip_realms": {
    prepare: pairDevice,
    change: { "radius.strip_realms": ["corp.example"] },
    observe: (world) => stepOf(world, "anna@corp.example"),
    before: "CHOOSE_WHICH_MULTIFACTOR",
    after: "SECONDFACTOR_AWAIT_DEVICE_APPROVAL",
  },
  "radius.reply.default": {
    prepare: pairDevice,
    change: { "radius.reply.default": { "Filter-Id": "staff" } },
    observe: async (world) => {
      const [pairing] = world.radius.pairings.of("anna");
      const login = await world.begin({ user: "anna" });
      decide(world, { id: pairing?.id ?? "" } as never, true);
      const { attributes } = await login.answer("");
      return attributes.some(({ type }) => type === 11);
    },
    before: false,
    after: true,
  },
};

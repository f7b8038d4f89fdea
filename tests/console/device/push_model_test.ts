// Notifications of the phone page: what the browser supports, the permission, and the comparison of subscriptions at each visit.

import { assertEquals } from "@std/assert";
import {
  type BrowserFacts,
  PushModel,
  type PushSupport,
  pushSupport,
} from "../../../console/device/push_model.ts";
import { memoryPhoneStorage } from "../../fakes/phone_storage.ts";

const octets = (first: number) => new Uint8Array(65).fill(first);
const textOf = (value: Uint8Array) => value.toBase64({ alphabet: "base64url", omitPadding: true });
const FACTS: Omit<BrowserFacts, "callsItselfMac"> = {
  isSecure: true,
  hasPush: true,
  isApple: false,
  isInstalled: false,
};

Deno.test("pushSupport() tells what a browser lacks", () => {
  const rows: readonly (readonly [Partial<BrowserFacts>, PushSupport])[] = [
    [{}, "supported"],
    [{ isApple: true, isInstalled: true }, "supported"],
    [{ isSecure: false }, "insecure"],
    [{ isSecure: false, hasPush: false }, "insecure"],
    [{ hasPush: false }, "unsupported"],
    [{ hasPush: false, isApple: true }, "needs_home_screen"],
    [{ hasPush: false, isApple: true, isInstalled: true }, "unsupported"],
  ];
  assertEquals(
    rows.map(([facts]) => pushSupport({ ...FACTS, ...facts })),
    rows.map(([, support]) => support),
  );
});

interface World {
  enabled: boolean;
  key: Uint8Array<ArrayBuffer>;
  subscribed: boolean;
  problem: string | null;
  permission: NotificationPermission;
  /** The answer of the user. */
  answer: NotificationPermission;
  /** The browser's subscription. */
  held: { endpoint: string; key: Uint8Array<ArrayBuffer> | null } | null;
  failing: "subscribe" | "server" | "push_off" | null;
}

function setUp(start: Partial<World> & { support?: PushSupport; wants?: boolean } = {}) {
  const world: World = {
    ...{ enabled: true, key: octets(4), subscribed: false, problem: null, permission: "default" },
    ...{ answer: "granted", held: null, failing: null },
    ...start,
  };
  const calls: string[] = [];
  const storage = memoryPhoneStorage();
  if (start.wants !== undefined) void storage.set("wantsPush", start.wants);
  let made = 0;
  const shown = () => {
    const { held } = world;
    if (held === null) return null;
    return {
      endpoint: held.endpoint,
      options: { applicationServerKey: held.key?.buffer ?? null },
      toJSON: () => ({ endpoint: held.endpoint }),
      unsubscribe() {
        world.held = null;
        return Promise.resolve(true);
      },
    };
  };
  const manager = {
    getSubscription: () => Promise.resolve(shown()),
    subscribe({ applicationServerKey }: { applicationServerKey: Uint8Array<ArrayBuffer> }) {
      if (world.failing === "subscribe") return Promise.reject(new DOMException("Registration failed"));
      world.held = { endpoint: `e${++made}`, key: applicationServerKey };
      return Promise.resolve(shown());
    },
  } as unknown as PushManager;
  const model = new PushModel({
    support: start.support ?? "supported",
    fetch: (_input, { method = "GET", body } = {}) => {
      calls.push(body === undefined ? method : `${method} ${body}`);
      if (world.failing === "server") return Promise.reject(new TypeError("no network"));
      if (world.failing === "push_off") {
        const error = { code: "push_off", message: "no push" };
        return Promise.resolve(Response.json({ error }, { status: 404 }));
      }
      if (method === "POST") Object.assign(world, { subscribed: true, problem: null });
      if (method === "DELETE") world.subscribed = false;
      const { enabled, key, subscribed, problem } = world;
      return Promise.resolve(Response.json({ enabled, publicKey: textOf(key), subscribed, problem }));
    },
    storage,
    registration: () => Promise.resolve({ pushManager: manager }),
    permission: () => world.permission,
    askPermission() {
      calls.push("ask");
      world.permission = world.answer;
      return Promise.resolve(world.permission);
    },
  });
  return { model, world, calls, storage };
}

Deno.test("PushModel asks the browser only when it is turned on, and before anything else", async () => {
  const { model, calls, world } = setUp();
  await model.check();
  assertEquals([model.state.value, calls], ["off", ["GET"]]);
  await model.turnOn();
  assertEquals([model.state.value, calls], ["on", ["GET", "ask", "GET", 'POST {"endpoint":"e1"}']]);
  assertEquals([world.subscribed, model.busy.value], [true, false]);
});

Deno.test("PushModel reports a blocked and a dismissed question", async () => {
  const blocked = setUp({ answer: "denied" });
  await blocked.model.turnOn();
  const dismissed = setUp({ answer: "default" });
  await dismissed.model.turnOn();
  assertEquals([blocked.model.state.value, dismissed.model.state.value], ["blocked", "off"]);
  assertEquals([blocked.calls, dismissed.calls], [["ask"], ["ask"]]);
});

Deno.test("PushModel.check() leaves a subscription that browser and server know", async () => {
  const held = { endpoint: "e0", key: octets(4) };
  const { model, calls } = setUp({ permission: "granted", wants: true, subscribed: true, held });
  await model.check();
  assertEquals([model.state.value, calls], ["on", ["GET"]]);
});

Deno.test("PushModel.check() trusts a browser that does not report the key", async () => {
  const held = { endpoint: "e0", key: null };
  const { model, calls } = setUp({ permission: "granted", wants: true, subscribed: true, held });
  await model.check();
  assertEquals([model.state.value, calls], ["on", ["GET"]]);
});

Deno.test("PushModel.check() subscribes again after browser or server lost the subscription", async () => {
  const known = { endpoint: "e0", key: octets(4) };
  const rows: readonly Partial<World>[] = [
    { held: null, subscribed: true },
    { held: known, subscribed: false },
    { held: known, subscribed: true, problem: "gone" },
    { held: { ...known, key: octets(5) }, subscribed: true },
  ];
  for (const row of rows) {
    const { model, calls, world } = setUp({ permission: "granted", wants: true, ...row });
    await model.check();
    assertEquals([model.state.value, calls], ["on", ["GET", 'POST {"endpoint":"e1"}']]);
    assertEquals(world.held?.key, octets(4));
  }
});

Deno.test("PushModel.check() respects that the user turned notifications off", async () => {
  const { model, world, calls } = setUp({ permission: "granted", wants: true });
  await model.check();
  await model.turnOff();
  assertEquals([model.state.value, world.held, calls.at(-1)], ["off", null, "DELETE"]);
  calls.length = 0;
  await model.check();
  assertEquals([model.state.value, calls], ["off", ["GET"]]);
  const offline = setUp({ permission: "granted", wants: true });
  await offline.model.check();
  offline.world.failing = "server";
  await offline.model.turnOff();
  assertEquals([offline.model.state.value, offline.world.held], ["off", null]);
});

Deno.test("PushModel shows what prevents notifications, and nothing where the server has none", async () => {
  const rows = [
    [setUp({ enabled: false }), "hidden"],
    [setUp({ permission: "denied" }), "blocked"],
    [setUp({ support: "insecure" }), "insecure"],
    [setUp({ support: "unsupported" }), "unsupported"],
    [setUp({ support: "needs_home_screen" }), "needs_home_screen"],
    [setUp({ failing: "server" }), "checking"],
    [setUp({ failing: "push_off" }), "hidden"],
    [setUp({ failing: "subscribe", permission: "granted", wants: true }), "failed"],
  ] as const;
  for (const [{ model }, state] of rows) {
    await model.check();
    assertEquals(model.state.value, state);
  }
});

Deno.test("PushModel can be turned on again after a failure", async () => {
  const { model, world } = setUp({ failing: "subscribe" });
  await model.turnOn();
  assertEquals(model.state.value, "failed");
  world.failing = null;
  await model.turnOn();
  assertEquals(model.state.value, "on");
});

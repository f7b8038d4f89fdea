// A store that fails: no unrecorded reply is sent, no effect happens twice, and a repeated packet is handled after
// recovery.

import { appendByCommit } from "../../fakes/append_by_commit.ts";
import { assertEquals } from "@std/assert";
import type { Store, Transaction } from "../../../platform/store.ts";
import { type InProcess, SECRET, startInProcess } from "./in_process.ts";
import { appCode, decide, giveDevice, NUMBER, otherThan, passcodeSentTo, startWith } from "./people.ts";
import { becomes } from "./passing_time.ts";
import { openRecorder } from "./recorder.ts";
import type { Login } from "./login.ts";

const DEVICE = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";

/** A store that refuses commits on demand, and keeps the others. */
interface Sick {
  fails: boolean;
  readonly taken: Transaction[];
  readonly between: { store: (store: Store) => Store };
}

function withCommit(store: Store, commit: Store["commit"]): Store {
  return { ...store, commit, append: appendByCommit(commit) };
}

function createSick(): Sick {
  const sick: Sick = {
    fails: false,
    taken: [],
    between: {
      store: (store) =>
        withCommit(store, async (transaction) => {
          if (sick.fails) throw new Error("the disk is full");
          sick.taken.push(transaction);
          return await store.commit(transaction);
        }),
    },
  };
  return sick;
}

/** Sends a packet while the store fails and expects silence; sends it again after recovery and returns its answer. */
async function unrecordedThenAgain(
  world: InProcess,
  sick: Sick,
  { login, typed, start }: { login: Login; typed: string; start: boolean },
) {
  const packet = start ? login.buildStart(typed) : login.build(typed);
  using recorder = openRecorder(world, SECRET);
  const dropped = () => world.radius.monitor.counters()["dropped_store_failed"] ?? 0;
  const before = dropped();
  sick.fails = true;
  await recorder.send(packet);
  await becomes("the packet is dropped", () => dropped() > before);
  assertEquals(await recorder.replies(), []);
  sick.fails = false;
  return await login.exchange(packet);
}

Deno.test("store: a login that cannot be recorded gets no answer and sends no push; sent again, it is handled", async () => {
  const sick = createSick();
  await using world = await startWith("device", { between: sick.between });
  const login = world.login({ user: "anna" });
  const reply = await unrecordedThenAgain(world, sick, { login, typed: "pw", start: true });
  assertEquals(reply.step, DEVICE);
  assertEquals(world.secondFactor.initiated().length, 1);
});

Deno.test("store: a menu that cannot be recorded is not shown; for a repeated packet it is", async () => {
  const sick = createSick();
  await using world = await startInProcess({ between: sick.between });
  const login = world.login({ user: "anna" });
  const reply = await unrecordedThenAgain(world, sick, { login, typed: "", start: true });
  assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
});

Deno.test("store: an approval that cannot be recorded accepts no login; for a repeated packet it does, once", async () => {
  const sick = createSick();
  await using world = await startInProcess({ between: sick.between });
  const pairing = await giveDevice(world, "anna");
  const login = await world.begin({ user: "anna" });
  decide(world, pairing, true);
  const reply = await unrecordedThenAgain(world, sick, { login, typed: "", start: false });
  assertEquals(reply.kind, "accept");
  assertEquals(world.radius.monitor.counters()["accepts"], 1);
});

Deno.test("store: a right passcode whose Accept cannot be recorded is still right when it is sent again", async () => {
  const sick = createSick();
  await using world = await startWith("text", { between: sick.between });
  const login = await world.begin({ user: "anna" });
  const typed = passcodeSentTo(world, NUMBER);
  assertEquals((await unrecordedThenAgain(world, sick, { login, typed, start: false })).kind, "accept");
});

Deno.test("store: a right TOTP code whose Accept cannot be recorded is still right when it is sent again", async () => {
  const sick = createSick();
  await using world = await startWith("app", { between: sick.between });
  const login = await world.begin({ user: "anna" });
  const typed = appCode(world.clock.nowMs());
  assertEquals((await unrecordedThenAgain(world, sick, { login, typed, start: false })).kind, "accept");
});

/** The packets of a login by factor: one that is counted, and what is left of the limit after it. */
const COUNTED = {
  app: {
    typed: (world: InProcess) => otherThan(otherThan(appCode(world.clock.nowMs()))),
    count: ({ radius }: InProcess) => radius.limits.failures("anna").total,
  },
  device: {
    typed: null,
    count: ({ radius }: InProcess) => radius.limits.pushesLeft("anna") ? 1 : 2,
  },
  text: {
    typed: null,
    count: ({ radius }: InProcess) =>
      radius.limits.sendsLeft("anna", NUMBER) ? radius.limits.figures().sends : 2,
  },
} as const;

for (const [factor, { typed, count }] of Object.entries(COUNTED)) {
  Deno.test(`store: a packet of a login with ${factor} that could not be recorded several times counts once`, async () => {
    const sick = createSick();
    const toml = "[factors.pushes]\nper_user = 2\n[factors.sends]\nper_user = 2";
    await using world = await startWith(factor as keyof typeof COUNTED, { between: sick.between, toml });
    const start = typed === null;
    const login = start ? world.login({ user: "anna" }) : await world.begin({ user: "anna" });
    const packet = start ? login.buildStart("pw") : login.build(typed(world));
    const dropped = () => world.radius.monitor.counters()["dropped_store_failed"] ?? 0;
    sick.fails = true;
    for (let sent = 1; sent <= 3; sent++) {
      await world.client.sendRaw(packet.bytes);
      await becomes("the packet is dropped", () => dropped() === sent);
    }
    sick.fails = false;
    await login.exchange(packet);
    assertEquals(count(world), 1);
  });
}

Deno.test("store: a Cancel that cannot be recorded leaves the login at its step", async () => {
  const sick = createSick();
  await using world = await startWith("device", { between: sick.between });
  const login = await world.begin({ user: "anna" });
  const reply = await unrecordedThenAgain(world, sick, { login, typed: "cancel", start: false });
  assertEquals(reply.step, "CHOOSE_WHICH_MULTIFACTOR");
  assertEquals(world.radius.monitor.alive(), 1);
});

Deno.test("store: a decision and its audit record are one commit", async () => {
  const sick = createSick();
  await using world = await startWith("text", { between: sick.between });
  const right = await world.begin({ user: "anna" });
  await right.answer(passcodeSentTo(world, NUMBER));
  const wrong = await world.begin({ user: "anna" });
  await wrong.answer("no");
  const decided = sick.taken.filter(({ mutations }) => mutations.some(({ type }) => type === "audit"));
  const actions = decided.map(({ mutations }) =>
    mutations.flatMap((mutation) => mutation.type === "audit" ? [mutation.entry.action] : [])
  );
  assertEquals(actions, [["login.accepted"], ["login.rejected"]]);
  // The same commit has the conversation, with the check that it was not advanced meanwhile.
  for (const { mutations, checks } of decided) {
    const [key] = mutations.flatMap((one) =>
      one.type !== "audit" && one.key[0] === "conversation" ? [one.key] : []
    );
    assertEquals(checks?.map((check) => check.key), [key ?? []]);
  }
});

Deno.test("store: nothing is sent before it is recorded", async () => {
  let recorded = false;
  let held: Promise<void> = Promise.resolve();
  await using world = await startInProcess({
    between: {
      store: (store) =>
        withCommit(store, async (transaction) => {
          await held;
          recorded = true;
          return await store.commit(transaction);
        }),
    },
  });
  // The start itself writes the keys of the node.
  recorded = false;
  const gate = Promise.withResolvers<void>();
  held = gate.promise;
  using recorder = openRecorder(world, SECRET);
  const login = world.login({ user: "anna" });
  await recorder.send(login.buildStart(""));
  assertEquals(await recorder.replies(), []);
  assertEquals(recorded, false);
  gate.resolve();
  assertEquals((await recorder.replies(1)).length, 1);
});

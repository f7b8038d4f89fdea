// Two operations on the same rows, the second one at each moment at which the first one waits: what was judged on a row that
// has changed meanwhile is not written.

import { assert, assertEquals } from "@std/assert";
import type { EmbeddedSecondFactor } from "../../../../upstream/embedded/second_factor/second_factor.ts";
import { openNode } from "../../../fakes/shared_store.ts";
import { createManualClock } from "../../manual_clock.ts";
import { CONTEXT, loadEmbedded, openServiceDeps, right } from "../../start_services.ts";

interface World {
  readonly embedded: EmbeddedSecondFactor;
  /** Commits a prepared change; whether it was committed. */
  commit(prepared: PreparedUse): Promise<boolean>;
}

type PreparedUse = Pick<
  Extract<Awaited<ReturnType<EmbeddedSecondFactor["admin"]["prepareInvitationUse"]>>, { ok: true }>["value"],
  "checks" | "mutations" | "done"
>;

/** Two operations, and whether each one succeeded. */
interface Race {
  readonly first: () => Promise<boolean>;
  readonly second: () => Promise<boolean>;
  /** What must hold afterwards, besides that at most one succeeded. */
  readonly holds?: (results: { readonly first: boolean; readonly second: boolean }) => Promise<boolean>;
  /** Both may succeed: then only `holds` counts. */
  readonly mayBoth?: true;
}

const ok = async (result: Promise<{ readonly ok: boolean }>): Promise<boolean> => (await result).ok;
const accept = ({ embedded }: World, invitation: string, source: string) =>
  ok(embedded.phone.acceptInvitation(invitation, { token: null, source }));

/** A phone with a phrase that was typed for ada. */
async function askedPairing({ embedded }: World): Promise<{ token: string; pairingId: string }> {
  const { token, phrase } = right(await embedded.phone.startWithPhrase("192.0.2.1"));
  const { id } = right(await embedded.service.createPairing({ phrase, userName: "ada" }));
  return { token, pairingId: id };
}

/** A phone that is paired for ada and for bea. */
async function pairedPhone({ embedded }: World): Promise<{ token: string; pairingId: string }> {
  const invite = async (user: string) => (await embedded.admin.invite(user)).invitation;
  const { token, pairingId } = right(
    await embedded.phone.acceptInvitation(await invite("ada"), { token: null, source: "192.0.2.1" }),
  );
  right(await embedded.phone.acceptInvitation(await invite("bea"), { token, source: "192.0.2.1" }));
  return { token, pairingId };
}

const initiate = ({ embedded }: World, pairingId: string) =>
  embedded.service.initiate({ pairingId, terminalName: "VPN", context: { ...CONTEXT, hasPrompt: false } });

const RACES: Readonly<Record<string, (world: World) => Promise<Race>>> = {
  async "two phones accept one invitation"(world) {
    const { invitation } = await world.embedded.admin.invite("ada");
    return {
      first: () => accept(world, invitation, "192.0.2.1"),
      second: () => accept(world, invitation, "192.0.2.2"),
    };
  },
  async "an app and a phone use one invitation"(world) {
    const { invitation } = await world.embedded.admin.invite("ada");
    return {
      async first() {
        const prepared = await world.embedded.admin.prepareInvitationUse(invitation, "192.0.2.1");
        return prepared.ok && await world.commit(prepared.value);
      },
      second: () => accept(world, invitation, "192.0.2.2"),
    };
  },
  async "a pairing is approved and denied"(world) {
    const { token, pairingId } = await askedPairing(world);
    const decide = (approve: boolean) => () =>
      ok(world.embedded.phone.decidePairing(token, pairingId, { approve }));
    return { first: decide(true), second: decide(false) };
  },
  async "a pairing is denied and approved"(world) {
    const { token, pairingId } = await askedPairing(world);
    const decide = (approve: boolean) => () =>
      ok(world.embedded.phone.decidePairing(token, pairingId, { approve }));
    return { first: decide(false), second: decide(true) };
  },
  async "two logins type one phrase"(world) {
    const { phrase } = right(await world.embedded.phone.startWithPhrase("192.0.2.1"));
    const type = (userName: string) => () => ok(world.embedded.service.createPairing({ phrase, userName }));
    return { first: type("ada"), second: type("bea") };
  },
  async "a login types a phrase that the phone replaces"(world) {
    const { token, phrase } = right(await world.embedded.phone.startWithPhrase("192.0.2.1"));
    return {
      first: () => ok(world.embedded.service.createPairing({ phrase, userName: "ada" })),
      second: () => ok(world.embedded.phone.newPhrase(token)),
    };
  },
  async "a seed is issued while the phone is unpaired"(world) {
    const { token, pairingId } = await pairedPhone(world);
    return {
      first: () => ok(world.embedded.phone.issuePasscodeSeed(token, pairingId)),
      second: () => ok(world.embedded.phone.unpair(token, pairingId)),
      mayBoth: true,
      holds: async () => !await ok(world.embedded.phone.passcode(token, pairingId)),
    };
  },
  async "a request is opened while its pairing is revoked"(world) {
    const { pairingId } = await pairedPhone(world);
    return {
      first: () => ok(initiate(world, pairingId)),
      second: () => world.embedded.admin.revokePairing(pairingId),
      mayBoth: true,
      holds: () => Promise.resolve(world.embedded.admin.pendingApprovals().length === 0),
    };
  },
  async "a request is approved and denied"(world) {
    const { token, pairingId } = await pairedPhone(world);
    const { id } = right(await initiate(world, pairingId));
    return {
      first: () => ok(world.embedded.phone.decide(token, id, { approve: true, number: null })),
      second: () => world.embedded.admin.deny(id),
    };
  },
  async "one passcode is used twice"(world) {
    const { token, pairingId } = await pairedPhone(world);
    const { code } = right(await world.embedded.phone.passcode(token, pairingId));
    const use = () => world.embedded.admin.usePasscode(pairingId, code);
    return { first: use, second: use };
  },
};

/** Runs a race whose second operation runs while the first one waits for the `at`th time. `null`: it waits less often. */
async function run(prepare: (world: World) => Promise<Race>, at: number) {
  const kv = await Deno.openKv(":memory:");
  const clock = createManualClock();
  const { store } = await openNode(kv, "a");
  const ground = await openServiceDeps(clock);
  await ground.store.close();
  let waits = -1;
  let meanwhile: (() => Promise<void>) | null = null;
  const wait = async () => {
    if (meanwhile === null || ++waits !== at) return;
    const task = meanwhile;
    meanwhile = null;
    await task();
  };
  const gated = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!["commit", "get", "reread"].includes(String(name))) return value.bind(target);
      return async (...args: unknown[]) => {
        await wait();
        return await value.apply(target, args);
      };
    },
  });
  const find: typeof ground.userRecords.find = async (name) => {
    const record = await ground.userRecords.find(name);
    await wait();
    return record;
  };
  const embedded = await loadEmbedded({
    ...ground,
    store: gated,
    userRecords: { ...ground.userRecords, find },
  });
  const world: World = {
    embedded,
    async commit({ checks, mutations, done }) {
      const outcome = await gated.commit({ checks, mutations });
      if (outcome.ok) done(outcome.versionstamp);
      return outcome.ok;
    },
  };
  const race = await prepare(world);
  let second = false;
  let ran = false;
  meanwhile = async () => {
    ran = true;
    second = await race.second();
  };
  const first = await race.first();
  meanwhile = null;
  const holds = await race.holds?.({ first, second }) ?? true;
  await embedded.close();
  await store.close();
  return ran ? { first, second, holds, mayBoth: race.mayBoth === true } : null;
}

for (const [title, prepare] of Object.entries(RACES)) {
  Deno.test(`${title}: one of them counts, whenever the second one comes`, async () => {
    let at = 0;
    for (let result = await run(prepare, at); result !== null; result = await run(prepare, ++at)) {
      const { first, second, holds, mayBoth } = result;
      assert(holds, `wait ${at}: a row that ended is in use`);
      assert(first || second, `wait ${at}: both failed`);
      if (!mayBoth) assertEquals([first, second].filter(Boolean).length, 1, `wait ${at}: both succeeded`);
    }
    assert(at > 0, "the first operation never waits");
  });
}

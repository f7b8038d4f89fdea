// The embedded implementation of SecondFactorService: refused input, shortened texts, and failures of the store. The
// behaviour that it shares with an external service is in second_factor_port_test.ts.

import { assertEquals } from "@std/assert";
import { createEmbeddedSecondFactor } from "../../../../upstream/embedded/second_factor/second_factor.ts";
import type { Store } from "../../../../platform/store.ts";
import { CAPS } from "../../../../upstream/embedded/second_factor/records.ts";
import { CONTEXT, openServiceDeps, right } from "../../start_services.ts";
import { type SecondFactorSetup, startSecondFactor } from "./start_second_factor.ts";

Deno.test("SecondFactorService.initiate() of the embedded service accepts a terminal name of 256 characters and no longer one", async () => {
  await using setup = await startSecondFactor();
  const { embedded: { service }, pairingId } = setup;
  const ask = (terminalName: string) => service.initiate({ pairingId, terminalName, context: CONTEXT });
  assertEquals((await ask("x".repeat(256))).ok, true);
  const refused = await ask("x".repeat(257));
  assertEquals(!refused.ok && refused.fault.kind === "refused" && refused.fault.status, 400);
});

Deno.test("SecondFactorService.initiate() of the embedded service shows the phone a client and a place of 200 characters", async () => {
  await using setup = await startSecondFactor();
  const { embedded: { service, phone }, pairingId, token } = setup;
  for (const client of ["vpn-1", "Zürich\r\nX: y", '"}', "😀", "%zz", "", "a\ud800", "x".repeat(5000)]) {
    const context = { client, place: "y".repeat(5000), hasPrompt: false };
    const { id } = right(await service.initiate({ pairingId, terminalName: "VPN", context }));
    const shown = (await phone.view(token))?.requests.find(({ requestId }) => requestId === id);
    assertEquals([shown?.client, shown?.place], [client.toWellFormed().slice(0, 200), "y".repeat(200)]);
    await service.cancel(id);
  }
});

Deno.test("SecondFactorService of the embedded service returns the number to match while a request is pending", async () => {
  await using setup = await startSecondFactor();
  const { embedded: { service, phone }, token } = setup;
  const { id, numberToMatch } = await setup.ask();
  assertEquals(right(await service.status(id)).numberToMatch, numberToMatch);
  right(await phone.decide(token, id, { approve: true, number: numberToMatch ?? null }));
  assertEquals(right(await service.status(id)).numberToMatch, undefined);
});

Deno.test("SecondFactorService.otpAuth() of the embedded service refuses text that is no passcode, and decides nothing", async () => {
  await using setup = await startSecondFactor();
  const { embedded: { service } } = setup;
  const { id } = await setup.ask();
  for (const code of ["", "1".repeat(17)]) {
    const refused = await service.otpAuth(id, code);
    assertEquals(!refused.ok && refused.fault.kind === "refused" && refused.fault.status, 400);
  }
  assertEquals(right(await service.status(id)).pending, true);
});

Deno.test("SecondFactorService.initiate() of the embedded service fails when the store fails, and reports the error inside", async () => {
  const ground = await openServiceDeps();
  const bugs: unknown[] = [];
  const broken: Store = { ...ground.store, commit: () => Promise.reject(new Error("disk full")) };
  const embedded = createEmbeddedSecondFactor({
    ...ground,
    store: broken,
    totp: { at: () => "", match: () => null },
    findUserRecord: ground.userRecords.find,
    settings: { requesterName: "Countersign", numberMatching: true, requestTtlMs: 1000 },
    onBug: (fault) => bugs.push(fault),
  });
  await ground.store.commit({
    mutations: [{
      type: "set",
      key: ["embedded", "pairing", "p-1"],
      value: {
        id: "p-1",
        userName: "ada",
        phone: "x",
        state: "enabled",
        sealedSeed: null,
        lastStep: -1,
        createdMs: 0,
        modifiedMs: 0,
      },
    }],
  });
  await embedded.load();
  const asked = await embedded.service.initiate({
    pairingId: "p-1",
    terminalName: "VPN",
    context: CONTEXT,
  });
  assertEquals(!asked.ok && asked.fault.kind === "failed" && asked.fault.status, 500);
  assertEquals(JSON.stringify(asked).includes("disk full"), false);
  assertEquals(bugs.length, 1);
  await embedded.service.cancel("p-1");
  await embedded.close();
  await ground.store.close();
});

/** What fills a limit. The answer is whether there was room. */
const LIMITED: {
  readonly [Cap in keyof typeof CAPS]?: (setup: SecondFactorSetup, at: number) => Promise<boolean>;
} = {
  unpairedPhones: async ({ embedded }, at) => (await embedded.phone.startWithPhrase(`192.0.2.${at}`)).ok,
  requests: async ({ embedded: { service, phone }, pairingId, token }) => {
    const context = { ...CONTEXT, hasPrompt: true };
    const asked = await service.initiate({ pairingId, terminalName: "VPN", context });
    if (asked.ok) await phone.decide(token, asked.value.id, { approve: false });
    return asked.ok;
  },
  invitations: ({ embedded }, at) => embedded.admin.invite(`user${at}`).then(() => true, () => false),
};

for (const [cap, add] of Object.entries(LIMITED)) {
  Deno.test(`the limit of ${cap} ends when they expire, without another change`, async () => {
    const known = Reflect.get(CAPS, cap);
    Reflect.set(CAPS, cap, 3);
    try {
      await using setup = await startSecondFactor();
      const room: boolean[] = [];
      for (let at = 0; at < 5; at++) room.push(await add(setup, at));
      assertEquals([room[0], room.at(-1)], [true, false]);
      setup.clock.advance(30 * 24 * 3_600_000);
      assertEquals(await add(setup, 9), true);
    } finally {
      Reflect.set(CAPS, cap, known);
    }
  });
}

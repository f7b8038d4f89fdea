// The behaviour of any second-factor service, tested with an external one and the embedded one.

import { assertEquals, assertMatch } from "@std/assert";
import { CONTEXT, right, SECOND_FACTOR_SERVICES, type StartedSecondFactor } from "./start_services.ts";

const ask = async ({ service }: StartedSecondFactor, pairingId: string) =>
  right(await service.initiate({ pairingId, terminalName: "VPN Zürich (1)", context: CONTEXT }));

const EXPECTATIONS: readonly { it: string; holds: (world: StartedSecondFactor) => Promise<void> }[] = [
  {
    it: "sends a request to the phone and reports that nothing is decided",
    async holds(world) {
      const request = await ask(world, await world.pair("ada"));
      assertMatch(request.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      const { pending, granted, cancelled, reason, reasonCode } = request;
      assertEquals({ pending, granted, cancelled, reason, reasonCode }, {
        pending: true,
        granted: false,
        cancelled: false,
        reason: "",
        reasonCode: 0,
      });
      const status = right(await world.service.status(request.id));
      assertEquals([status.id, status.pending, status.granted], [request.id, true, false]);
    },
  },
  {
    it: "reports an approval",
    async holds(world) {
      const { id } = await ask(world, await world.pair("ada"));
      await world.approve(id);
      const { pending, granted } = right(await world.service.status(id));
      assertEquals([pending, granted], [false, true]);
    },
  },
  {
    it: "reports a denial",
    async holds(world) {
      const { id } = await ask(world, await world.pair("ada"));
      await world.deny(id);
      const { pending, granted, reason } = right(await world.service.status(id));
      assertEquals([pending, granted], [false, false]);
      assertEquals(reason.length > 0, true);
    },
  },
  {
    it: "reports the literal identifier null as unknown",
    async holds({ service }) {
      assertEquals(await service.status("null"), {
        ok: false,
        fault: { kind: "unknown", code: 404, detail: "Not Found" },
      });
    },
  },
  {
    it: "reports an identifier that would leave its path as unknown",
    async holds({ service }) {
      for (const id of ["..", ".", "", "a b", "é", "x".repeat(200)]) {
        const answer = await service.status(id);
        assertEquals(!answer.ok && answer.fault.kind, "unknown");
        assertEquals((await service.pairing(id)).ok, false);
        assertEquals((await service.otpAuth(id, "123456")).ok, false);
      }
      const slashed = await service.status("a/../../pairings/x?y#z%");
      assertEquals(!slashed.ok && slashed.fault.kind, "unknown");
    },
  },
  {
    it: "sends no request for an unknown pairing",
    async holds({ service }) {
      const pairingId = "11111111-1111-4111-8111-111111111111";
      const asked = await service.initiate({ pairingId, terminalName: "VPN", context: CONTEXT });
      assertEquals(!asked.ok && asked.fault.kind, "unknown");
    },
  },
  {
    it: "sends no request without a terminal name",
    async holds(world) {
      const pairingId = await world.pair("ada");
      const asked = await world.service.initiate({ pairingId, terminalName: "", context: CONTEXT });
      assertEquals(!asked.ok && asked.fault.kind === "refused" && asked.fault.status, 400);
    },
  },
  {
    it: "sends no request for a pairing that ended",
    async holds(world) {
      const pairingId = await world.pair("ada");
      await world.pair("another that keeps the phone");
      await world.endPairing(pairingId);
      const asked = await world.service.initiate({ pairingId, terminalName: "VPN", context: CONTEXT });
      assertEquals(!asked.ok && asked.fault.kind === "refused" && [asked.fault.status, asked.fault.code], [
        409,
        707,
      ]);
      const { enabled, deactivated } = right(await world.service.pairing(pairingId));
      assertEquals([enabled, deactivated], [false, true]);
    },
  },
  {
    it: "grants a request with the right passcode of the device",
    async holds(world) {
      const pairingId = await world.pair("ada");
      const { id } = await ask(world, pairingId);
      const { pending, granted } = right(
        await world.service.otpAuth(id, await world.passcode(pairingId)),
      );
      assertEquals([pending, granted], [false, true]);
    },
  },
  {
    it: "denies a request with a wrong passcode of the device, and then refuses the right one",
    async holds(world) {
      const pairingId = await world.pair("ada");
      const { id } = await ask(world, pairingId);
      const code = await world.passcode(pairingId);
      const wrong = code === "000000" ? "000001" : "000000";
      const first = right(await world.service.otpAuth(id, wrong));
      assertEquals([first.pending, first.granted], [false, false]);
      const second = right(await world.service.otpAuth(id, code));
      assertEquals([second.pending, second.granted], [false, false]);
    },
  },
  {
    it: "pairs by a phrase, once, after the user confirmed",
    async holds(world) {
      const phrase = await world.offerPhrase();
      const created = right(await world.service.createPairing({ phrase, userName: "Ådä O'Neil+&=" }));
      assertEquals([created.enabled, created.pending, created.userName, created.totpLength], [
        false,
        true,
        "Ådä O'Neil+&=",
        6,
      ]);
      const asked = await world.service.initiate({
        pairingId: created.id,
        terminalName: "VPN",
        context: CONTEXT,
      });
      assertEquals(!asked.ok && asked.fault.kind === "refused" && asked.fault.code, 601);
      await world.confirmPairing(created.id);
      const { enabled, pending } = right(await world.service.pairing(created.id));
      assertEquals([enabled, pending], [true, false]);
      assertEquals((await ask(world, created.id)).pending, true);
      const again = await world.service.createPairing({ phrase, userName: "ada" });
      assertEquals(!again.ok && again.fault.kind, "unknown");
    },
  },
  {
    it: "does not pair by an unknown phrase",
    async holds({ service }) {
      const created = await service.createPairing({ phrase: "never offered 12345", userName: "ada" });
      assertEquals(!created.ok && created.fault.kind, "unknown");
    },
  },
  {
    it: "accepts a cancel and a watch for any request",
    async holds(world) {
      const { id } = await ask(world, await world.pair("ada"));
      const stop = world.service.onDecision(id, () => undefined);
      stop();
      await world.service.cancel(id);
      await world.service.cancel("never-heard-of");
      const { granted } = right(await world.service.status(id));
      assertEquals(granted, false);
    },
  },
];

for (const [name, open] of Object.entries(SECOND_FACTOR_SERVICES)) {
  for (const { it, holds } of EXPECTATIONS) {
    Deno.test(`SecondFactorService over ${name} ${it}`, async () => {
      await using world = await open();
      await holds(world);
    });
  }
}

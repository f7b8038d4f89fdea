// The behaviour of any telephony service, tested with an external one and the embedded outbox.

import { assertEquals } from "@std/assert";
import { right, type StartedTelephony, TELEPHONY_SERVICES } from "./start_services.ts";

const NUMBER = "+15551234567";

const EXPECTATIONS: readonly { it: string; holds: (world: StartedTelephony) => Promise<void> }[] = [
  {
    it: "delivers a text",
    async holds({ service, received }) {
      const sent = right(
        await service.text({ to: NUMBER, body: "Your passcode: 402913 & more", validitySeconds: 300 }),
      );
      assertEquals(sent.id.startsWith("SM"), true);
      assertEquals(await received(NUMBER), "402913");
    },
  },
  {
    it: "delivers a call with the digits spoken one by one",
    async holds({ service, received }) {
      const intro = "Countersign calls ada about VPN 9 <&>.";
      const sent = right(await service.call({ to: NUMBER, intro, digits: "0471" }));
      assertEquals(sent.id.startsWith("CA"), true);
      assertEquals(await received(NUMBER), "0471");
    },
  },
  {
    it: "refuses a call to an invalid number with the documented code",
    async holds({ service, received }) {
      for (const to of ["5551234567", "+0123456789", "+1555", "+1555123456x", "+155512345678901234"]) {
        const sent = await service.call({ to, intro: "Hello.", digits: "0471" });
        assertEquals(!sent.ok && sent.fault.kind === "refused" && [sent.fault.status, sent.fault.code], [
          400,
          13223,
        ]);
        assertEquals(await received(to), undefined);
      }
    },
  },
  {
    it: "refuses a text to an invalid number, an empty one, and one of 1,601 characters",
    async holds({ service, received }) {
      const refused = [["+0123", "402913", 21211], [NUMBER, "", 21602], [
        NUMBER,
        "9".repeat(1601),
        21617,
      ]] as const;
      for (const [to, body, code] of refused) {
        const sent = await service.text({ to, body, validitySeconds: 300 });
        assertEquals(!sent.ok && sent.fault.kind === "refused" && [sent.fault.status, sent.fault.code], [
          400,
          code,
        ]);
        assertEquals(await received(to), undefined);
      }
    },
  },
];

for (const [name, open] of Object.entries(TELEPHONY_SERVICES)) {
  for (const { it, holds } of EXPECTATIONS) {
    Deno.test(`TelephonyService over ${name} ${it}`, async () => {
      await using world = await open();
      await holds(world);
    });
  }
}

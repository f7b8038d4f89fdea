// Open invitations of a user: they end enrolment at login, and a pairing ends them, except those that the user made.

import { assertEquals } from "@std/assert";
import { type InProcess, startInProcess } from "./in_process.ts";
import { becomes } from "./passing_time.ts";
import { give, SEED } from "./people.ts";

const TOML = `[radius]\nfirst_factor = "directory"\n`;
const PASSWORDS = {
  hasPassword: () => Promise.resolve(true),
  directory: () => Promise.resolve("right" as const),
  ldap: () => Promise.resolve("unavailable" as const),
};

function embeddedOf({ services }: InProcess) {
  if (services.embedded === null) throw new Error("The test needs the embedded service");
  return services.embedded;
}

async function mayPair(world: InProcess): Promise<boolean> {
  const login = await world.begin({ user: "anna" }, "right");
  return (await login.answer("S")).step.startsWith("SECONDFACTOR_GET_PAIRING_PHRASE");
}

Deno.test("an open invitation ends enrolment at login, until it expires", async () => {
  await using world = await startInProcess({ embedded: true, toml: TOML, passwords: PASSWORDS });
  assertEquals(await mayPair(world), true);
  await embeddedOf(world).admin.invite("anna");
  assertEquals(await mayPair(world), false);
  world.clock.advance(25 * 3600_000);
  assertEquals(await mayPair(world), true);
});

for (
  const [what, enrol] of [
    ["an invitation that is used", async (world: InProcess) => {
      const { admin, phone } = embeddedOf(world);
      const { invitation } = await admin.invite("anna");
      const accepted = await phone.acceptInvitation(invitation, { token: null, source: "192.0.2.1" });
      assertEquals(accepted.ok, true);
    }],
    ["another factor", (world: InProcess) => give(world, "anna", { kind: "totp", seed: SEED })],
  ] as const
) {
  Deno.test(`${what} ends the other open invitations, except the user's own`, async () => {
    await using world = await startInProcess({ embedded: true, toml: TOML, passwords: PASSWORDS });
    const { admin, phone, service } = embeddedOf(world);
    const others = [await admin.invite("anna"), await admin.invite("anna")];
    const own = await admin.invite("anna", { isOwn: true });
    await enrol(world);
    await becomes("the end of the others", () => service.hasOpenInvitation?.("anna") === false);
    const view = async ({ invitation }: { invitation: string }) =>
      (await phone.viewInvitation(invitation, "192.0.2.1")).ok;
    assertEquals(await Promise.all([...others, own].map(view)), [false, false, true]);
  });
}

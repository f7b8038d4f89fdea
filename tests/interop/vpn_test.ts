// Logins of real VPN software: a push that is approved on the phone page, then an empty answer; and the accounting
// after it.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { type RunningProgram, startProgram } from "../support/program.ts";
import { testNeeding } from "../support/skip_unless.ts";
import { AUTHEN_RADIUS } from "./peers/authen_radius.ts";
import type { PeerRow } from "./peers/login.ts";
import { OPENCONNECT } from "./peers/openconnect.ts";
import { pairPhone } from "./phone.ts";
import { totpCode } from "../support/totp.ts";

const SETTINGS = `
[factors.device]
continue_wait_ms = 5000`;
const TOTP_SEED = "12345678901234567890";
const TOTP_SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

/** The two digits of the prompt that the user reads on the screen. */
function numberOf(shown: string): string {
  const [, number = ""] = /with the number (\d\d)/.exec(shown) ?? [];
  return number;
}

/** Logs in with a push; the answer to the prompt is empty. */
async function pushLogin(
  gateway: RunningProgram,
  peer: PeerRow,
  { user, isApproved }: { user: string; isApproved: boolean },
): Promise<void> {
  await using setUp = await peer.setUp({ port: gateway.radiusPort, secret: gateway.secret });
  const phone = await pairPhone(gateway, user);
  const login = await setUp.login({ name: user, password: "first" });
  await login.shows("press continue");
  const number = numberOf(login.screen?.() ?? "");
  assertMatch(number, /^\d\d$/);
  await (isApproved ? phone.approve(number) : phone.deny());
  await login.answer("");
  assertEquals((await login.end()).verdict, isApproved ? "accept" : "reject");
}

async function codeLogin(
  gateway: RunningProgram,
  peer: PeerRow,
  { user, type }: { user: string; type: (code: string) => string },
): Promise<"accept" | "reject"> {
  await using setUp = await peer.setUp({ port: gateway.radiusPort, secret: gateway.secret });
  const paired = await gateway.pair(user, "--totp", TOTP_SEED_BASE32);
  assertEquals(paired.code, 0, paired.stderr);
  const login = await setUp.login({ name: user, password: "first" });
  await login.shows("passcode that your device generates");
  await login.answer(type(totpCode(TOTP_SEED, Date.now())));
  return (await login.end()).verdict;
}

const wrong = (code: string) => [...code].map((digit) => String((Number(digit) + 1) % 10)).join("");

for (const peer of [OPENCONNECT, AUTHEN_RADIUS]) {
  testNeeding(peer.needs, `${peer.title}: push and code, as its users answer`, async (context) => {
    await using gateway = await startProgram({ toml: SETTINGS });
    await context.step(
      "an approved push, and an empty answer",
      () => pushLogin(gateway, peer, { user: "ada", isApproved: true }),
    );
    await context.step(
      "a denied push, and an empty answer",
      () => pushLogin(gateway, peer, { user: "bea", isApproved: false }),
    );
    await context.step("a correct code", async () => {
      assertEquals(await codeLogin(gateway, peer, { user: "cleo", type: (code) => code }), "accept");
    });
    await context.step("a correct code with the blank that phones show", async () => {
      const type = (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`;
      assertEquals(await codeLogin(gateway, peer, { user: "emma", type }), "accept");
    });
    await context.step("a wrong code", async () => {
      assertEquals(await codeLogin(gateway, peer, { user: "dora", type: wrong }), "reject");
    });
  });
}

/**
 * Does what openvpn-auth-radius does: a held login, then Accounting-Start. The tunnel opens only if that is answered.
 */
testNeeding(
  { peers: ["radclient"] },
  "the sequence of the OpenVPN plug-in: a held login, then Accounting-Start and the Stop are answered",
  async () => {
    await using gateway = await startProgram({ toml: '[radius]\ndevice = "hold"\nappend_mode = true' });
    const paired = await gateway.pair("ada", "--totp", TOTP_SEED_BASE32);
    assertEquals(paired.code, 0, paired.stderr);
    const code = totpCode(TOTP_SEED, Date.now());
    const login = `User-Name=ada,User-Password="first,${code}",NAS-Port=1,Calling-Station-Id=198.51.100.7`;
    assertMatch(await radclient(gateway, "auth", login), /Received Access-Accept/);
    const session = "User-Name=ada,Acct-Session-Id=ABC,NAS-Port=1,Framed-IP-Address=10.8.0.6";
    assertMatch(
      await radclient(gateway, "acct", `${session},Acct-Status-Type=Start`),
      /Received Accounting-Response/,
    );
    const stop = `${session},Acct-Status-Type=Stop,Acct-Input-Octets=5,Acct-Terminate-Cause=User-Request`;
    assertMatch(await radclient(gateway, "acct", stop), /Received Accounting-Response/);
    // The plug-in may use the authentication port for both.
    assertMatch(
      await radclient(
        gateway,
        "acct",
        `${session},Acct-Status-Type=Start,Acct-Delay-Time=0`,
        gateway.radiusPort,
      ),
      /Received Accounting-Response/,
    );
    assert((await gateway.logged("Accounting-Request")).includes("Acct-Session-Id="));
  },
);

async function radclient(
  gateway: RunningProgram,
  what: "auth" | "acct",
  attributes: string,
  port = what === "auth" ? gateway.radiusPort : gateway.accountingPort,
): Promise<string> {
  const { stdout, stderr } = await runProgram("radclient", {
    args: ["-x", "-t", "3", "-r", "3", `127.0.0.1:${port}`, what, gateway.secret],
    stdin: `${attributes}\n`,
    timeoutMs: 20_000,
  });
  return `${stdout}${stderr}`;
}

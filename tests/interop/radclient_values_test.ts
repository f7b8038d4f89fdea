// Values that real clients send, with radclient: in another encoding than UTF-8, in place of a password, in requests that are no logins, and in
// health checks.

import { assert, assertEquals } from "@std/assert";
import { runProgram } from "../support/child.ts";
import { startProgram } from "../support/program.ts";

const SECRET = "shared-with-radclient";
const TOML = `[[radius.client]]
name = "vpn"
address = ["127.0.0.1"]
secret = "${SECRET}"
message_authenticator = "off"
health_check_users = ["probe"]
`;

/** Attributes, and what radclient prints of the reply. */
const ROWS: Readonly<Record<string, readonly [attributes: string, expected: readonly string[]]>> = {
  "a challenge with Prompt": [
    'User-Name = "ada",User-Password = "x"',
    ["Access-Challenge", "Prompt = Echo"],
  ],
  "a name in Windows-1252": [
    'User-Name = "k\\366lbel",User-Password = "K\\366ln",Message-Authenticator = 0x00',
    ["Access-Challenge"],
  ],
  "an unsigned password in Windows-1252": [
    'User-Name = "ada",User-Password = "K\\366ln und \\304hnliches"',
    ["Access-Challenge"],
  ],
  "the password of sshd, unsigned": [
    'User-Name = "root",User-Password = "\\010\\012\\015\\177INCORRECT"',
    ["Access-Reject", "Access denied."],
  ],
  "MAC authentication": [
    'User-Name = "0050568a1b2c",User-Password = "0050568a1b2c",Service-Type = 10',
    ["Access-Reject", "not supported here"],
  ],
  "Authorize-Only": [
    'User-Name = "ada",Service-Type = Authorize-Only,Message-Authenticator = 0x00',
    ["Access-Reject", "not supported here"],
  ],
  "a health check": ['User-Name = "probe",User-Password = "x"', ["Access-Reject"]],
};

Deno.test("radclient: encodings, sshd, requests that are no logins, and health checks", async (context) => {
  await using gateway = await startProgram({ toml: TOML });
  for (const [title, [attributes, expected]] of Object.entries(ROWS)) {
    await context.step(title, async () => {
      const { stdout, stderr } = await runProgram("radclient", {
        args: ["-x", "-t", "8", "-r", "2", `127.0.0.1:${gateway.radiusPort}`, "auth", SECRET],
        stdin: `${attributes}\n`,
        timeoutMs: 20_000,
      });
      const text = stdout.slice(stdout.indexOf("Received "));
      for (const part of expected) assert(text.includes(part), `${part} is not in:\n${stdout}${stderr}`);
    });
  }
  await gateway.logged("k\u00f6lbel");
  const lines = gateway.logLines();
  const count = (part: string) => lines.filter((line) => line.includes(part)).length;
  assertEquals([count("read as Windows-1252"), count("sshd asks"), count("probe")], [1, 1, 0]);
});

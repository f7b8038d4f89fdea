// The secret of a command: typed at a terminal, or from a pipe.

import { assertEquals } from "@std/assert";
import { readSecretLine, type SecretInput } from "../../cli/terminal.ts";

function keyboard(typed: string, { terminal = true } = {}): SecretInput & { modes: boolean[] } {
  const octets = new TextEncoder().encode(typed);
  const modes: boolean[] = [];
  let at = 0;
  return {
    modes,
    isTerminal: () => terminal,
    setRaw: (mode) => void modes.push(mode),
    read(buffer) {
      if (at >= octets.length) return Promise.resolve(null);
      buffer[0] = octets[at++] ?? 0;
      return Promise.resolve(1);
    },
  };
}

/** Keys, and the resulting secret. */
const KEYS = [
  ["abc\r", "abc"],
  ["abx\x7fc\n", "abc"],
  ["\x08\x7fabc\x04", "abc"],
  [" abc ", "abc"],
  ["abc\x03", null],
  ["", ""],
  ["a".repeat(4097), null],
] as const;

for (const [keys, secret] of KEYS) {
  Deno.test(`readSecretLine() reads ${JSON.stringify(keys.slice(0, 20))} at a terminal without an echo`, async () => {
    const input = keyboard(keys);
    let prompted = "";
    assertEquals(await readSecretLine(input, (text) => void (prompted += text)), secret);
    assertEquals(input.modes, [true, false]);
    assertEquals(prompted, "TOTP secret (hidden): \n");
  });
}

Deno.test("readSecretLine() reads a pipe unchanged and without a prompt", async () => {
  const input = keyboard("abc\ndef\n", { terminal: false });
  assertEquals(await readSecretLine(input, () => assertEquals("asked", "not asked")), "abc");
  assertEquals(input.modes, []);
});

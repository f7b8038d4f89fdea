// What was typed: options, words, and a secret at a terminal.

import { assertEquals } from "@std/assert";
import { readTyped } from "../../commands/typed.ts";
import { readSecretLine, type SecretInput } from "../../commands/typed_secret.ts";

const KNOWN = new Map([["--sms", "value"], ["--list", "alone"]] as const);

/** Arguments, the words and the options that they are; `null` when they are refused. */
const TYPED = [
  [["ann", "--sms", "+1"], [["ann"], [["--sms", "+1"]]]],
  [["--sms=+1", "ann"], [["ann"], [["--sms", "+1"]]]],
  [["--sms=a=b"], [[], [["--sms", "a=b"]]]],
  [["--sms", "--list"], [[], [["--sms", "--list"]]]],
  [["--sms", "-"], [[], [["--sms", "-"]]]],
  [["--list", "--", "--sms"], [["--sms"], [["--list", null]]]],
  [["-x"], [["-x"], []]],
  [[], [[], []]],
  [["--sms"], null],
  [["--list=1"], null],
  [["--list", "--list"], null],
  [["--lists"], null],
  [["--__proto__"], null],
] as const;

for (const [args, expected] of TYPED) {
  Deno.test(`readTyped() reads ${JSON.stringify(args)}`, () => {
    const typed = readTyped(args, KNOWN);
    assertEquals(typed.ok ? [typed.words, [...typed.options]] : null, expected as unknown);
  });
}

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

/** Keys, and the secret that they are. */
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
    assertEquals(prompted, "TOTP secret (it is not shown): \n");
  });
}

Deno.test("readSecretLine() leaves a pipe as it is and asks nothing", async () => {
  const input = keyboard("abc\ndef\n", { terminal: false });
  assertEquals(await readSecretLine(input, () => assertEquals("asked", "not asked")), "abc");
  assertEquals(input.modes, []);
});

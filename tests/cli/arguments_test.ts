// The arguments of a command: options, words, and refusals.

import { assert, assertEquals } from "@std/assert";
import { parseCommandArgs } from "../../cli/terminal.ts";

const OPTIONS = {
  sms: { type: "string" },
  list: { type: "boolean" },
  target: { type: "string", multiple: true },
} as const;

/** Arguments, and the resulting words and values. */
const PARSED = [
  [["ann", "--sms", "+1"], [["ann"], { sms: "+1" }]],
  [["--sms=+1", "ann"], [["ann"], { sms: "+1" }]],
  [["--sms=a=b"], [[], { sms: "a=b" }]],
  [["--sms=--list"], [[], { sms: "--list" }]],
  [["--sms", "-"], [[], { sms: "-" }]],
  [["--list", "--", "--sms", "-x"], [["--sms", "-x"], { list: true }]],
  [["--target", "a", "--target=b"], [[], { target: ["a", "b"] }]],
  [[], [[], {}]],
] as const;

for (const [args, [words, values]] of PARSED) {
  Deno.test(`parseCommandArgs() reads ${JSON.stringify(args)}`, () => {
    const parsed = parseCommandArgs(args, OPTIONS);
    assert(parsed.ok);
    assertEquals([parsed.words, { ...parsed.values }], [[...words], { ...values }] as unknown);
  });
}

/** Arguments, and the reason of each refusal. */
const REFUSED = [
  [["--sms"], "option '--sms <value>' argument missing"],
  [["--sms", "--list"], "option '--sms' argument is ambiguous"],
  [["--list=secret"], "option '--list' does not take an argument"],
  [["--list", "--list"], "option '--list' is repeated"],
  [["--sms=secret", "--sms=secret"], "option '--sms' is repeated"],
  [["--lists=secret"], "unknown option '--lists'"],
  [["-x"], "unknown option '-x'"],
  [["--__proto__"], "unknown option '--__proto__'"],
] as const;

for (const [args, problem] of REFUSED) {
  Deno.test(`parseCommandArgs() refuses ${JSON.stringify(args)} and repeats no value`, () => {
    assertEquals(parseCommandArgs(args, OPTIONS), { ok: false, problem });
  });
}

// The table of the flow, and its prompts.

import { assert, assertEquals } from "@std/assert";
import {
  CONDITIONS,
  type Factor,
  FACTOR_ORDER,
  type Facts,
  type FlowCondition,
  menuOf,
  NOTHING_KNOWN,
} from "../../radius/flow/context.ts";
import { MAX_VALUE_OCTETS } from "../../radius/protocol/packet.ts";
import { EFFECTS, FLOW, type FlowRow, rowsFrom, step } from "../../radius/flow/flow.ts";
import {
  type Prompt,
  type PromptContext,
  PROMPTS,
  renderPrompt,
  splitReplyMessage,
} from "../../radius/flow/prompts.ts";
import { type FlowPlace, isStep, PASSAGES, STEPS } from "../../radius/protocol/steps.ts";
import fc from "../packages/fast_check.ts";

// Laws of the flow table: properties that hold for every row.

const PLACES = [...Object.keys(STEPS), ...Object.keys(PASSAGES)] as FlowPlace[];
const CANCEL = "Type cancel to start over. ";
/** The conditions that only a successful factor makes true, and the effects that must come before them. */
const PROOFS = new Map<FlowCondition, readonly string[]>([
  ["approved", ["ask_approval", "hold", "ask_otp"]],
  ["passcode_matches", []],
  ["totp_matches", []],
  ["recovery_code_matches", []],
  ["bypass_code_matches", []],
  ["kept_passcode_matches", []],
  // By an order of an administrator, and after the password.
  ["policy_bypasses", []],
  ["device_remembered", []],
  // While a password is due, the rows above lead to its change instead of accept.
  ["password_changed", ["change_password"]],
]);

const isEnd = (to: FlowRow["to"]): to is "accept" | "reject" => to === "accept" || to === "reject";
const placed = ({ from, name }: FlowRow) => `${from} ${name}`;
const outsideOf = (row: FlowRow) => row.then.filter((effect) => EFFECTS[effect].upstream);

/** The conditions of a row; `always` has none. */
function asked({ when }: FlowRow): FlowCondition[] {
  return when.filter((condition) => condition !== "always");
}

function reachable(): Set<FlowPlace> {
  const seen = new Set<FlowPlace>(["start", "gone"]);
  for (const place of seen) {
    for (const { to } of rowsFrom(place)) if (!isEnd(to)) seen.add(to);
  }
  return seen;
}

Deno.test("FLOW can reach every step and every passage from the start of a login", () => {
  assertEquals([...reachable()].sort(), [...PLACES].sort());
});

Deno.test("FLOW ends every step in a row that always applies, and has none after it", () => {
  for (const place of PLACES) {
    const rows = rowsFrom(place);
    assert(rows.length > 0, place);
    assertEquals(rows.findIndex((row) => asked(row).length === 0), rows.length - 1, place);
  }
});

Deno.test("FLOW has no row that an earlier row with fewer conditions shadows", () => {
  for (const place of PLACES) {
    const rows = rowsFrom(place);
    for (const [at, row] of rows.entries()) {
      const own = new Set(asked(row));
      const shadow = rows.slice(0, at).find((earlier) =>
        asked(earlier).every((condition) => own.has(condition))
      );
      assertEquals(shadow && placed(shadow), undefined, placed(row));
    }
  }
});

Deno.test("FLOW checks at every step whether the user is refused, the policy, and Cancel, before anything else", () => {
  for (const place of PLACES.filter(isStep)) {
    assertEquals(
      rowsFrom(place).slice(0, 6).map(({ name }) => name),
      [
        "refused_meanwhile",
        "denied_by_policy_meanwhile",
        "bypassed_by_policy_meanwhile",
        "cancelled_before_first_factor",
        "cancelled",
        "forbidden_by_policy_meanwhile",
      ],
      place,
    );
  }
});

Deno.test("FLOW reaches accept only through a successful factor", () => {
  const accepting = FLOW.filter(({ to }) => to === "accept");
  assert(accepting.length > 0);
  for (const row of accepting) {
    assert(row.when.some((condition) => PROOFS.has(condition)), placed(row));
  }
});

Deno.test("FLOW uses a decision only after the effect that requested it", () => {
  for (const row of FLOW) {
    const effects = row.when.flatMap((condition) => PROOFS.get(condition) ?? []);
    if (effects.length === 0) continue;
    const into = FLOW.filter(({ to }) => to === row.from);
    assert(into.length > 0, placed(row));
    for (const before of into) {
      assert(before.then.some((effect) => effects.includes(effect)), `${placed(before)} → ${placed(row)}`);
    }
  }
});

Deno.test("FLOW checks whether the user is refused before each row that accepts", () => {
  for (const row of FLOW.filter(({ to }) => to === "accept")) {
    const rows = row.from === "*" ? FLOW.filter(({ from }) => from === "*") : rowsFrom(row.from);
    const at = rows.indexOf(row);
    const refusing = rows.slice(0, at).some(({ when, to }) =>
      when.includes("user_refused") && to === "reject"
    );
    assert(refusing, placed(row));
  }
});

Deno.test("FLOW selects no factor before the first factor is verified or is not configured", () => {
  const into = FLOW.filter(({ to }) => to === "factor");
  assertEquals(into.map(placed).sort(), [
    "FIRSTFACTOR_REPEAT_NEW_PASSWORD new_password_repeated",
    "first_factor first_factor_right",
    "start no_first_factor",
  ]);
  const start = rowsFrom("start");
  const before = start.slice(0, start.findIndex(({ to }) => to === "first_factor"));
  assertEquals(before.map(({ to }) => to), ["reject", "reject"]);
  const asking = rowsFrom("FIRSTFACTOR_GET_ANSWER").filter(({ from }) => from !== "*");
  assertEquals(asking.map(({ name, to }) => [name, to]), [["first_factor_answered", "first_factor"]]);
  assertEquals(rowsFrom("first_factor").filter(({ to }) => to !== "reject").map(({ name }) => name), [
    "password_to_change",
    "first_factor_asks",
    "bypassed_after_first_factor",
    "remembered_after_first_factor",
    "first_factor_right",
  ]);
});

Deno.test("step() accepts no login whose password is due, except after the change", () => {
  const accepting = FLOW.filter(({ to, from }) => to === "accept" && from !== "*");
  for (const { from, when, name } of accepting) {
    // Each fact of the row's conditions, and none of the others.
    const facts = factsFor(when);
    if (step(from as FlowPlace, facts).name !== name) continue;
    const due = step(from as FlowPlace, { ...facts, passwordDue: true });
    assertEquals([due.name, due.to], [name, from === "changing_password" ? "accept" : "password_due"]);
  }
  const before = FLOW.filter(({ to }) => to === "password_due");
  assertEquals(before.map(({ when }) => when.includes("factor_was_right")), [true]);
});

Deno.test("step() accepts nowhere while no Access-Accept can be sent, forgets no failures, and keeps used codes used", () => {
  for (const { from, when, name, then } of FLOW.filter(({ to, from }) => to === "accept" && from !== "*")) {
    const facts = factsFor(when);
    if (step(from as FlowPlace, facts).name !== name) continue;
    for (const acceptFault of ["reply_unreadable", "accept_too_large"] as const) {
      const row = step(from as FlowPlace, { ...facts, acceptFault });
      assertEquals([row.name, row.to, row.prompt], [acceptFault, "reject", "denied"]);
      assert(!row.then.includes("clear_failures") && !row.then.includes("remember_device"));
      const isTaken = (effect: string) => effect.startsWith("take_");
      if (from !== "first_factor") assertEquals(row.then.filter(isTaken), then.filter(isTaken));
    }
  }
});

/** Facts that make the conditions of an accepting row true. */
function factsFor(when: FlowRow["when"]): Facts {
  const given: Partial<Record<FlowCondition, Partial<Facts>>> = {
    approved: { decision: "granted" },
    passcode_matches: { passcodeMatches: true, answer: "1" },
    totp_matches: { totpStep: 1 },
    recovery_code_matches: { recoveryCodeMatches: true },
    bypass_code_matches: { bypassCodeMatches: true },
    kept_passcode_matches: { keptPasscodeMatches: true },
    password_changed: { passwordChange: "changed" },
    policy_bypasses: { policyBypasses: true },
    device_remembered: { deviceRemembered: true },
  };
  return Object.assign({ ...NOTHING_KNOWN }, ...when.map((condition) => given[condition] ?? {})) as Facts;
}

Deno.test("FLOW has at most one external effect in a row, as the last one, and that row leads to a passage or an end", () => {
  for (const row of FLOW) {
    const outside = outsideOf(row);
    assert(outside.length <= 1, placed(row));
    if (outside.length === 0) continue;
    assertEquals(row.then.at(-1), outside[0], placed(row));
    assert(isEnd(row.to) || !isStep(row.to), placed(row));
  }
});

Deno.test("FLOW makes an effect that must happen once only on the way to a passage that has a row for a crash", () => {
  for (const row of FLOW) {
    if (!row.then.some((effect) => "claimed" in EFFECTS[effect])) continue;
    assert(!isEnd(row.to) && !isStep(row.to), placed(row));
    const passage = PASSAGES[row.to as keyof typeof PASSAGES];
    assert(passage.afterCrash !== null, placed(row));
  }
});

Deno.test("FLOW leaves every passage after a bounded number of rows", () => {
  const longest = (place: FlowPlace, before: readonly FlowPlace[]): number => {
    assert(!before.includes(place), [...before, place].join(" → "));
    return 1 +
      Math.max(
        ...rowsFrom(place).map(({ to }) => isEnd(to) || isStep(to) ? 0 : longest(to, [...before, place])),
      );
  };
  for (const place of PLACES.filter((one) => !isStep(one))) assert(longest(place, []) <= 8, place);
});

Deno.test("FLOW has a prompt wherever a reply is sent, and none on the way to a passage", () => {
  for (const row of FLOW) {
    const leaves = isEnd(row.to) || isStep(row.to);
    assertEquals(row.prompt !== null, leaves, placed(row));
    if (row.prompt !== null) assertEquals("final" in PROMPTS[row.prompt], isEnd(row.to), placed(row));
  }
});

Deno.test("FLOW gives each row a unique name", () => {
  assertEquals(new Set(FLOW.map(({ name }) => name)).size, FLOW.length);
});

Deno.test("FLOW uses every condition and every effect", () => {
  const conditions = new Set(FLOW.flatMap(({ when }) => when));
  assertEquals(Object.keys(CONDITIONS).filter((name) => !conditions.has(name as FlowCondition)), []);
  const effects = new Set<string>(FLOW.flatMap(({ then }) => then));
  assertEquals(Object.keys(EFFECTS).filter((name) => !effects.has(name)), []);
});

Deno.test("PROMPTS that ask a question end with the way to start over, and final ones do not mention it", () => {
  for (const [name, row] of Object.entries(PROMPTS)) {
    assertEquals(row.text.endsWith(`\n${CANCEL}`), !("final" in row), name);
  }
});

Deno.test("PROMPTS fit into Reply-Messages with all values filled in, and are split at line breaks only", () => {
  const numbers = Array.from({ length: 9 }, (_, at) => `+49151123456789${at}`.slice(0, 16));
  const menu = new Set(FACTOR_ORDER);
  for (const name of Object.keys(PROMPTS) as Prompt[]) {
    const text = renderPrompt(name, { menu, numberToMatch: "42", numbers });
    assertEquals(/[{}]/.test(text), false, name);
    const parts = splitReplyMessage(text);
    for (const part of parts) assert(part.length > 0 && part.length <= MAX_VALUE_OCTETS, name);
    for (const part of parts.slice(0, -1)) assertEquals(part.at(-1), 0x0a, name);
    assertEquals(parts.map((part) => new TextDecoder().decode(part)).join(""), text, name);
  }
});

// Prompts: the inserted values, and the division of a text into Reply-Messages.

const ALL: ReadonlySet<Factor> = new Set<Factor>(["device", "sms", "voice", "totp"]);
const NAMES = Object.keys(PROMPTS) as Prompt[];
const FULL: PromptContext = {
  menu: ALL,
  numberToMatch: "42",
  numbers: Array.from({ length: 9 }, (_, i) => `+12345678901234${i}`),
};
const PLAIN: PromptContext = { menu: ALL, numberToMatch: null, numbers: [] };

for (const name of NAMES) {
  Deno.test(`renderPrompt() leaves no brace in "${name}", and explains how to start over unless it is final`, () => {
    for (const context of [PLAIN, FULL, PLAIN]) {
      const text = renderPrompt(name, context);
      assert(text !== "" && !/[{}]/.test(text), text);
      const row: { readonly text: string; readonly final?: true } = PROMPTS[name];
      assertEquals(text.endsWith("Type cancel to start over. "), row.final !== true, text);
      for (const part of splitReplyMessage(text)) assert(part.length <= 253);
    }
  });
}

Deno.test("renderPrompt() lists the factors that are enabled, by their letters", () => {
  const lettersOf = (...factors: Factor[]) =>
    renderPrompt("menu", { ...PLAIN, menu: menuOf(new Set(factors)) }).split("\n").slice(1, -1)
      .map((line) => line[0]).join("");
  assertEquals(lettersOf("device", "sms", "voice", "totp"), "STPD");
  assertEquals(lettersOf("sms"), "T");
  // A paired device may generate passcodes, so D is listed for it too.
  assertEquals(lettersOf("device"), "SD");
  assertEquals(lettersOf("device", "sms", "voice", "totp"), "STPD");
});

Deno.test("renderPrompt() shows the number to match if there is one, and does not mention it otherwise", () => {
  const without = renderPrompt("approve_on_device", PLAIN);
  const withOne = renderPrompt("approve_on_device", { ...PLAIN, numberToMatch: "07" });
  assert(withOne.includes(" with the number 07,"), withOne);
  assertEquals(renderPrompt("approve_on_device", PLAIN), without);
  assert(!/[0-9]/.test(without));
});

Deno.test("renderPrompt() shows masked numbers, each with its line number", () => {
  const text = renderPrompt("which_sms_number", FULL);
  for (const [at, number] of FULL.numbers.entries()) {
    assert(text.includes(`\n${at + 1}: ${number.slice(0, 2)}`), text);
    assert(!text.includes(number), text);
  }
});

Deno.test("renderPrompt() inserts values as they are, not as a pattern", () => {
  const text = renderPrompt("approve_on_device", { ...PLAIN, numberToMatch: "$& $' {menu}" });
  assert(text.includes("$& $' {menu}"), text);
});

const CUTS: readonly (readonly [string, string, number[]])[] = [
  ["nothing of an empty text", "", []],
  ["one of 253 octets", "x".repeat(253), [253]],
  ["two of 254 octets", "x".repeat(254), [253, 1]],
  ["two at the last line break", `${"x".repeat(200)}\n${"y".repeat(200)}`, [201, 200]],
  ["two at a line break that just fits", `${"x".repeat(252)}\n${"y".repeat(10)}`, [253, 10]],
  ["a part up to an early line break, not up to the middle of a line", `a\n${"x".repeat(300)}`, [2, 253, 47]],
  ["between characters of two octets", "é".repeat(127), [252, 2]],
  ["between characters of four octets", "😀".repeat(64), [252, 4]],
];
for (const [what, text, sizes] of CUTS) {
  Deno.test(`splitReplyMessage() makes ${what}`, () => {
    assertEquals(splitReplyMessage(text).map(({ length }) => length), sizes);
  });
}

Deno.test("splitReplyMessage() loses nothing, splits no character, and each part has 1 to 253 octets", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 400 }),
    fc.string({ unit: fc.constantFrom("a", "é", "漢", "😀", "\n"), maxLength: 700 }),
  );
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  fc.assert(fc.property(texts, (text) => {
    const parts = splitReplyMessage(text);
    assert(parts.every(({ length }) => length >= 1 && length <= 253));
    assertEquals(parts.map((part) => strict.decode(part)).join(""), text);
  }));
});

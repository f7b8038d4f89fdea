// Laws of the flow table: what must hold for every row, whatever rows there are.

import { assert, assertEquals } from "@std/assert";
import { PAGES } from "../../docs/generate.ts";
import { CONDITIONS, type FlowCondition } from "../../radius/flow/conditions.ts";
import { MAX_VALUE_OCTETS } from "../../radius/protocol/packet.ts";
import { EFFECTS, FLOW, type FlowRow, rowsFrom } from "../../radius/flow/flow.ts";
import { FACTOR_ORDER } from "../../radius/flow/context.ts";
import { type Prompt, PROMPTS, renderPrompt, splitReplyMessage } from "../../radius/flow/prompts.ts";
import { type FlowPlace, isStep, PASSAGES, STEPS } from "../../radius/protocol/steps.ts";

const PLACES = [...Object.keys(STEPS), ...Object.keys(PASSAGES)] as FlowPlace[];
const CANCEL = "Type cancel to start over. ";
/** What only a factor that succeeded makes true, and the effects after which it can be. */
const PROOFS = new Map<FlowCondition, readonly string[]>([
  ["approved", ["ask_approval", "hold", "ask_otp"]],
  ["passcode_matches", []],
  ["totp_matches", []],
  ["recovery_code_matches", []],
]);

const isEnd = (to: FlowRow["to"]): to is "accept" | "reject" => to === "accept" || to === "reject";
const placed = ({ from, name }: FlowRow) => `${from} ${name}`;
const outsideOf = (row: FlowRow) => row.then.filter((effect) => EFFECTS[effect].outside);

/** The conditions of a row; `always` asks for nothing. */
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

Deno.test("FLOW reaches every step and every passage from the start of a login", () => {
  assertEquals([...reachable()].sort(), [...PLACES].sort());
});

Deno.test("FLOW ends every place in a row that always holds, and has none after it", () => {
  for (const place of PLACES) {
    const rows = rowsFrom(place);
    assert(rows.length > 0, place);
    assertEquals(rows.findIndex((row) => asked(row).length === 0), rows.length - 1, place);
  }
});

Deno.test("FLOW shadows no row by an earlier one that asks for less", () => {
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

Deno.test("FLOW asks at every step whether the user is refused, and for Cancel, before anything else", () => {
  for (const place of PLACES.filter(isStep)) {
    assertEquals(
      rowsFrom(place).slice(0, 2).map(({ name }) => name),
      ["refused_meanwhile", "cancelled"],
      place,
    );
  }
});

Deno.test("FLOW reaches accept only by a factor that succeeded", () => {
  const accepting = FLOW.filter(({ to }) => to === "accept");
  assert(accepting.length > 0);
  for (const row of accepting) {
    assert(row.when.some((condition) => PROOFS.has(condition)), placed(row));
  }
});

Deno.test("FLOW looks at a decision only behind the effect that asked for it", () => {
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

Deno.test("FLOW asks again whether the user is refused after each wait for another service", () => {
  for (const row of FLOW.filter(({ to }) => to === "accept")) {
    const rows = row.from === "*" ? [] : rowsFrom(row.from);
    const at = rows.indexOf(row);
    const refusing = rows.slice(0, at).some(({ when, to }) =>
      when.includes("user_refused") && to === "reject"
    );
    assert(refusing, placed(row));
  }
});

Deno.test("FLOW picks no factor before the first factor was right or none is configured", () => {
  const into = FLOW.filter(({ to }) => to === "factor");
  assertEquals(into.map(placed).sort(), ["first_factor first_factor_right", "start no_first_factor"]);
  const start = rowsFrom("start");
  const before = start.slice(0, start.findIndex(({ to }) => to === "first_factor"));
  assertEquals(before.map(({ to }) => to), ["reject"]);
  assertEquals(rowsFrom("first_factor").filter(({ to }) => to !== "reject").map(({ name }) => name), [
    "first_factor_right",
  ]);
});

Deno.test("FLOW makes at most one effect outside in a row, last, and into a passage or an end", () => {
  for (const row of FLOW) {
    const outside = outsideOf(row);
    assert(outside.length <= 1, placed(row));
    if (outside.length === 0) continue;
    assertEquals(row.then.at(-1), outside[0], placed(row));
    assert(isEnd(row.to) || !isStep(row.to), placed(row));
  }
});

Deno.test("FLOW makes an effect that must happen once only into a passage that a crash leads out of", () => {
  for (const row of FLOW) {
    if (!row.then.some((effect) => "claimed" in EFFECTS[effect])) continue;
    assert(!isEnd(row.to) && !isStep(row.to), placed(row));
    const passage = PASSAGES[row.to as keyof typeof PASSAGES];
    assert(passage.afterCrash !== null, placed(row));
  }
});

Deno.test("FLOW leads out of every passage in a bounded number of rows", () => {
  const longest = (place: FlowPlace, before: readonly FlowPlace[]): number => {
    assert(!before.includes(place), [...before, place].join(" → "));
    return 1 +
      Math.max(
        ...rowsFrom(place).map(({ to }) => isEnd(to) || isStep(to) ? 0 : longest(to, [...before, place])),
      );
  };
  for (const place of PLACES.filter((one) => !isStep(one))) assert(longest(place, []) <= 8, place);
});

Deno.test("FLOW says something wherever a reply leaves, and nothing on the way into a passage", () => {
  for (const row of FLOW) {
    const leaves = isEnd(row.to) || isStep(row.to);
    assertEquals(row.say !== null, leaves, placed(row));
    if (row.say !== null) assertEquals("final" in PROMPTS[row.say], isEnd(row.to), placed(row));
  }
});

Deno.test("FLOW names each row once", () => {
  assertEquals(new Set(FLOW.map(({ name }) => name)).size, FLOW.length);
});

Deno.test("FLOW uses every condition and every effect", () => {
  const conditions = new Set(FLOW.flatMap(({ when }) => when));
  assertEquals(Object.keys(CONDITIONS).filter((name) => !conditions.has(name as FlowCondition)), []);
  const effects = new Set<string>(FLOW.flatMap(({ then }) => then));
  assertEquals(Object.keys(EFFECTS).filter((name) => !effects.has(name)), []);
});

Deno.test("PROMPTS that ask for something end with the way to start over, and final ones do not mention it", () => {
  for (const [name, row] of Object.entries(PROMPTS)) {
    assertEquals(row.text.endsWith(`\n${CANCEL}`), !("final" in row), name);
  }
});

Deno.test("PROMPTS fit into Reply-Messages with everything in them, cut at line breaks only", () => {
  const numbers = Array.from({ length: 9 }, (_, at) => `+49151123456789${at}`.slice(0, 16));
  const enabled = new Set(FACTOR_ORDER);
  for (const name of Object.keys(PROMPTS) as Prompt[]) {
    const text = renderPrompt(name, { enabled, numberToMatch: "42", numbers });
    assertEquals(/[{}]/.test(text), false, name);
    const parts = splitReplyMessage(text);
    for (const part of parts) assert(part.length > 0 && part.length <= MAX_VALUE_OCTETS, name);
    for (const part of parts.slice(0, -1)) assertEquals(part.at(-1), 0x0a, name);
    assertEquals(parts.map((part) => new TextDecoder().decode(part)).join(""), text, name);
  }
});

for (const [name, write] of Object.entries(PAGES)) {
  Deno.test(`docs/${name} is what the tables say`, async () => {
    const written = await Deno.readTextFile(new URL(`../../docs/${name}`, import.meta.url));
    assertEquals(written, write());
  });
}

// Passwords of packets, and the queue that checks them.

import { assertEquals } from "@std/assert";
import { readAppended, readCode } from "../../radius/protocol/login_input.ts";
import { CheckQueue, UserChecks } from "../../radius/factors/first_factor.ts";
import type { FirstFactorVerdict } from "../../radius/ports.ts";
import { createManualClock, settle } from "../upstream/manual_clock.ts";

// Parsing of typed codes and of passwords in append mode.

for (
  const [typed, code] of [
    ["123456", "123456"],
    ["123 456", "123456"],
    ["123-456", "123456"],
    ["12 34-56", "123456"],
    ["123\u00a0456", "123456"],
    ["123\u2011456", "123456"],
    ["123\u2013456", "123456"],
    ["12 34", "1234"],
    ["-", "-"],
    ["", ""],
    ["abcde-fghij", "abcde-fghij"],
    ["maple river 7", "maple river 7"],
    ["+49 151 12345678", "+49 151 12345678"],
    ["123.456", "123.456"],
  ] as const
) {
  Deno.test(`readCode(${JSON.stringify(typed)}) is ${JSON.stringify(code)}`, () => {
    assertEquals(readCode(typed), code);
  });
}

interface SplitOptions {
  readonly hasBypassCode?: boolean;
  readonly codePosition?: "separated" | "behind" | "front";
  readonly digits?: readonly number[];
  /** The only right code. */
  readonly right?: string;
}

const split = (
  typed: string,
  separator: string,
  firstFactor: "none" | "directory" = "directory",
  { hasBypassCode = false, codePosition = "separated", digits = [], right = "" }: SplitOptions = {},
) => {
  const policy = { appendMode: true, appendSeparator: separator, codePosition, firstFactor };
  const codes = { hasBypassCode, sentDigits: 0, digits, matches: (code: string) => code === right };
  const { password, appended } = readAppended(new TextEncoder().encode(typed), policy, codes);
  return [new TextDecoder().decode(password), appended];
};

Deno.test("readAppended() splits only at the last separator, and only before a code or a known word", () => {
  assertEquals(split("a,b,123456", ","), ["a,b", { kind: "code", code: "123456" }]);
  assertEquals(split("a,12 34-5678", ","), ["a", { kind: "code", code: "12345678" }]);
  assertEquals(split("a,123456", ":"), ["a,123456", null]);
  assertEquals(split("a: PHONE ", ":"), ["a", { kind: "call", nth: 0 }]);
  assertEquals(split("a,auto", ","), ["a", { kind: "auto", nth: 0 }]);
  assertEquals(split("a,123456789", ","), ["a,123456789", null]);
  assertEquals(split(`a,${"1 ".repeat(13)}`, ","), [`a,${"1 ".repeat(13)}`, null]);
  assertEquals(split("123456", ",", "none"), ["", { kind: "code", code: "123456" }]);
  assertEquals(split("123456", ","), ["123456", null]);
  assertEquals(split("push", ","), ["push", null]);
  assertEquals(split("push", ",", "none"), ["", { kind: "push", nth: 0 }]);
  assertEquals(split("a,push2", ","), ["a", { kind: "push", nth: 2 }]);
  assertEquals(split("a,PHONE12", ","), ["a", { kind: "call", nth: 12 }]);
  for (
    const text of [
      "a,",
      "a,12345",
      "a;123456",
      "12345",
      "a,push0",
      "a,push123",
      "a,auto2",
      "a,push 2",
      "a,pushy",
      "a,toString",
    ]
  ) {
    assertEquals(split(text, ","), [text, null]);
  }
});

Deno.test("readAppended() takes ten digits for a bypass code only if the user has one", () => {
  const bypass = { kind: "bypass", code: "1234567890" } as const;
  const has = { hasBypassCode: true };
  assertEquals(split("a,12345-67890", ",", "directory", has), ["a", bypass]);
  assertEquals(split("a, 12345 67890 ", ",", "directory", has), ["a", bypass]);
  assertEquals(split("1234567890", ",", "none", has), ["", bypass]);
  assertEquals(split("1234567890", ",", "directory", has), ["1234567890", null]);
  assertEquals(split("a,123456789", ",", "directory", has), ["a,123456789", null]);
  assertEquals(split("a,123456", ",", "directory", has), ["a", { kind: "code", code: "123456" }]);
  assertEquals(split("a,1234567890", ","), ["a,1234567890", null]);
  assertEquals(split("1234567890", ",", "none"), ["1234567890", null]);
});

Deno.test("readAppended() reads the static challenge of OpenVPN, also if a part is empty", () => {
  const scrv1 = (password: string, answer: string) =>
    split(`SCRV1:${btoa(password)}:${btoa(answer)}`, ",", "directory", { hasBypassCode: true });
  assertEquals(scrv1("a,b", "123456"), ["a,b", { kind: "code", code: "123456" }]);
  assertEquals(scrv1("a", "123 456"), ["a", { kind: "code", code: "123456" }]);
  assertEquals(scrv1("a", "push2"), ["a", { kind: "push", nth: 2 }]);
  assertEquals(scrv1("a", "1234567890"), ["a", { kind: "bypass", code: "1234567890" }]);
  assertEquals(scrv1("a", "12"), ["a", { kind: "code", code: "12" }]);
  assertEquals(scrv1("a", ""), ["a", null]);
  assertEquals(scrv1("", "123456"), ["", { kind: "code", code: "123456" }]);
  assertEquals(scrv1("K\xf6ln\0x", ""), ["K\u00f6ln", null]);
  for (const text of ["SCRV1:", "SCRV1:YQ==", "SCRV1:%:YQ==", "SCRV1:YQ==:YQ==:YQ==", "scrv1:YQ==:YQ=="]) {
    assertEquals(split(text, ","), [text, null]);
  }
});

Deno.test("readAppended() splits a code directly behind or in front of the password once, where it fits best", () => {
  const behind = { codePosition: "behind", digits: [8, 6] } as const;
  const code = (code: string) => ({ kind: "code", code });
  assertEquals(split("pw123456", ",", "directory", behind), ["pw", code("123456")]);
  assertEquals(split("pw12345678", ",", "directory", behind), ["pw", code("12345678")]);
  assertEquals(split("pw12345678", ",", "directory", { ...behind, right: "345678" }), [
    "pw12",
    code("345678"),
  ]);
  assertEquals(split("pw12345", ",", "directory", behind), ["pw12345", null]);
  assertEquals(split("pw123456x", ",", "directory", behind), ["pw123456x", null]);
  assertEquals(split("pw123456", ",", "directory", { ...behind, digits: [] }), ["pw123456", null]);
  assertEquals(split("pw1,234567", ",", "directory", behind), ["pw1", code("234567")]);
  assertEquals(split("123456pw", ",", "directory", behind), ["123456pw", null]);
  const front = { codePosition: "front", digits: [6] } as const;
  assertEquals(split("1234567pw", ",", "directory", front), ["7pw", code("123456")]);
  assertEquals(split("123456", ",", "directory", front), ["", code("123456")]);
  assertEquals(split("pw123456", ",", "directory", front), ["pw123456", null]);
});

// The queues of password checks: order, limits, and the answer to a caller that waits too long.

const PATIENCE_MS = 10_000;

/** A check that ends when the test ends it, and records that it began. */
function createCheck(began: string[], name: string) {
  const { promise, resolve } = Promise.withResolvers<FirstFactorVerdict>();
  const check = () => {
    began.push(name);
    return promise;
  };
  return { check, end: resolve };
}

Deno.test("UserChecks runs the checks of one user one after another, and those of other users in parallel", async () => {
  const checks = new UserChecks({ clock: createManualClock() });
  const began: string[] = [];
  const [first, second, other] = [
    createCheck(began, "first"),
    createCheck(began, "second"),
    createCheck(began, "other"),
  ];
  const answers = [
    checks.run("ada", first.check),
    checks.run("ada", second.check),
    checks.run("bob", other.check),
  ];
  await settle();
  assertEquals(began, ["first", "other"]);
  first.end("wrong");
  await settle();
  assertEquals(began, ["first", "other", "second"]);
  second.end("right");
  other.end("right");
  assertEquals(await Promise.all(answers), ["wrong", "right", "right"]);
});

Deno.test("UserChecks queues 16 checks of a user, and answers further ones with busy", async () => {
  const checks = new UserChecks({ clock: createManualClock() });
  const began: string[] = [];
  const first = createCheck(began, "first");
  const running = checks.run("ada", first.check);
  const waiting = Array.from({ length: 16 }, () => checks.run("ada", () => Promise.resolve("wrong")));
  assertEquals(await checks.run("ada", () => Promise.resolve("right")), "busy");
  assertEquals(await checks.run("bob", () => Promise.resolve("right")), "right");
  first.end("wrong");
  assertEquals(await Promise.all([running, ...waiting]), Array(17).fill("wrong"));
  assertEquals(await checks.run("ada", () => Promise.resolve("right")), "right");
});

Deno.test("UserChecks answers a check that cannot begin within 10 s with busy, and never begins it", async () => {
  const clock = createManualClock();
  const checks = new UserChecks({ clock });
  const began: string[] = [];
  const [first, second] = [createCheck(began, "first"), createCheck(began, "second")];
  const running = checks.run("ada", first.check);
  const late = checks.run("ada", second.check);
  clock.advance(PATIENCE_MS);
  assertEquals(await late, "busy");
  first.end("right");
  assertEquals([await running, began], ["right", ["first"]]);
});

Deno.test("CheckQueue reserves places of the queue for other clients", async () => {
  const clock = createManualClock();
  const queue = new CheckQueue({ atOnce: 1, waiting: 4, waitingPerClient: 2, clock });
  const began: string[] = [];
  const first = createCheck(began, "first");
  const run = (client: string) => queue.run(client, () => Promise.resolve("right"));
  const running = queue.run("vpn", first.check);
  const waiting = [run("vpn"), run("vpn"), run("wifi"), run("wifi")];
  assertEquals([await run("vpn"), await run("wifi"), await run("door")], ["busy", "busy", "busy"]);
  first.end("wrong");
  assertEquals(await Promise.all([running, ...waiting]), ["wrong", "right", "right", "right", "right"]);
});

Deno.test("CheckQueue answers unavailable if a check takes over 10 s, and the check keeps its place", async () => {
  const clock = createManualClock();
  const queue = new CheckQueue({ atOnce: 1, waiting: 4, waitingPerClient: 2, clock });
  const began: string[] = [];
  const [first, second] = [createCheck(began, "first"), createCheck(began, "second")];
  const answers = [queue.run("vpn", first.check), queue.run("vpn", second.check)];
  clock.advance(PATIENCE_MS);
  assertEquals([await Promise.all(answers), began], [["unavailable", "busy"], ["first"]]);
});

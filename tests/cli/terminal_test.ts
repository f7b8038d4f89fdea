// The terminal of `deno task try`: input in parts, hidden input, and restored line editing.

import { assertEquals, assertRejects } from "@std/assert";
import { createTerminal } from "../../cli/terminal.ts";
import { escapeLines } from "../../platform/control_characters.ts";

/** Streams whose input arrives in these parts; records the output and every change of the raw mode. */
function pretend(pieces: string[], isTerminal = true) {
  const written: string[] = [];
  const raw: boolean[] = [];
  const left = pieces.map((piece) => new TextEncoder().encode(piece));
  return {
    written,
    raw,
    streams: {
      read(into: Uint8Array) {
        const piece = left.shift();
        if (piece === undefined) return Promise.resolve(null);
        into.set(piece);
        return Promise.resolve(piece.length);
      },
      write: (octets: Uint8Array) => void written.push(new TextDecoder().decode(octets)),
      setRaw: (on: boolean) => void raw.push(on),
      isTerminal: () => isTerminal,
    },
  };
}

Deno.test("ask() reads lines in parts of any size, and keeps text that was typed early", async () => {
  const terminal = createTerminal(pretend(["ali", "ce\nfirst\nsec", "ond"]).streams);
  assertEquals(await terminal.ask("? "), "alice");
  assertEquals(await terminal.ask("? "), "first");
  assertEquals(await terminal.ask("? "), "second");
  assertEquals(await terminal.ask("? "), null);
});

Deno.test("ask() hides the input, handles backspace, and restores the terminal", async () => {
  const { streams, written, raw } = pretend(["pasx\u007fs", "\r"]);
  assertEquals(await createTerminal(streams).ask("Password: ", { hidden: true }), "pass");
  assertEquals(raw, [true, false]);
  assertEquals(written, ["Password: ", "\n"]);
});

Deno.test("ask() stops the echo before it prompts, so that a quick answer is not shown", async () => {
  const { streams } = pretend(["pass\r"]);
  const order: string[] = [];
  const write = (octets: Uint8Array) => void order.push(new TextDecoder().decode(octets));
  const setRaw = (on: boolean) => void order.push(on ? "silent" : "echo");
  await createTerminal({ ...streams, write, setRaw }).ask("Password: ", { hidden: true });
  assertEquals(order, ["silent", "Password: ", "echo", "\n"]);
});

Deno.test("ask() restores the terminal when reading fails, and on Ctrl-C", async () => {
  const failing = pretend([]);
  const streams = { ...failing.streams, read: () => Promise.reject(new Error("gone")) };
  await assertRejects(() => createTerminal(streams).ask("? ", { hidden: true }), Error, "gone");
  assertEquals(failing.raw, [true, false]);
  const stopped = pretend(["half\u0003"]);
  assertEquals(await createTerminal(stopped.streams).ask("? ", { hidden: true }), null);
  assertEquals(stopped.raw, [true, false]);
});

Deno.test("ask() does not change modes without a terminal", async () => {
  const { streams, raw } = pretend(["secret\n"], false);
  assertEquals(await createTerminal(streams).ask("? ", { hidden: true }), "secret");
  assertEquals(raw, []);
});

Deno.test("escapeLines() keeps line breaks and escapes control characters", () => {
  assertEquals(escapeLines("a\nb\tc\u001b]0;x\u0007"), "a\nb\\u0009c\\u001b]0;x\\u0007");
});

// The terminal of `deno task try`: lines from any pieces, hidden input, and the host's own editing given back.

import { assertEquals, assertRejects } from "@std/assert";
import { createTerminal } from "../../cli/terminal.ts";
import { escapeLines } from "../../platform/control_characters.ts";

/** Streams whose input arrives in these pieces; notes what is written and every switch of the raw mode. */
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

Deno.test("ask() reads lines whatever the pieces, and keeps what was typed ahead", async () => {
  const terminal = createTerminal(pretend(["ali", "ce\nfirst\nsec", "ond"]).streams);
  assertEquals(await terminal.ask("? "), "alice");
  assertEquals(await terminal.ask("? "), "first");
  assertEquals(await terminal.ask("? "), "second");
  assertEquals(await terminal.ask("? "), null);
});

Deno.test("ask() hides what is typed, takes backspace, and gives the terminal back", async () => {
  const { streams, written, raw } = pretend(["pasx\u007fs", "\r"]);
  assertEquals(await createTerminal(streams).ask("Password: ", { hidden: true }), "pass");
  assertEquals(raw, [true, false]);
  assertEquals(written, ["Password: ", "\n"]);
});

Deno.test("ask() gives the terminal back when reading fails, and on Ctrl-C", async () => {
  const failing = pretend([]);
  const streams = { ...failing.streams, read: () => Promise.reject(new Error("gone")) };
  await assertRejects(() => createTerminal(streams).ask("? ", { hidden: true }), Error, "gone");
  assertEquals(failing.raw, [true, false]);
  const stopped = pretend(["half\u0003"]);
  assertEquals(await createTerminal(stopped.streams).ask("? ", { hidden: true }), null);
  assertEquals(stopped.raw, [true, false]);
});

Deno.test("ask() switches nothing where there is no terminal", async () => {
  const { streams, raw } = pretend(["secret\n"], false);
  assertEquals(await createTerminal(streams).ask("? ", { hidden: true }), "secret");
  assertEquals(raw, []);
});

Deno.test("escapeLines() keeps line breaks and makes control characters visible", () => {
  assertEquals(escapeLines("a\nb\tc\u001b]0;x\u0007"), "a\nb\\u0009c\\u001b]0;x\\u0007");
});

// Voice markup: what is spoken, and that nothing hostile gets out of its element.

import { assertEquals, assertThrows } from "@std/assert";
import { MAX_MARKUP_CHARACTERS, voiceMarkup } from "../../upstream/voice_markup.ts";

Deno.test("voiceMarkup() says the introduction, then each digit with a pause between consecutive ones", () => {
  assertEquals(
    voiceMarkup("Hello.", "4071"),
    '<Response><Say>Hello.</Say><Say>4</Say><Pause length="1"/><Say>0</Say><Pause length="1"/>' +
      '<Say>7</Say><Pause length="1"/><Say>1</Say></Response>',
  );
});

Deno.test("voiceMarkup() escapes names, and drops what XML does not know", () => {
  assertEquals(
    voiceMarkup('<b>"O\'Neil" & Söhne\u0000\u0008\ufffe\ud800</Say>', "1"),
    "<Response><Say>&lt;b&gt;&quot;O&apos;Neil&quot; &amp; Söhne\ufffd&lt;/Say&gt;</Say><Say>1</Say></Response>",
  );
});

Deno.test("voiceMarkup() cuts a long introduction between characters and keeps all digits", () => {
  for (const filler of ["&", "x", "😀", "'"]) {
    const markup = voiceMarkup(filler.repeat(10_000), "123456");
    assertEquals(markup.length <= MAX_MARKUP_CHARACTERS, true);
    assertEquals([...markup.matchAll(/<Say>(\d)<\/Say>/g)].map(([, digit]) => digit).join(""), "123456");
    assertEquals(markup.isWellFormed(), true);
    assertEquals(markup.includes("&a</Say>"), false);
  }
});

Deno.test("voiceMarkup() refuses to speak anything but digits", () => {
  for (const digits of ["", "12a4", "1".repeat(21), "<Say>"]) {
    assertThrows(() => voiceMarkup("Hello.", digits), RangeError);
  }
});

// The voice markup of a call: its sentences, and the escaping of hostile text.

import { assertEquals, assertThrows } from "@std/assert";
import { MAX_TWIML_CHARACTERS, renderTwiml } from "../../upstream/telephony.ts";

Deno.test("renderTwiml() speaks the introduction, then each digit with a pause between consecutive ones", () => {
  assertEquals(
    renderTwiml("Hello.", "4071"),
    '<Response><Say>Hello.</Say><Say>4</Say><Pause length="1"/><Say>0</Say><Pause length="1"/>' +
      '<Say>7</Say><Pause length="1"/><Say>1</Say></Response>',
  );
});

Deno.test("renderTwiml() escapes names, and drops characters that XML forbids", () => {
  assertEquals(
    renderTwiml('<b>"O\'Neil" & Söhne\u0000\u0008\ufffe\ud800</Say>', "1"),
    "<Response><Say>&lt;b&gt;&quot;O&apos;Neil&quot; &amp; Söhne\ufffd&lt;/Say&gt;</Say><Say>1</Say></Response>",
  );
});

Deno.test("renderTwiml() cuts a long introduction between characters and keeps all digits", () => {
  for (const filler of ["&", "x", "😀", "'"]) {
    const markup = renderTwiml(filler.repeat(10_000), "123456");
    assertEquals(markup.length <= MAX_TWIML_CHARACTERS, true);
    assertEquals([...markup.matchAll(/<Say>(\d)<\/Say>/g)].map(([, digit]) => digit).join(""), "123456");
    assertEquals(markup.isWellFormed(), true);
    assertEquals(markup.includes("&a</Say>"), false);
  }
});

Deno.test("renderTwiml() refuses to speak anything but digits", () => {
  for (const digits of ["", "12a4", "1".repeat(21), "<Say>"]) {
    assertThrows(() => renderTwiml("Hello.", digits), RangeError);
  }
});

// The two headers of the embedded service.

import { assertEquals } from "@std/assert";
import { decodeContext, encodeContext, readNumberToMatch } from "../../upstream/approval_context.ts";

const NOTHING = { client: "", place: "", hasPrompt: false };

Deno.test("decodeContext() reads what encodeContext() wrote, whatever the names are", () => {
  for (const client of ["vpn-1", "Zürich\r\nX: y", '"}', "😀", "%zz", ""]) {
    const context = { client, place: "192.0.2.7", hasPrompt: true };
    const header = new Headers({ "X-Test": encodeContext(context) }).get("X-Test");
    assertEquals(decodeContext(header), context);
  }
});

Deno.test("encodeContext() mends what is no text, and cuts what is long", () => {
  const { client, place } = decodeContext(
    encodeContext({ client: "a\ud800", place: "x".repeat(5000), hasPrompt: false }),
  );
  assertEquals([client, place.length], ["a\ufffd", 200]);
});

Deno.test("decodeContext() shows nothing and assumes no prompt when the header is missing or broken", () => {
  const broken = [null, "", "{", "%", "%00", "[]", "x".repeat(5000), encodeURIComponent('{"client":1}')];
  for (const header of broken) assertEquals(decodeContext(header), NOTHING);
  assertEquals(decodeContext(encodeURIComponent('{"hasPrompt":"true"}')), NOTHING);
});

Deno.test("readNumberToMatch() takes two digits from 10 to 99 and nothing else", () => {
  const read = (text: string) => readNumberToMatch(new Headers({ "X-Number-To-Match": text }));
  assertEquals([read("10"), read("99")], ["10", "99"]);
  for (const text of ["09", "5", "100", "ab", "1 2", ""]) assertEquals(read(text), undefined);
  assertEquals(readNumberToMatch(new Headers()), undefined);
});

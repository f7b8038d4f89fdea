// Names as segments of a path of the administration API.

import { assertEquals, assertThrows } from "@std/assert";
import { AdminRefusal, pathName } from "../../cli/admin_connection.ts";

const NO_PATH_NAMES = ["", ".", "..", "a\ud800"];
for (const name of NO_PATH_NAMES) {
  Deno.test(`pathName() refuses ${JSON.stringify(name)}`, () => {
    const fault = assertThrows(() => pathName(name, "user"), AdminRefusal);
    assertEquals(fault.message, `${JSON.stringify(name)} cannot be the name of a user.`);
  });
}

/** Names, and the segment of a path for each. */
const PATH_NAMES = [["ann", "ann"], ["...", "..."], ["a/b", "a%2Fb"], [
  "Ärmel %2F?#",
  "%C3%84rmel%20%252F%3F%23",
]];
for (const [name = "", segment] of PATH_NAMES) {
  Deno.test(`pathName() encodes ${JSON.stringify(name)} as a segment`, () => {
    assertEquals(pathName(name, "user"), segment);
  });
}
